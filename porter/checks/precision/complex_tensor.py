"""`torch.view_as_complex`, `torch.polar`, complex dtypes: rotary embeddings in complex numbers, mostly."""

from __future__ import annotations

import ast
from typing import Any

from porter.checks.precision.spectra import only_transformed
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.index import Link, ancestors, walk
from porter.training.value_uses import is_on_host

MAKERS = frozenset({"torch.view_as_complex", "torch.polar", "torch.complex"})
DTYPES = frozenset(f"torch.{name}" for name in ("complex32", "complex64", "complex128", "chalf", "cfloat", "cdouble"))


class ComplexTensor(Rule):
    code = "PRT309"
    edits = False
    calls = MAKERS
    references = DTYPES

    def visit(self, original: cst.Call | cst.Attribute | cst.Name, updated: Any, file: RuleFile) -> Answer:
        if file.tested and not file.source.says(b"cuda"):
            return None  # a test that stays on the host
        name = file.name(getattr(original, "func", original)) or ""
        if name in MAKERS:
            whys = {match.why for match in file.matches(original, ("complex-rotation",))}
            if whys == {"again"} or _needs_none(original, name, file) or _is_transformed(original, file):
                return None
            if _is_taken_apart_on_the_host(original, file):
                return None
            if whys or name == "torch.polar":  # who writes the rotation anew writes the table of its angles anew, too
                return Hit(original, "rotary", values=(("name", name), (TOGETHER, "rotary")))
            return Hit(original, "made", values=(("name", name),))
        argument = file.around.argument(original)
        if argument is None or argument[1] not in (0, 1, "dtype"):
            return None
        resolved = file.names.resolve(argument[0][0].func, argument[0])
        if argument[1] != "dtype" and (
            resolved is not None or getattr(argument[0][0].func, "attr", "") not in ("to", "type")
        ):
            return None  # isinstance, sets of dtypes, tables
        if resolved is not None and _is_taken_apart_before_the_move(argument[0], file):
            return None
        return Hit(original, "made", values=(("name", name),))


def _is_transformed(original: Any, file: RuleFile) -> bool:
    link = file.scene.link(original) if file.source.says(b"fft") else None
    return link is not None and only_transformed(file, link[1])


def _is_taken_apart_before_the_move(call: Link, file: RuleFile) -> bool:
    """`c = torch.randn(n, dtype=torch.cfloat)` in `__init__` that only `torch.view_as_real(c)` reads: the module moves later."""
    if file.scene.function_name(call) != "__init__" or any(k.arg in ("device", None) for k in call[0].keywords):
        return False
    return only_transformed(file, call)


def _is_taken_apart_on_the_host(original: Any, file: RuleFile) -> bool:
    """`c = torch.polar(torch.ones_like(angles), angles)` of angles on the host, of which `c.real` and `c.imag` are read alone."""
    scene: Any = file.scene
    link = file.scene.link(original)
    if link is None or not link[1][0].args or not is_on_host(scene, link[1][0].args[-1], link):
        return False
    return only_transformed(file, link[1])


def _needs_none(original: Any, name: str, file: RuleFile) -> bool:
    """Whether what is viewed as complex lies on the host, or the code asks first if anything is complex at all."""
    scene: Any = file.scene
    link = file.scene.link(original)
    if link is None:
        return False
    given = link[1][0].args
    if name == "torch.view_as_complex" and given and is_on_host(scene, given[0], link):
        return True
    tests = (a[0].test for a in ancestors(link) if a[0].__class__ in (ast.If, ast.IfExp))
    return any(getattr(n, "attr", "") == "is_complex" for test in tests for n in walk(test))
