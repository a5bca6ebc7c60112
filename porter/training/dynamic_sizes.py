"""Follows sizes that only the data knows to the operators whose shapes depend on them.

A value has such a SHAPE, or is a SIZE: a number that becomes the size of something. Both are followed from their origin, also
into functions of the file that get them (values/values.py).
"""

from __future__ import annotations

import ast
import builtins
from collections import deque
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from porter.python.evidence import call_name, other_library
from porter.python.index import Link, Node, owner_of, walk
from porter.python.signs import sign
from porter.rulebook.table import hints
from porter.training.loops import loops_around
from porter.training.slices import is_as_long
from porter.training.value_uses import SIZED, is_size
from porter.values.operations import World
from porter.values.value import Value
from porter.values.values import Body
from porter.values.views import Users

if TYPE_CHECKING:
    from porter.training.protocols import AnyContext, File

SHAPE, SIZE = "shape", "size"
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SHOWN, _LINES, _WIDE = 5, 40, 40  # operators and lines that a finding lists, and characters of a loop in it
_LONGEST = 2_000  # lines of a function that a person wrote
_FREE = frozenset(
    {"view", "transpose", "parts", "unbound", "half", "tuple", "choice", "written", "attribute"}
)  # operations that run no kernel
# attributes that do not depend on a shape
_FACTS = frozenset("device dtype requires_grad ndim is_cuda is_npu layout grad_fn names".split())
_NUMBERS = frozenset("size numel nelement __len__ len".split())  # functions that give a size as a number
_SAID = hints("computes-nothing")  # functions that compute nothing on the device
_REDUCED = hints("answer-of-one-size")  # the size of their result does not follow their argument
_LOSSES = ("loss", "criterion", "cross_entropy", "kl_div")
_WRITES = hints("shaped-like-its-receiver")
# methods of arrays that no tensor has
_OF_ARRAYS = frozenset("astype explode to_numpy groupby iterrows itertuples tobytes to_list".split())
_COLLECTS = frozenset("append extend insert update add put setdefault".split())
_ARITHMETIC = frozenset("add sub mul div neg FloorDiv Mod pow".split())
# functions that make a size of a size
_ROUNDED = frozenset("int max min float round ceil floor abs clamp item".split())
_MADE = SIZED | frozenset("pad one_hot new Tensor FloatTensor LongTensor resize_ as_strided tile chunk".split())
# which arguments of these functions are sizes; their other arguments are values
_FILLED_BY = {"full": (0, 1), "new_full": (1, 2), "pad": (1, 2), "one_hot": (1, 2), "linspace": (2, 3)}
_MIXED = ("compare", "BitAnd", "BitOr", "not", "add", "sub", "mul", "div")
_DEEPEST, _MOST = 8, 400  # levels of an expression that are looked at, and values through which a shape is followed


class Reach(NamedTuple):
    """The operators that a shape or size reaches."""

    operators: tuple[str, ...]  # by their names in the source, in the order in which they run
    leaves: bool  # the value also leaves the function: it is returned, stored, or passed to code elsewhere
    lines: tuple[int, ...] = ()  # of the operators

    @property
    def matters(self) -> bool:
        return bool(self.operators) or self.leaves

    @property
    def values(self) -> tuple[tuple[str, str], ...]:
        """For `Hit.values`: the operators and their lines."""
        names = [*dict.fromkeys(self.operators)]
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        lines = ",".join(map(str, self.lines[:_LINES]))
        return (("reached", str(len(self.operators))), ("into", shown), ("lines", lines)) if names else ()


