"""`np.float`, `from numpy import Inf`: names that numpy has taken away, and modules of it.

A file is opened for the words that the `gate` of PRT708 lists in rules/support.toml: a name of numpy_removed.py stands there, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from porter.checks.device.import_parts import Alias, renamed
from porter.checks.support import numpy_bytes
from porter.checks.support.fresh_environment import is_chosen, matters
from porter.checks.support.numpy_removed import (
    BACK,
    BUILTINS,
    FLAT,
    MODULES,
    RENAMED,
    WITH_TRAPEZOID,
    WRITTEN,
    gone_with,
    lacking,
    successor,
    way_of,
)
from porter.engine.nodes import imported
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.target import first_python
from porter.versions import LATEST

_FOR_NUMPY_2 = (2, 3)  # the first torch that was built for numpy 2


class NumpyNames(Rule):
    code = "PRT708"
    references = frozenset(f"numpy.{name}" for name in (*BUILTINS, *RENAMED, *WRITTEN, *FLAT))
    nodes = ("Import", "ImportFrom")
    calls = frozenset({numpy_bytes.READ})
    methods = frozenset({numpy_bytes.WRITTEN})
    text = (r"\bnumpy\.(?:lib|dual)\b", r"\bnumpy[ \t]+import\b")

    def visit(
        self, original: cst.Attribute | cst.Name | cst.Import | cst.ImportFrom | cst.Call, updated: Any, file: RuleFile
    ) -> Answer:
        # where nothing is computed with torch, the numpy of today is no matter of ours
        if not matters(file):
            return None
        if isinstance(original, (cst.Import, cst.ImportFrom)):
            return _of_import(original, updated, file)
        if isinstance(original, cst.Call):
            stays = file.target.torch < _FOR_NUMPY_2 or _are_left_out((numpy_bytes.GONE_WITH, LATEST), file)
            return (
                None if stays or is_chosen(file.link(original.func)) else numpy_bytes.of_call(original, updated, file)
            )
        if not isinstance(original, cst.Attribute) or not isinstance(original.value, cst.Name):
            return None  # the import answers for its names
        # `np.float = np.float64` is somebody's own cure
        if not file.around.is_read(original) or is_chosen(file.link(original)):
            return None
        name = original.attr.value
        if name == "trapz" and _has_it(file):
            return None
        new, node = successor(name, original.value.value), None
        if name in BUILTINS and not file.names.bound(new):
            node = cst.Name(new, lpar=updated.lpar, rpar=updated.rpar)
        elif last := RENAMED.get(name) or FLAT.get(name):
            node = updated.with_changes(attr=updated.attr.with_changes(value=last))
        # numpy 2's own is a type that Python's is no parent of
        safe = name not in FLAT and (name not in BACK or not file.around.is_within(original, "isinstance"))
        return _hit(original, name, new, file, node=node, safe=safe)


def _hit(original: Any, name: str, new: str, file: RuleFile, *, node: Any, safe: bool = True) -> Hit:
    old = file.text(original) if isinstance(original, cst.Attribute) else f"numpy.{name}"
    values = (("new", new), ("old", old), ("version", gone_with(name)))
    # where the project takes only versions of numpy that have the name, nothing stops
    severity = "note" if _are_left_out(lacking(name), file) else None
    return Hit(original, way_of(name), new=node, safe=safe, values=values, severity=severity)


def _has_it(file: RuleFile) -> bool:
    """`np.trapezoid if hasattr(np, "trapezoid") else np.trapz`; and a numpy below 2 has `trapz` alone: the lists hold it there,
    or the target's torch was built for it."""
    is_older = file.target.torch < _FOR_NUMPY_2 or _are_left_out((WITH_TRAPEZOID,), file)
    return is_older or b"trapezoid" in file.source.words


def _are_left_out(versions: Iterable[str], file: RuleFile) -> bool:
    return file.facts.lists.leaves_out(*versions, python=first_python(file.target.torch))


def _of_import(original: cst.Import | cst.ImportFrom, updated: Any, file: RuleFile) -> Hit | None:
    paths = imported(original)
    old = next((match[0] for path in paths if (match := MODULES.match(path))), None)
    names = [path.partition(".")[2] for path in paths if path in NumpyNames.references]
    gone = [name for name in names if name != "trapz" or not _has_it(file)]
    if not old and not gone or file.imported.import_guard() or file.imported.asked_first():
        return None
    if old:
        severity = "note" if _are_left_out(lacking(old), file) else None
        return Hit(original, "module", values=(("old", old),), severity=severity)
    node = None
    if RENAMED.keys() >= set(gone) and isinstance(original, cst.ImportFrom):
        aliases: list[Alias] = [renamed(a, RENAMED.get(a.name.value, a.name.value)) for a in updated.names]
        node = updated.with_changes(names=aliases)
    return _hit(original, gone[0], successor(gone[0], "numpy"), file, node=node)
