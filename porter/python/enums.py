"""Enums of the file with a device among their values: such a string goes with the members, and is not renamed alone.

`Timer("cuda")` looks a member up, `timer.value == "cuda"` compares with one: renamed without the others, the first
raises ValueError and the second is never true.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property

from .evidence import DEVICES, call_name, constant, like
from .index import FUNCTIONS, Link

_SUFFIX = re.compile(r"(?<=[a-z])(?:Enum|Options?|Choices?|Kinds?)$")


class Enums:
    def __init__(self, names, buckets):
        self._names, self._buckets = names, buckets

    @cached_property
    def _known(self) -> dict[str, tuple[object, ...]]:
        """The values of each Enum, by its name."""
        found = {}
        for link in self._buckets[ast.ClassDef]:
            owner = link[0]
            if any(call_name(base).endswith("Enum") for base in owner.bases):
                found[owner.name] = tuple(
                    constant(s.value) for s in owner.body if isinstance(s, (ast.Assign, ast.AnnAssign))
                )
        return found

    def member(self, link: Link) -> bool | None:
        """Of an assignment: whether it makes a member of an Enum of devices that has none for NPUs; None in no Enum."""
        above = link[1]
        if above is None or above[0].__class__ is not ast.ClassDef or above[0].name not in self._known:
            return None
        values = self._known[above[0].name]
        return like(_SUFFIX.sub("", above[0].name), "device") and "npu" not in values and DEVICES.issuperset(values)

    def takes(self, link: Link, text: str) -> bool:
        """Whether the string at `link`, or the list that it stands in, is one that stands for a member of such an Enum."""
        if not self._known:
            return False
        node, parent, up = link[0], link[1][0], link[1]
        kind = parent.__class__
        if kind is ast.Compare:
            return any(self._holds(side, up, text) for side in (parent.left, *parent.comparators) if side is not node)
        if kind is ast.AnnAssign:
            return node is parent.value and self._typed(parent.annotation, text)
        if kind is ast.arguments:
            return any(self._typed(a.annotation, text) for a, value in _defaults(parent) if value is node)
        if kind is ast.keyword:
            return up[1][0].__class__ is ast.Call and self._passed(up[1][0], parent.arg, text)
        if kind is ast.Call and node in parent.args:
            return text in self._known.get(call_name(parent.func), ()) or self._passed(
                parent, parent.args.index(node), text
            )
        return False

    def _typed(self, annotation: ast.AST | None, text: str) -> bool:
        """Whether an annotation names one of them: `Timer`, `Optional[Timer]`, `Timer | str`."""
        named = (call_name(n) for n in ast.walk(annotation)) if annotation is not None else ()
        return any(text in self._known.get(name, ()) for name in named)

    def _made(self, value: ast.AST | None, text: str) -> bool:
        """`Timer(x)`, `Timer.CUDA`."""
        made = value.func if value.__class__ is ast.Call else getattr(value, "value", None)
        return made is not None and text in self._known.get(call_name(made), ())

    def _holds(self, node: ast.AST, link: Link, text: str) -> bool:
        """Whether an expression is a member, or its value."""
        if node.__class__ is ast.Attribute and node.attr == "value":
            return any(text in values for values in self._known.values())
        if node.__class__ is not ast.Name:
            return self._made(node, text)
        for bound in self._names.bindings(node.id, link):
            above = bound[1] and bound[1][0]
            annotation = getattr(bound[0], "annotation", None) or getattr(above, "annotation", None)
            if self._typed(annotation, text) or above.__class__ is ast.Assign and self._made(above.value, text):
                return True
        return False

    def _passed(self, call: ast.Call, which: str | int | None, text: str) -> bool:
        """Whether a function or class of the file says that its parameter is one."""
        name = call_name(call.func)
        for kind in FUNCTIONS[:2]:
            for function in (link[0] for link in self._buckets[kind] if link[0].name == name):
                args = function.args
                names = [*args.posonlyargs, *args.args]
                if names and names[0].arg in ("self", "cls"):
                    del names[0]
                if which.__class__ is int:
                    return which < len(names) and self._typed(names[which].annotation, text)
                return any(a.arg == which and self._typed(a.annotation, text) for a in (*names, *args.kwonlyargs))
        fields = (link[0] for link in self._buckets[ast.ClassDef] if link[0].name == name)
        typed = (s for owner in fields for s in owner.body if s.__class__ is ast.AnnAssign)
        return any(getattr(s.target, "id", "") == which and self._typed(s.annotation, text) for s in typed)


def _defaults(arguments: ast.arguments):
    """Parameters and what they are by default."""
    names = [*arguments.posonlyargs, *arguments.args]
    yield from zip(names[len(names) - len(arguments.defaults) :], arguments.defaults)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults)
