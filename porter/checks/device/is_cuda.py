"""`x.is_cuda`: False for every NPU tensor, so that the branch behind it is skipped in silence."""

from __future__ import annotations

import ast
from typing import Any

from porter.checks.device.labels import labelled
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.native.guarded import guarded
from porter.python.evidence import OPTION_HOLDERS
from porter.python.guards import asks_for
from porter.python.kernel_branches import FAST_PATHS, without_way
from porter.python.parallel_choices import one_device
from porter.regex import lazy

_OPTIONS = lazy(rf"(?i)(?:^|[._])(?:{OPTION_HOLDERS})$")  # without params and arg, as tensors are called too
_AROUND = (
    ast.If,
    ast.While,
    ast.IfExp,
    ast.Assert,
    ast.Assign,
    ast.AnnAssign,
    ast.Return,
    ast.BoolOp,
    ast.Call,
    ast.keyword,
    ast.Subscript,
)


class IsCuda(Rule):
    code = "PRT132"
    attributes = {"is_cuda"}
    nodes = ("Subscript", "FormattedString")
    text = r"is_cuda\s*\]|is_cuda=\{"

    def visit(self, original: Any, updated: cst.BaseExpression, file: RuleFile) -> Answer:
        if isinstance(original, cst.Subscript):
            return self._picked(original, updated, file)
        if isinstance(original, cst.FormattedString):
            return labelled(original, updated)
        link, receiver = file.link(original), file.receiver(original)
        if receiver in ("other", "own") or not isinstance(updated, cst.Attribute):
            return None
        if _OPTIONS.search(holder := file.text(original.value)):
            return Hit(original, "option", values=(("what", f"{holder}.is_cuda"),))
        if file.facts.own.is_cuda and isinstance(original.value, cst.Name) and original.value.value == "self":
            return Hit(original, "of-a-class")  # no module of torch has it: it is one of those
        if kernel := file.meaning.kernel(original) or (guarded(file, link) if link is not None else None):
            why = "taken" if kernel in FAST_PATHS or file.path in file.facts.native.taken else "kernel"
            return Hit(original, why, values=(("kernel", kernel), (TOGETHER, without_way(kernel))))
        if parallel := one_device(file, link):
            return Hit(original, "one-device", values=(("what", parallel),))
        safe = receiver == "torch" or receiver == "unknown" and not file.facts.own.is_cuda
        if safe and _is_index(link, file):
            return None  # the words and what picks one of them are one value
        if not safe and not file.style.one_world:  # an object that defines it itself may have no `device`
            return Hit(original, "unknown")
        others = not safe or bool(file.facts.accelerators.moved_by_to)
        if others and link is not None and asks_for(link, "is_cuda", file.text(original.value)):
            return Hit(original, "unknown")  # what has `is_cuda` and is no tensor may have no `is_npu`
        left = file.meaning.decides(original)
        if left and (left[0] != "half" or not file.style.one_world):
            return Hit(original, left[0], values=(("what", left[1]),))
        new = file.style.on_device(updated, file)
        why = "attribute" if isinstance(new, cst.Attribute) else "type"
        if isinstance(new, cst.Comparison) and link is not None and _stands_alone(link):
            new = new.with_changes(lpar=original.lpar, rpar=original.rpar)
        if safe and left:  # the guard and what it opens are one decision
            return Hit(original, "opens", new=new, values=(("what", left[1]),), loads=True)
        return Hit(original, why if safe else "unknown", new=new, safe=safe, loads=True)

    @staticmethod
    def _picked(original: cst.Subscript, updated: Any, file: RuleFile) -> Hit | None:
        """`("cpu", "cuda")[x.is_cuda]`, the name of a method or of a device: one value, which `x.device.type` says as well."""
        asked = getattr(original.slice[0].slice, "value", None)
        if len(original.slice) != 1 or not isinstance(asked, cst.Attribute) or not _is_index(file.link(asked), file):
            return None
        if (
            file.receiver(asked) in ("other", "own")
            or file.facts.own.is_cuda
            or _OPTIONS.search(file.text(asked.value))
        ):
            return None  # `is_cuda` of something else says so itself
        new = cst.Attribute(cst.Attribute(updated.slice[0].slice.value.value, cst.Name("device")), cst.Name("type"))
        return Hit(original, "picks", new=new, safe=True, values=(("what", file.text(original)),))


def _is_index(link: Link | None, file: RuleFile) -> bool:
    """Whether a question picks one of the words for the CPU and the GPU, and these are no devices that porter knows."""
    node, above = _question(link) if link is not None else (None, None)
    if not isinstance(above, ast.Subscript) or above.slice is not node:
        return False
    words = getattr(above.value, "elts", [])
    is_pair = [getattr(word, "value", None) for word in words] == ["cpu", "cuda"]
    return is_pair and file.source.span(words[1])[0] not in file.literals


def _question(link: Link) -> tuple[Node, Node]:
    """`x.is_cuda`, and what is around it. `link`: of something in it."""
    while getattr(link[0], "attr", "") != "is_cuda" and link[1] is not None:
        link = link[1]
    return link[0], link[1] and link[1][0]


def _stands_alone(link: Link) -> bool:
    """Whether a comparison in the place of `x.is_cuda` means the same without parentheses. `link`: of something in it."""
    node, parent = _question(link)
    return isinstance(parent, _AROUND) and node is not getattr(parent, "func", None)
