"""Judges what stands before `.cuda()`, `.to(0)` and `.is_cuda`: a tensor of torch, something of another library, or unknown."""

from __future__ import annotations

import ast
from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING

from porter.python.blocks import BODIES, place, within
from porter.python.evidence import OTHER_LIBRARIES
from porter.python.index import Link, Node, ancestors
from porter.python.returned import returned
from porter.rulebook.table import hints

if TYPE_CHECKING:
    from porter.python.file import Parsed

# of torch | of another library | of a class of the project with such a method of its own | not known
TORCH, OTHER, OWN, UNKNOWN = "torch", "other", "own", "unknown"

_TENSOR_METHODS, _TO_ARRAYS = hints("method-of-torch"), hints("gives-arrays")
_LIKE_ARRAYS = frozenset("view reshape transpose squeeze repeat flatten mean sum".split())  # methods of arrays, too
_OF_TENSORS_ALONE = _TENSOR_METHODS - _LIKE_ARRAYS
# packages that give tensors and modules of torch
TORCH_ROOTS = frozenset({"torch", "torchvision", "torchaudio", "timm", "transformers", "diffusers", "torch_npu"})


def _strongest(kinds: set[str]) -> str:
    """The kind of a name with several bindings. `rois = numpy.array(...)` and later `rois = torch.tensor(rois)` is of torch.
    An array in one place and unknown in another is unknown: at the place in question it may be no array."""
    return OTHER if kinds == {OTHER} else _first(kinds - {OTHER})


def _first(kinds: set[str]) -> str:
    return next((kind for kind in (OWN, TORCH, OTHER) if kind in kinds), UNKNOWN)


