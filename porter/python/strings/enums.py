"""Finds strings that stand for a member of an Enum of the file. They must not be renamed without the Enum.

`Timer("cuda")` looks a member up, and `timer.value == "cuda"` compares with one. If only these strings were renamed, the first
would raise ValueError, and the second would never be true.
"""

from __future__ import annotations

import ast
from functools import cached_property

from porter.python.blocks import once, place, within
from porter.python.evidence import DEVICES, call_name, constant, like
from porter.python.index import Link, Node
from porter.python.names import Names
from porter.python.parameters import defaulted, positional
from porter.python.walks import walk
from porter.regex import lazy

_WORDS = lazy(r"(?<=[a-z])(?=[A-Z])")  # where a word begins in the name of a class
# an ending that only says that a class is an Enum
_SUFFIX = lazy(r"(?<=[a-z])(?:Enum|Options?|Choices?|Kinds?)$")


class Enums:
    def __init__(self, names: Names, buckets: dict[type, list[Link]]) -> None:
        self._names, self._buckets = names, buckets

    @cached_property
    def _known(self) -> dict[str, tuple[object, ...]]:
        """The values of each Enum, by its name."""
        enums = {}
        for link in self._buckets[ast.ClassDef]:
            owner = link[0]
            if any(call_name(base).endswith("Enum") for base in owner.bases):
                enums[owner.name] = tuple(
                    constant(s.value) for s in owner.body if isinstance(s, (ast.Assign, ast.AnnAssign))
                )
        return enums

    def member(self, link: Link) -> bool | None:
        """Whether an assignment makes a member of an Enum of devices without an NPU. None where it stands in no Enum."""
        above = link[1]
        if above is None or above[0].__class__ is not ast.ClassDef or above[0].name not in self._known:
            return None
        values = self._known[above[0].name]
        name = _WORDS.sub("_", _SUFFIX.sub("", above[0].name))  # TorchDevice
        return like(name, "device") and "npu" not in values and DEVICES.issuperset(values)

    def takes(self, link: Link, text: str) -> bool:
        """Whether the string at `link`, or the list that it is in, stands for a member of an Enum. `text`: the string."""
        if not self._known:
            return False
        node, parent, up = link[0], link[1][0], link[1]
        kind = parent.__class__
        if kind is ast.Compare:
            return any(self._holds(side, up, text) for side in (parent.left, *parent.comparators) if side is not node)
        if kind is ast.AnnAssign:
            return node is parent.value and self._typed(parent.annotation, text)
        if kind is ast.arguments:
            return self._typed(defaulted(parent, node).annotation, text)
        if kind is ast.keyword:
            return up[1][0].__class__ is ast.Call and self._passed(up[1][0], parent.arg, text)
        if kind is ast.Call and within(parent, node, "args"):
            return text in self._known.get(call_name(parent.func), ()) or self._passed(
                parent, place(parent, node)[1], text
            )
        return False

    def _typed(self, annotation: Node, text: str) -> bool:
        """Whether an annotation names an Enum with this value: `Timer`, `Optional[Timer]`, `Timer | str`."""
        return any(text in self._known[name] for name in self._named(annotation))

    def _named(self, annotation: Node) -> set[str]:
        """The Enums of the file in an annotation."""
        return {call_name(n) for n in walk(annotation)} & self._known.keys() if annotation is not None else set()

    def _made(self, value: Node) -> set[str]:
        """The Enum of a value such as `Timer(x)` or `Timer.CUDA`."""
        made = value.func if value.__class__ is ast.Call else getattr(value, "value", None)
        return {call_name(made)} & self._known.keys() if made is not None else set()

    def _holds(self, node: Node, link: Link, text: str) -> bool:
        """Whether an expression is a member of an Enum with this value, or the `.value` of one."""
        if node.__class__ is ast.Attribute and node.attr == "value":
            return any(text in values for values in self._known.values())
        if node.__class__ is not ast.Name:
            return any(text in self._known[name] for name in self._made(node))
        bindings = self._names.bindings(node.id, link)
        kinds = self._names.once("enums", bindings, lambda: set().union(*map(self._bound, bindings)))
        return any(text in self._known[name] for name in kinds)

    def _bound(self, binding: Link) -> set[str]:
        """The Enums whose member a name is by one of its bindings."""
        above = binding[1] and binding[1][0]
        annotation = getattr(binding[0], "annotation", None) or getattr(above, "annotation", None)
        return self._named(annotation) | (self._made(above.value) if above.__class__ is ast.Assign else set())

    def _passed(self, call: ast.Call, keyword_or_index: str | int | None, text: str) -> bool:
        """Whether the annotation of the parameter that gets the string names an Enum with this value."""
        name = call_name(call.func)
        if functions := self._names.scopes.functions.get(name):
            args = functions[0][0].args
            if isinstance(keyword_or_index, int):
                first = positional(args, 0)
                parameter = positional(args, keyword_or_index + (first is not None and first.arg in ("self", "cls")))
                return parameter is not None and self._typed(parameter.annotation, text)
            return self._typed(_annotations(args).get(keyword_or_index), text)
        return any(self._typed(annotation, text) for annotation in self._fields.get((name, keyword_or_index), ()))

    @cached_property
    def _fields(self) -> dict[tuple[str, str | int | None], list[ast.expr]]:
        """The annotations of the fields of each class."""
        annotations: dict[tuple[str, str | int | None], list[ast.expr]] = {}
        for link in self._buckets[ast.ClassDef]:
            for statement in link[0].body:
                if statement.__class__ is ast.AnnAssign:
                    field = link[0].name, getattr(statement.target, "id", "")
                    annotations.setdefault(field, []).append(statement.annotation)
        return annotations


@once
def _annotations(args: ast.arguments) -> dict[str | int | None, ast.expr | None]:
    """The annotations of all parameters but `self`, by name."""
    named = [*args.posonlyargs, *args.args]
    bound = bool(named) and named[0].arg in ("self", "cls")
    return {a.arg: a.annotation for a in (*named[bound:], *args.kwonlyargs)}
