"""Decides which strings are devices or backends of process groups, by where they go and not by their text.

A string is followed upwards from its place, through conditions, containers, locals and module constants, to a sink: a place
that uses a device or a backend. A string that reaches no sink is no device: a path, a key, a log text, the name of a flag.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from porter.python.blocks import place
from porter.python.evidence import (
    DEVICES,
    OWN_DEVICES,
    call_name,
    constant,
    lightning,
    like,
    listed,
    logged,
    named,
    other_library,
    returns_devices,
    target_name,
)
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.parameters import defaulted
from porter.python.strings.callees import Callees
from porter.python.strings.enums import Enums
from porter.python.strings.fixtures import Role
from porter.python.strings.keyed import is_of_parts, maps_devices
from porter.python.strings.rows import arguments
from porter.python.strings.sinks import INDEXED, MOVED, Sinks

if TYPE_CHECKING:
    from porter.python.file import Parsed


# types in annotations whose members are types or allowed values
_TYPES = frozenset("Literal Optional Union Annotated Final ClassVar List list Sequence Tuple tuple Set set".split())


class Flow(Sinks):
    """Follows the strings of one file. Parameters of the handlers: see `Sinks`."""

    def __init__(self, file: Parsed) -> None:
        self.names, self.buckets, self.tables = file.names, file.buckets, file.rules.tables
        self.calls = {name: s for s in self.tables.sinks for name in s.calls}
        self.moved = {name.rpartition(".")[2]: s for name, s in self.calls.items() if name.startswith(MOVED)}
        self.methods = {name: s for s in self.tables.sinks for name in s.methods}
        self.constants = {(name, kind) for path, name, kind, _ in file.facts.constants if path == file.path}
        self.own_devices = frozenset(file.facts.accelerators.parameters)
        imported = {target.partition(".")[0] for bindings in self.names.imports.values() for target, _ in bindings}
        self.foreign = not imported.isdisjoint(OWN_DEVICES)
        self.callees = Callees(file, self.calls)
        self.enums = Enums(self.names, self.buckets)

    def role(self, link: Link, kind: str, text: str, depth: int = 0) -> Role | None:
        """What the value at `link` is used as, by the nodes around it. None: nothing says that it is a device, or a backend."""
        if link[1] is None or depth > 12 or kind == "device" and self.enums.takes(link, text):
            return None
        node, parent = link[0], link[1][0]
        if depth == 0 and (tested := [*arguments(self.names, link)]):
            given = next((role for one in tested if (role := self._tested(one, kind, text))), None)
            in_row = parent.__class__ in (ast.Tuple, ast.Call) and all(one.row is not None for one in tested)
            if given or in_row:
                return given
        handler = getattr(self, f"_{parent.__class__.__name__.lower()}", None)
        return handler(node, parent, link[1], kind, text, depth) if handler else None

    def _ifexp(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        if node is parent.test:
            return None
        role = self.role(up, kind, text, depth + 1)
        other = constant(parent.orelse if node is parent.body else parent.body)
        if kind == "device" and isinstance(other, str) and other and other.partition(":")[0] not in DEVICES | {"gpu"}:
            return role and role._replace(certain=False)  # `"device" if new else "cuda"` is part of another name
        if role is None and kind == "backend" and other in ("gloo", "mpi") and self.in_cuda(parent.test, up):
            return Role("assigned", certain=True)
        asked = kind == "device" and self.in_cuda(parent.test, up)
        if kind == "device" and (asked or other in DEVICES):
            if role is not None:
                registry = lightning(getattr(up[1][0], "arg", None) or "")
                return role._replace(certain=True) if not registry and (asked or role.role != "argument") else role
            worded = up[1][0].__class__ is ast.FormattedValue or hasattr(node, "elts") and listed(node).modes
            return None if worded or logged(up) else Role("assigned", asked)
        return role

    def in_cuda(self, node: Node, link: Link) -> bool:
        """Whether an expression calls a function of torch.cuda: `torch.cuda.is_available()`."""
        calls = (n for n in walk(node) if n.__class__ is ast.Call)
        return any((self.names.resolve(c.func, link) or "").startswith("torch.cuda.") for c in calls)

    def _boolop(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        return self.role(up, kind, text, depth + 1)

    def _starred(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        """`["cpu", *(["cuda"] if asked else [])]`"""
        inside = up[1] is not None and up[1][0].__class__ in (ast.List, ast.Tuple, ast.Set)
        return self.role(up, kind, text, depth + 1) if inside else None

    def _lambda(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        return self.role(up, kind, text, depth + 1) if node is parent.body else None

    def _binop(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        sides = (node.body, node.orelse) if node.__class__ is ast.IfExp else (node,)
        if parent.op.__class__ is ast.Add and any(
            side.__class__ in (ast.List, ast.Tuple, ast.ListComp) for side in sides
        ):
            other = parent.right if node is parent.left else parent.left
            beside = kind == "device" and other.__class__ in (ast.List, ast.Tuple) and listed(other).devices
            return self.role(up, kind, text, depth + 1) or (
                Role("assigned", True) if beside and not logged(up) else None
            )
        if node.__class__ is ast.Subscript and parent.op.__class__ is ast.BitOr:  # Literal["nccl"] | None
            return self.role(up, kind, text, depth + 1)
        if node is not parent.left or kind != "device" or text != "cuda" and not text.startswith("cuda:"):
            return None
        if text == "cuda" and str(constant(parent.right)).startswith(":"):  # "cuda" + ":" + str(gpu)
            text = "cuda:"
        role = self.role(up, kind, "cuda:{}", depth + 1)
        if text == "cuda" and role is not None and (role.role == "assigned" or not role.certain):
            return None  # `"cuda" + version` may be a part of any name, but for what torch takes as a device
        return role

    def _attribute(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        call = up[1]
        if call and call[0].__class__ is ast.Call and call[0].func is parent:
            if parent.attr == "format" and text.startswith("cuda:"):
                return self.role(call, kind, "cuda:{}", depth + 1)
            if parent.attr in ("lower", "strip", "upper"):
                return self.role(call, kind, text, depth + 1)
        return None

    def _listcomp(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        if node is not parent.elt:
            return None
        counts = kind == "device" and text == "cuda:{}" and self.in_cuda(parent.generators[0].iter, up)
        return self.role(up, kind, text, depth + 1) or (Role("assigned", True) if counts and not logged(up) else None)

    _setcomp = _generatorexp = _listcomp

    def _dictcomp(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        return Role("mapped", INDEXED.match(text) is not None or text == "cuda:{}") if node is parent.value else None

    # ---- containers

    def _list(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        words = listed(parent)
        if words.npu if kind == "device" else words.hccl:
            return None
        role = self.role(up, kind, text, depth + 1)
        if role is None and kind == "device" and words.devices and not logged(up) and not self.enums.takes(up, text):
            typed = up[1] is not None and up[1][0].__class__ is ast.Subscript  # Literal["cpu", "cuda"]
            if typed and up[1][0].value is parent:  # ("cpu", "cuda")[x.is_cuda] is one of them
                return None
            return Role("choices", False) if typed else Role("assigned", True)
        return role

    _tuple = _set = _list

    @staticmethod
    def _computed(key: Node) -> bool:
        """Whether a key is a computed device: `"cuda:%d" % 0`."""
        first = next((n.value for n in walk(key) if isinstance(constant(n), str)), "")
        return first.startswith("cuda:")

    def _for(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        """The list of a loop or a comprehension: `for device in ["cpu", "cuda"]`."""
        return self._target(parent.target, up, kind, text, depth) if node is parent.iter else None

    _asyncfor = _comprehension = _for

    def _dict(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        side, index = place(parent, node)
        if side == "keys":
            whole = self.role(up, kind, text, depth + 1)
            # map_location={"cuda:0": "cpu"}, map_location = {"cuda:%d" % 0: "cuda:%d" % rank}: devices in a checkpoint
            computed = kind == "device" and self._computed(parent.values[index])
            if whole and (whole.role == "argument" or whole.role == "assigned" and computed):
                return Role("saved", True)
            if kind != "device" or not maps_devices(parent):
                return None
            return Role("mapped", self.in_cuda(parent.values[index], up))  # {"cuda": torch.cuda.is_available(), ...}
        key = parent.keys[index]
        name = constant(key)
        if name is None and key is not None and kind == "device" and self._computed(key):
            return self.role(up, kind, text, depth + 1)
        if isinstance(name, str) and like(name, kind) or kind == "device" and is_of_parts(up):
            return Role("mapped", not self.foreign)
        if kind == "backend" and name in DEVICES:  # {"cuda": "nccl", "cpu": "gloo"}
            return self.role(up, kind, text, depth + 1) or Role("mapped", False)
        if isinstance(name, str) and name.partition(":")[0] in DEVICES and kind == "device":
            return self.role(up, kind, text, depth + 1)
        return None

    # ---- nodes that give the value a name

    def _assign(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        if node.__class__ in (ast.List, ast.Tuple, ast.Set) and parent.targets[0].__class__ is ast.Name:
            used = self._used(parent.targets[0].id, up, kind, text, depth)  # BACKENDS = [...], choices=BACKENDS
            if used is not None and used.role == "choices":
                return used
        if kind == "device" and (member := self.enums.member(up)) is not None:
            return Role("member", False) if member else None
        return next((r for t in parent.targets if (r := self._target(t, up, kind, text, depth))), None)

    def _annassign(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        if node is parent.annotation:
            return Role("choices", True) if named(parent.target, kind) else None
        return self._target(parent.target, up, kind, text, depth) if node is parent.value else None

    def _augassign(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        """An addition to a list: `devices += ["cuda"]`."""
        return self._target(parent.target, up, kind, text, depth)

    def _arg(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        return Role("choices", True) if like(parent.arg, kind) else None

    def _functiondef(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        return Role("choices", True) if node is parent.returns and like(parent.name, kind) else None

    _asyncfunctiondef = _functiondef

    def _subscript(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        """A type that lists the allowed values: `backend: Literal["nccl", "gloo"]`; one of a list: `("cpu", "cuda")[use_gpu]`."""
        if node is parent.value and node.__class__ in (ast.List, ast.Tuple):
            return self.role(up, kind, text, depth + 1)
        if node is not parent.slice or call_name(parent.value) not in _TYPES:
            return None
        role = self.role(up, kind, text, depth + 1)
        return role and Role("choices", role.certain)

    def _namedexpr(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        return self._target(parent.target, up, kind, text, depth) or self.role(up, kind, text, depth + 1)

    def _target(self, target: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        """The role of a value that is assigned to `target`."""
        if named(target, kind):
            return Role("assigned", True)
        if kind == "device" and lightning(target_name(target)):
            return Role("assigned", False)
        if target.__class__ is ast.Name:
            if (target.id, kind) in self.constants:
                return Role("assigned", True)
            return self._used(target.id, up, kind, text, depth)
        if target.__class__ is ast.Attribute and getattr(target.value, "id", "") == "self":
            return self._shown(self._read_of_self.get(target.attr, []), kind, text, depth)
        return None

    @cached_property
    def _read_of_self(self) -> dict[str, list[Link]]:
        """The places where `self.x` is read, by attribute."""
        reads: dict[str, list[Link]] = {}
        for link in self.names.spelled("self"):
            if link[1][0].__class__ is ast.Attribute and link[1][0].ctx.__class__ is ast.Load:
                reads.setdefault(link[1][0].attr, []).append(link[1])
        return reads

    def _used(self, name: str, up: Link, kind: str, text: str, depth: int) -> Role | None:
        return self._shown(self.names.readers(name, (ast.Name(name), up)), kind, text, depth)

    def _shown(self, uses: list[Link], kind: str, text: str, depth: int) -> Role | None:
        """The role of a local, a constant or an attribute, by its uses."""
        for use in uses[:40]:
            if r := self.role(use, kind, text, depth + 3):
                if r.role == "choices":
                    return r
                if r.role != "compared" or r.certain:
                    return Role("assigned", r.certain)
        return None

    def _arguments(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        name = defaulted(parent, node).arg
        if like(name, kind):
            return Role("default", True)
        if kind == "device" and lightning(name):
            return Role("default", False)
        role = self._used(name, (up[0], up), kind, text, depth) if up[1] else None
        return role and Role("default", role.certain)

    def _return(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        while up and not isinstance(up[0], FUNCTIONS):
            up = up[1]
        if up is None or up[0].__class__ is ast.Lambda:
            return None
        function: Node = up[0]
        if like(function.name, kind):
            return Role("returned", True)
        devices = kind == "device" and returns_devices(function)
        return Role("returned", not lightning(function.name)) if devices else None

    def handed_elsewhere(self, link: Link) -> bool:
        """Whether a value goes into an argument of a function of another library, directly or as a part of it."""
        call = next((above for above in ancestors(link) if isinstance(above[0], (ast.Call, ast.stmt))), None)
        return (
            call is not None and call[0].__class__ is ast.Call and other_library(self.names.resolve(call[0].func, call))
        )