class Receivers:
    def __init__(self, file: Parsed) -> None:
        self.tree, self.names = file.tree, file.names
        self._classes_with = {
            "cuda": frozenset(entry.rpartition(":")[2] for entry in file.facts.own.cuda),
            "is_cuda": frozenset(entry.rpartition(":")[2] for entry in file.facts.own.is_cuda),
        }
        self._owners: frozenset[str] = frozenset()  # classes of the project that define the attribute itself
        self._given = _TENSOR_METHODS  # an unknown object with one of these methods is a tensor
        self._attributes, self._definitions = file.buckets[ast.Attribute], file.buckets[ast.ClassDef]
        self._orders: dict[ast.AST, tuple[list[Link], list[int]]] = {}
        self._bound_kinds: dict[tuple[ast.AST, int, frozenset[str], frozenset[str]], str] = {}
        starts, keys = file.source.starts, file.session.rules.keys  # of all rules, not only those that edit
        self._ends = {
            starts[node.end_lineno - 1] + node.end_col_offset: link
            for link in file.buckets[ast.Attribute]
            if (attr := (node := link[0]).attr) in keys.methods or attr in keys.attributes
        }

    def link(self, end: int) -> Link | None:
        """The link of the attribute that ends at this offset, if a rule may ask for it."""
        return self._ends.get(end)

    def judge(self, end: int) -> str:
        """The kind of the object before the attribute that ends at this offset."""
        link = self._ends.get(end)
        if link is None:
            return UNKNOWN
        self._owners = self._classes_with["is_cuda" if link[0].attr == "is_cuda" else "cuda"]
        return self._expression(link[0].value, (link[0].value, link), 0)

    def kind(self, link: Link) -> str:
        """The kind of an expression."""
        self._owners = self._classes_with["cuda"]
        return self._expression(link[0], link, 0)

    def is_surely_torch(self, link: Link) -> bool:
        """Whether an expression is of torch. An array of numpy is never taken for a tensor here."""
        return self._told_apart(link) == TORCH

    def is_array(self, link: Link) -> bool:
        """Whether an expression is of numpy or another library: `boxes[:, 0]`, where `boxes` is `x.cpu().numpy()`."""
        return self._told_apart(link) == OTHER

    def _told_apart(self, link: Link) -> str:
        """The kind of an expression, where tensors and arrays differ."""
        self._given = _OF_TENSORS_ALONE
        try:
            return self.kind(link)
        finally:
            self._given = _TENSOR_METHODS

    def _expression(self, node: Node, link: Link, depth: int) -> str:
        if depth > 6:
            return UNKNOWN
        kind = node.__class__
        if kind is ast.Call:
            return self._call(node, link, depth)
        if kind is ast.Name:
            return self._name(node, link, depth)
        if kind is ast.Attribute:
            return self._attribute(node, link, depth)
        if kind is ast.Subscript:
            return self._expression(node.value, link, depth + 1)
        if kind is ast.BinOp:
            # a number of numpy times a tensor is a tensor: `(np.random.beta(a, a) * x).cuda()`
            operands = [side for side in (node.left, node.right) if side.__class__ is not ast.Constant]
            sides = {self._expression(side, link, depth + 1) for side in operands}
            return _first(sides) if self._given is _OF_TENSORS_ALONE else _strongest(sides)
        if kind is ast.IfExp:
            sides = {self._expression(s, link, depth + 1) for s in (node.body, node.orelse)}
            return sides.pop() if len(sides) == 1 else UNKNOWN
        return UNKNOWN

    def _resolved(self, full: str) -> str:
        root = full.lstrip(".").partition(".")[0]
        if root in TORCH_ROOTS:
            return TORCH
        if root in OTHER_LIBRARIES or full.rpartition(".")[2] in _TO_ARRAYS:
            return OTHER
        return OWN if full.rpartition(".")[2] in self._owners else UNKNOWN

    def _call(self, node: ast.Call, link: Link, depth: int) -> str:
        if full := self.names.resolve(node.func, link):
            return self._resolved(full)
        func: Node = node.func
        if func.__class__ is ast.Name:
            return self._class_or_function(func.id, link, depth)
        if func.__class__ is ast.Attribute:
            base = self._expression(func.value, link, depth + 1)
            # an array, which no tensor has `astype` for; who asks for waits goes on from it: `boxes.cpu().numpy().tolist()`
            if func.attr == "astype" or func.attr == "numpy" and self._given is _OF_TENSORS_ALONE:
                return OTHER
            if base is OTHER or base is OWN and func.attr in ("copy", "get", "to", "cuda", "cpu", "astype", "reshape"):
                return base  # a method of an array gives no tensor
            shared = self._owners and func.attr in ("cuda", "cpu", "to")  # a class of the project has such methods, too
            if base is TORCH or func.attr in self._given and base is UNKNOWN and not shared:
                return TORCH
        return UNKNOWN

    def _class_or_function(self, name: str, link: Link, depth: int) -> str:
        """A function of the file is asked what it returns, where classes of the project have such a method themselves."""
        kind = self._class(name, link, depth)
        functions = self.names.scopes.functions.get(name, ()) if kind is UNKNOWN and self._owners else ()
        if len(functions) != 1 or len(self.names.others.get(name, ())) != 1 or functions[0][0].decorator_list:
            return kind
        key = (functions[0][0], depth, self._owners, self._given)
        if key not in self._bound_kinds:
            kinds = {self._expression(value[0], value, depth + 2) for value in returned(functions[0])}
            self._bound_kinds[key] = TORCH if kinds == {TORCH} else UNKNOWN
        return self._bound_kinds[key]

    def _class(self, name: str, link: Link, depth: int) -> str:
        """The kind of an instance of a class that the file defines."""
        if name in self._owners:
            return OWN
        bound = self.names.bindings(name, link)
        question = "module", self.names.scopes.around(link) if bound else None
        return self.names.once(question, bound, lambda: self._class_at(name, bound, link))

    def _class_at(self, name: str, bound: list[Link], link: Link) -> str:
        for block in dict.fromkeys(binding[0] for binding in bound):
            if any(self._is_module(definition, link) for definition in self._classes.get((block, name), ())):
                return TORCH
        return UNKNOWN

    @cached_property
    def _classes(self) -> dict[tuple[ast.AST, str], list[ast.ClassDef]]:
        """The classes in the body of a node, by that node and their name."""
        definitions: dict[tuple[ast.AST, str], list[ast.ClassDef]] = {}
        for node, above in self._definitions:
            if within(above[0], node, "body"):
                definitions.setdefault((above[0], node.name), []).append(node)
        return definitions

    def _is_module(self, node: ast.ClassDef, link: Link) -> bool:
        for base in node.bases:
            full = self.names.resolve(base, link) or ""
            if full.startswith("torch.nn.") or full.endswith((".Module", "LightningModule", "PreTrainedModel")):
                return True
        return False

    def _name(self, node: ast.Name, link: Link, depth: int) -> str:
        if full := self.names.root(node.id, link) if self.names.known(node.id) else None:
            return self._resolved(full) if full.partition(".")[0] in OTHER_LIBRARIES else UNKNOWN
        if node.id in ("self", "cls"):
            owner = next((a for a in ancestors(link) if a[0].__class__ is ast.ClassDef), None)
            if owner is None:
                return UNKNOWN
            return OWN if owner[0].name in self._owners else TORCH if self._is_module(owner[0], owner) else UNKNOWN
        kinds = {self._bound_kind(b, depth) for b in self.reaching(self.names.bindings(node.id, link), link)[:8]}
        return _strongest(kinds)

    def reaching(self, bound: list[Link], link: Link) -> list[Link]:
        """The binding that is surely the last before a place, because it stands in the same block. Else all of them."""
        while link is not None and not isinstance(link[0], ast.stmt):
            link = link[1]
        if link is None or len(bound) < 2 or bound[0] is None:
            return bound
        order, lines = self._ordered(bound)
        if not (before := bisect_left(lines, link[0].lineno)):
            return bound
        nearest = order[before - 1]
        around = link[1][0] if link[1] else self.tree
        block = place(around, link[0])[0]
        if block in BODIES and nearest[1] and within(around, nearest[1][0], block):
            return [nearest] if nearest[1][0].__class__ is ast.Assign else bound
        return bound

    def _ordered(self, bound: list[Link]) -> tuple[list[Link], list[int]]:
        """The bindings in the order of the file, and their lines. Both are empty where a binding is not just a name."""
        first = bound[0][0]
        known = self._orders.get(first)
        if known is None:
            order = []
            if all(binding is not None and binding[0].__class__ in (ast.Name, ast.arg) for binding in bound):
                order = sorted(bound, key=lambda binding: (binding[0].lineno, binding[0].col_offset))
            known = self._orders[first] = order, [binding[0].lineno for binding in order]
        return known

    def _bound_kind(self, binding: Link, depth: int) -> str:
        """The kind that one binding gives a name. It is kept, as every use of the name asks for it."""
        key = (binding[0], depth, self._owners, self._given)
        kind = self._bound_kinds.get(key)
        if kind is None:
            kind = self._bound_kinds[key] = self._judge_binding(binding, depth)
        return kind

    def _judge_binding(self, binding: Link, depth: int) -> str:
        node, up = binding[0], binding[1]
        if node.__class__ is ast.arg:
            return self._annotation(node.annotation, binding)
        parent: Node = up[0] if up else None
        if parent.__class__ is ast.Assign and within(parent, node, "targets"):
            return (
                self._expression(parent.value, (parent.value, up), depth + 1) if parent.value is not node else UNKNOWN
            )
        if parent.__class__ is ast.Tuple and (value := _set_to(binding)) is not None:
            return self._expression(value, (value, up[1]), depth + 1)
        if parent.__class__ is ast.AnnAssign:
            kind, value = self._annotation(parent.annotation, up), self._expression(parent.value, up, depth + 1)
            # `loss: nn.Module = Loss()` calls what Loss defines
            return value if kind is UNKNOWN or value is OWN else kind
        if parent.__class__ is ast.NamedExpr:
            return self._expression(parent.value, up, depth + 1)
        return UNKNOWN

    def _annotation(self, node: Node, link: Link) -> str:
        if node.__class__ is ast.Constant and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return UNKNOWN
        if node is None:
            return UNKNOWN
        full = self.names.resolve(node, link)
        if full is None:
            return OWN if getattr(node, "id", "") in self._owners else UNKNOWN
        return self._resolved(full)

    def _attribute(self, node: ast.Attribute, link: Link, depth: int) -> str:
        if full := self.names.resolve(node, link):
            return self._resolved(full)
        if node.attr in ("data", "grad", "weight", "bias"):
            return TORCH
        if getattr(node.value, "id", "") != "self":
            return UNKNOWN
        owner = next((a for a in ancestors(link) if a[0].__class__ is ast.ClassDef), None)
        values = self.members(owner[0]).get(node.attr, []) if owner else []
        kinds = (self._expression(value, (value, owner), depth + 3) for value in values)
        return self.names.once(("kind", depth, self._owners, self._given), values, lambda: _strongest({*kinds}))

    def members(self, owner: ast.ClassDef) -> dict[str, list[ast.expr]]:
        """The values of `self.x = ...` anywhere in a class, by attribute."""
        return self._members.get(owner, {})

    @cached_property
    def _members(self) -> dict[ast.ClassDef, dict[str, list[ast.expr]]]:
        members: dict[ast.ClassDef, dict[str, list[ast.expr]]] = {}
        for link in self._attributes:
            node = link[0]
            if node.ctx.__class__ is not ast.Store or getattr(node.value, "id", "") != "self":
                continue
            owner = next((a for a in ancestors(link) if a[0].__class__ is ast.ClassDef), None)
            if owner is not None and (value := _set_to(link)) is not None:
                members.setdefault(owner[0], {}).setdefault(node.attr, []).append(value)
        return members


def _set_to(link: Link) -> Node:
    """The value that a target of an assignment gets, also in `self.a, self.b = x, y`."""
    node, above = link[0], link[1][0]
    if above.__class__ is ast.Assign:
        return above.value
    assign = link[1][1] and link[1][1][0]
    if (
        above.__class__ is not ast.Tuple
        or assign.__class__ is not ast.Assign
        or assign.value.__class__ is not ast.Tuple
    ):
        return None
    return assign.value.elts[place(above, node)[1]] if len(assign.value.elts) == len(above.elts) else None