class Flows:
    """The values of the functions of a file, computed when a rule asks for a function."""

    def __init__(self, file: File) -> None:
        self._owners = {link[0]: owner_of(link) for kind in _DEFS for link in file.buckets[kind]}
        self._world = World(file.names, file.receivers.members, self._owners, traces=True)
        self._bodies: dict[Node, tuple[Body, Users] | None] = {}
        self._followers: dict[Body, _Follower] = {}
        self._reads: dict[Node, dict[str, list[ast.Subscript]]] = {}
        # answers of other modules, kept here
        self.summed: dict[ast.Subscript, str | None] = {}  # of masks.summed
        self.padding: dict[Node, tuple[int, int]] = {}  # by function, the first place that padding.padded found
        self.hosted: dict[Node, bool] = {}  # by function, of value_uses.says_host
        self.kept: dict[
            tuple[Node, str], ast.Subscript | None
        ] = {}  # the first read by a mask whose result is not summed

    def body(self, function: Link | None) -> tuple[Body, Users] | None:
        """The values of a function and their users; None where the function is too large."""
        node = function and function[0]
        if node is None or node.end_lineno - node.lineno > _LONGEST:
            return None
        if node not in self._bodies:
            try:
                body = Body(node, self._owners[node], self._world)
                self._bodies[node] = body, Users(body)
            except RecursionError:  # an expression of hundreds of parts
                self._bodies[node] = None
        return self._bodies[node]

    def reach(self, function: Link | None, node: Node, kind: str) -> Reach | None:
        """The operators that the shape or size of an expression reaches; None where that is not known."""
        flow = self.body(function)
        if flow is None or (origin := flow[0].at.get(node)) is None:
            return None
        if kind == SHAPE and any(map(_is_foreign, origin.args)):
            return Reach((), False)
        if flow[0] not in self._followers:
            self._followers[flow[0]] = _Follower(*flow)
        follower = self._followers[flow[0]]
        if (origin, kind) not in follower.reaches:
            follower.reaches[origin, kind] = follower.follow(origin, kind)
        return follower.reaches[origin, kind]

    def reads(self, around: Node) -> dict[str, list[ast.Subscript]]:
        """Every `x[...]` that is read in a node, by the text of its index."""
        if around not in self._reads:
            by_index = self._reads[around] = {}
            for node in walk(around):
                if node.__class__ is ast.Subscript and node.ctx.__class__ is ast.Load:
                    by_index.setdefault(ast.dump(node.slice), []).append(node)
        return self._reads[around]

    def message_values(self, scene: AnyContext, link: Link, kind: str) -> tuple[tuple[str, str], ...] | None:
        """The `Hit.values` about what follows from a shape or size; None where nothing follows."""
        reach = self.reach(scene.function(link), link[0], kind)
        if reach is None:
            return () if kind == SHAPE or is_size(scene.names, (None, link)) else None
        if not (reach.matters if kind == SHAPE else reach.operators):
            return None
        loops = [*takewhile(lambda loop: loop not in scene.steps, loops_around(link))]
        return (*reach.values, *((("loop", _header(loops[-1])),) if loops else ()))


class _Follower:
    """Follows shapes and sizes through one function."""

    def __init__(self, body: Body, users: Users) -> None:
        self.body, self.users = body, users
        self.sizes: dict[Value, list[Value]] = {}
        for sized, given in body.traces.sizes.items():
            for value in given:
                self.sizes.setdefault(value, []).append(sized)
        self.lost, self.stored = {*body.traces.handed, *body.returned}, {*body.traces.stored}
        self.order = {value: index for index, value in enumerate(body.made)}
        self.reaches: dict[tuple[Value, str], Reach] = {}  # kept, as several rules ask

    def follow(self, origin: Value, kind: str) -> Reach:
        kinds: dict[Value, str] = {origin: kind}
        todo = deque([origin])
        reached: dict[Value, None] = {}
        leaves, writes = False, 0
        while todo and len(kinds) < _MOST:
            value = todo.popleft()
            kind = kinds[value]
            leaves |= kind == SHAPE and value in self.lost
            writes += kind == SHAPE and value in self.stored
            if any(user.op == "call" and user.info[0] in _OF_ARRAYS for user in self.users.of(value)):
                return Reach((), False)
            steps = [(user, self._into(user, value, kind, origin)) for user in self.users.of(value)]
            steps += [(sized, (SHAPE, True, False)) for sized in self.sizes.get(value, ()) if kind == SIZE]
            for user, (becomes, counts, away) in steps:
                leaves |= away
                if counts:
                    reached[user] = None
                if becomes is not None and (user not in kinds or kinds[user] == SIZE and becomes == SHAPE):
                    kinds[user] = becomes
                    todo.append(user)
        names = [_named(value) for value in sorted(reached, key=self.order.__getitem__)]
        lines = sorted({value.node.lineno for value in reached if hasattr(value.node, "lineno")})
        return Reach((*names, *["index_put"] * writes), leaves, tuple(lines))

    def _into(self, user: Value, value: Value, kind: str, origin: Value) -> tuple[str | None, bool, bool]:
        """What a use of a value becomes: (SHAPE, SIZE or None; whether a kernel runs; whether the value leaves the function)."""
        op = user.op
        if op in ("call", "module"):
            return self._called(user, value, kind)
        if op in ("item", "slice", "index"):
            return _indexed(user, value, kind, value is origin)
        if op == "attribute":
            if kind == SIZE or user.info in _FACTS:
                return None, False, False
            return (SIZE if user.info == "shape" else SHAPE), False, False
        if op in ("tuple", "choice"):
            return kind, False, False
        if kind == SIZE:
            return (SIZE, False, False) if op in _ARITHMETIC else (None, False, False)
        if op == "bool":
            return None, False, False
        if op in ("mean", "norm"):
            return (None if user.info[0] in ((None,), (0,)) else SHAPE), True, False
        if op == "masked_fill" and user.args[0] is not value:
            return None, True, False
        return SHAPE, op not in _FREE, False

    def _called(self, user: Value, value: Value, kind: str) -> tuple[str | None, bool, bool]:
        full = user.info[0] if user.op == "call" else f"self.{user.info[0]}"
        function = full.rpartition(".")[2]
        if other_library(full) or function in _SAID:
            return (SIZE if kind == SIZE and function in _ROUNDED else None), False, False
        if kind == SIZE:
            if function in _ROUNDED:
                return SIZE, False, False
            sized = function in _MADE and value in _sizing(user, function)
            return (SHAPE, True, False) if sized else (None, False, False)
        if function in _NUMBERS:
            return SIZE, False, False
        if function in _COLLECTS:
            return None, False, True
        bare = function.rstrip("_")
        if bare in _WRITES and user.args[0] is not value:
            return None, True, False
        if any(word in function.lower() for word in _LOSSES):
            apart = any(a.op == "const" and a.info == "none" for a in user.args)
            return (SHAPE if apart else None), True, False
        if bare in _REDUCED:
            dimensions = [a for a in user.args if a is not value]
            return (
                (None if not dimensions or dimensions[0].op == "const" and dimensions[0].info == 0 else SHAPE),
                True,
                False,
            )
        if hasattr(builtins, full):
            return None, False, full not in ("int", "float", "type", "min", "max")
        method = user.node.__class__ is ast.Call and user.node.func.__class__ is ast.Attribute
        # a name that does not resolve is a module in a variable, or a function too deep to follow
        ours = full.startswith(("torch.", "torchvision.", "self.")) or "." not in full
        return (SHAPE, True, False) if ours or method and user.args[0] is value else (None, False, True)


