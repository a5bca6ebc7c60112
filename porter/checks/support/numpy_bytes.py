"""`np.fromstring(data, dtype=np.uint8)` and `array.tostring()`: bytes and arrays, by names that numpy 2.3 took away."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.nodes import without_arguments
from porter.engine.rule import Hit, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name
from porter.python.index import Link

READ, WRITTEN = "numpy.fromstring", "tostring"
GONE_WITH = "2.3"
_MAKERS = frozenset({"numpy", "cv2", "array"})  # packages whose arrays have both names
_OF_ARRAYS = frozenset({"astype", "flatten", "numpy", "ravel", "reshape", "transpose"})  # methods that give an array
_READERS = frozenset({"imdecode"})  # functions that do not write into what they read


def of_call(original: cst.Call, updated: Any, file: RuleFile) -> Hit | None:
    if file.name(original.func) == READ:
        return _read(original, updated, file)
    makes = any(full.partition(".")[0] in _MAKERS for bound in file.names.imports.values() for full, _ in bound)
    if original.args or not makes or not isinstance(updated.func, cst.Attribute):
        return None
    new = updated.with_changes(func=updated.func.with_changes(attr=cst.Name("tobytes")))
    return _hit(original, "gone", ".tostring()", ".tobytes()", new, safe=_is_array(original, file))


def _is_array(call: cst.Call, file: RuleFile) -> bool:
    """`cv2.imencode(".png", image)[1].tostring()`, `x.astype("uint8").tostring()`: a drawing of SVG has such a method, too."""
    node = call.func.value if isinstance(call.func, cst.Attribute) else call
    while isinstance(node, cst.Subscript):
        node = node.value
    if not isinstance(node, cst.Call):
        return False
    made = (file.name(node.func) or "").partition(".")[0] in _MAKERS
    return made or isinstance(node.func, cst.Attribute) and node.func.attr.value in _OF_ARRAYS


def _read(original: cst.Call, updated: Any, file: RuleFile) -> Hit | None:
    """With a `sep` it reads a text, and stays. What frombuffer gives cannot be written: a copy can, as what fromstring gave."""
    link = file.scene.link(original)
    if link is None or len(original.args) > 3 or any(a.star or _separates(a) for a in original.args):
        return None
    old = file.text(original.func)
    if not isinstance(updated.func, cst.Attribute):  # a name of its own: its import is left to a person, too
        return _hit(original, "bytes", old, "numpy.frombuffer", None)
    function = updated.func.with_changes(attr=cst.Name("frombuffer"))
    call = without_arguments(original, updated, {n for n, a in enumerate(original.args) if _keyword(a) == "sep"})
    if call is None:
        return _hit(original, "bytes", old, "numpy.frombuffer", None)
    args = [
        a.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT) if _keyword(a) == "string" else a
        for a in call.args
    ]
    read = call.with_changes(func=function, args=args)
    copied = read if _is_only_read(link) else cst.Call(cst.Attribute(read, cst.Name("copy")))
    new = old.replace("fromstring", "frombuffer") + ("" if copied is read else "(...).copy()")
    return _hit(original, "bytes", old, new, copied)


def _keyword(argument: cst.Arg) -> str:
    return argument.keyword.value if argument.keyword is not None else ""


def _separates(argument: cst.Arg) -> bool:
    """`sep=" "`; `sep=""` is of bytes."""
    return _keyword(argument) == "sep" and getattr(argument.value, "raw_value", None) != ""


def _is_only_read(link: Link) -> bool:
    """`cv2.imdecode(np.fromstring(data, np.uint8), 1)`. `link`: of the function."""
    call = link[1]
    taker = call[1] if call is not None else None
    return taker is not None and taker[0].__class__ is ast.Call and call_name(taker[0].func) in _READERS


def _hit(original: cst.Call, why: str, old: str, new: str, node: Any, safe: bool = False) -> Hit:
    return Hit(original, why, new=node, safe=safe, values=(("new", new), ("old", old), ("version", GONE_WITH)))