def _is_foreign(value: Value, depth: int = 0) -> bool:
    """Whether a value is an array of another library, or made of one. Its sizes are known on the host."""
    if value.op == "call":
        full = value.info[0]
        return other_library(full) or full.rpartition(".")[2] in ("numpy", "asnumpy")
    parts = value.args[:1] if value.op in ("item", "attribute", "view") else value.args if value.op in _MIXED else ()
    if value.op == "choice":  # `x.numpy() if torch.is_tensor(x) else x`: the other way gives an array as well
        parts = value.args
    return depth < _DEEPEST and any(_is_foreign(a, depth + 1) for a in parts)


def _sizing(user: Value, function: str) -> tuple[Value, ...]:
    """The arguments of a call that are the size of its result, and not its content."""
    if function in _FILLED_BY:
        first, stop = _FILLED_BY[function]
        return user.args[first:stop]
    if function == "randint":
        return tuple(a for a in user.args if a.op == "tuple")
    if not function.endswith("Tensor"):
        return user.args
    return tuple(a for a in user.args if a.op != "tuple" and (a.op != "call" or a.info[0] != "tolist"))  # contents


def _indexed(user: Value, value: Value, kind: str, is_origin: bool) -> tuple[str | None, bool, bool]:
    if user.op == "index":  # of `unbind`, or by a number along the last dimension
        return (SHAPE, True, False) if kind == SHAPE else (None, False, False)
    flags = (True,) if user.op == "slice" else user.info if user.info.__class__ is tuple else ()
    if value is not user.args[0]:  # the value is the index
        bounds, index = set[Value](), 1
        for sliced in flags:
            part = user.args[index : index + 3 if sliced else index + 1]
            bounds.update(part if sliced and not is_as_long(*part) else ())
            index += len(part)
        return (SHAPE, True, False) if kind == SHAPE or value in bounds else (None, False, False)
    if kind == SIZE:  # `x.shape[0]`
        return SIZE, False, False
    if user.info.__class__ is int or is_origin and _gives_several(value):  # one of several results
        return SHAPE, False, False
    row = flags[:1] == (False,) and user.args[1].op == "const" and type(user.args[1].info) is int
    return (None if row else SHAPE), True, False


def _gives_several(origin: Value) -> bool:
    """Whether a call returns several tensors, so that an index picks one: `torch.where(mask)`, `nonzero(as_tuple=True)`,
    `unique(return_counts=True)`."""
    call = origin.node
    if call.__class__ is not ast.Call:
        return False
    return call_name(call.func) == "where" or any(
        (k.arg or "").startswith(("as_tuple", "return_")) for k in call.keywords
    )


def _named(value: Value) -> str:
    node = value.node
    if node.__class__ is ast.Call:
        return call_name(node.func) or "call"
    return "index" if node.__class__ is ast.Subscript else sign(node) or value.op


def _header(loop: Node) -> str:
    if loop.__class__ is ast.While:
        return f"while {ast.unparse(loop.test)}"[:_WIDE]
    return f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}"[:_WIDE]
