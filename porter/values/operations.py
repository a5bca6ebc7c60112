"""Turns calls, operators and indices into values (values/values.py). All ways to write an operation give the same value."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from porter.python.evidence import constant
from porter.python.index import Node
from porter.python.names import Names
from porter.python.parameters import default_of, dotted, given_to, number
from porter.values.functions import Call, named, sized
from porter.values.modules import called
from porter.values.value import Value
from porter.values.values import Body

if TYPE_CHECKING:
    from porter.values.world import Members, Owner

# operations by the names of their functions and methods; other names for them
_UNARY = frozenset("square rsqrt sqrt sigmoid neg exp erf tanh silu relu view_as_complex view_as_real".split())
_BINARY = frozenset("add sub mul div pow matmul".split())
_VIEWS = frozenset(
    "view reshape flatten unflatten unsqueeze squeeze expand expand_as permute contiguous rearrange".split()
)
_CASTS = frozenset("float half bfloat16 double to type type_as".split())
_TRANSPOSES = frozenset("transpose swapaxes swapdims t mT T".split())
_ALIASES = {
    "multiply": "mul", "true_divide": "div", "divide": "div", "subtract": "sub", "bmm": "matmul", "mm": "matmul", "swish": "silu",
    "negative": "neg", "concat": "cat", "concatenate": "cat", "tensor_split": "chunk", "vector_norm": "norm",
}  # fmt: skip
_ROOTS = ("torch.", "einops.", "math.", "numpy.")  # libraries whose functions are read
_Keywords: TypeAlias = "dict[str, Value]"
# answers of `_arithmetic`. _OTHER: it does not know the operation. None: it knows it, but has no value for it
_OTHER = Value("", (), None, None)


class World:
    """What the functions of a file share: imported names, functions and methods that are entered, members of classes."""

    def __init__(
        self,
        names: Names,
        members: Members,
        entered: Mapping[Node, Owner],
        remembers: bool = False,
        traces: bool = False,
    ) -> None:
        self.names, self.members = names, members
        self.remembers = remembers  # keep the values of all names at each statement, which only edits need
        self.traces = traces  # keep where values go, for code that follows a value
        self.functions = {(owner, function.name): function for function, owner in entered.items()}

    def resolve(self, name: str) -> str | None:
        root, dot, tail = name.partition(".")
        base = self.names.plain.get(root) or self.names.aliases.get(root)
        return base and base + dot + tail

    def settled(self, owner: Owner, attribute: str) -> Any:
        """The usual value of `self.attribute`: a constant, or the default of a parameter of `__init__`."""
        if owner is None:
            return None
        values = self.members(owner).get(attribute, ())
        if len(values) != 1:
            return None
        if values[0].__class__ is ast.Name:
            for method in owner.body:
                if getattr(method, "name", "") == "__init__":
                    return default_of(method, values[0].id)
        return number(values[0])

    # ---- operators and indices

    def binary(self, body: Body, op: str, left: Value, right: Value, node: Node) -> Value:
        """The value of an operator with two operands: `x ** y`. `torch.pow(x, y)` and `x.pow(y)` come here as well, from
        `_arithmetic`. A negative number is a const, too."""
        if op == "mul":
            if left is right:
                return body.make("square", (left,), None, node)
            for gate, other in ((left, right), (right, left)):
                if gate.op == "sigmoid" and gate.args[0] is other:
                    return body.make("silu", (other,), None, gate.node)
        if op == "pow" and right.op == "const":
            name = {2: "square", -0.5: "rsqrt", 0.5: "sqrt"}.get(right.info)
            if name:
                return body.make(name, (left,), None, node)
        if op == "div" and right.op == "sqrt":
            root = body.make("rsqrt", right.args, None, right.node)
            return root if left.op == "const" and left.info == 1 else body.make("mul", (left, root), None, node)
        return body.make(op, (left, right), None, node)

    def part(self, body: Body, value: Value, index: int, count: int, node: Node) -> Value:
        """One part of a value, as in `a, b = value`."""
        if value.op == "tuple" and len(value.args) == count and -count <= index < count:
            return value.args[index]
        if value.op == "choice":
            return body.choice(tuple(self.part(body, v, index, count, node) for v in value.args), node)
        if value.op == "parts" and count == 2 and index in (0, 1) and value.info[0] in (2, None):
            return body.make("half", value.args, (index, value.info[1]), node)
        if value.op == "mapped":
            return self._applied(body, value.node.args[0], self.part(body, value.args[0], index, count, node))
        if value.op == "unbound":
            return body.make("index", value.args, (index, value.info), node)
        return body.make("item", (value,), index, node)

    def attribute(self, body: Body, value: Value, node: ast.Attribute) -> Value:
        if node.attr in ("T", "mT"):
            return body.make("transpose", (value,), (-2, -1), node)
        if node.attr == "data":
            return value
        if value.op == "leaf" and value.info in (("parameter", "self"), ("name", "self")):
            return body.make("leaf", (), ("attribute", node.attr), node)  # what it is set to: `settled`
        return body.make("attribute", (value,), node.attr, node)

    def subscript(self, body: Body, value: Value, node: ast.Subscript) -> Value:
        index: Node = node.slice
        inner = index.elts if index.__class__ is ast.Tuple else [index]
        bounds: list[Any] = [
            [body.value(e) if e is not None else body.make("const", (), None, node) for e in (i.lower, i.upper, i.step)]
            if i.__class__ is ast.Slice
            else body.value(i)
            for i in inner
        ]
        if all(e.__class__ is ast.Constant and e.value is None or _is_full(e) for e in inner):  # as is `x[()]`
            return body.make("view", (value,), id(node), node)
        last_index, position = inner[-1], constant(inner[-1])
        if len(inner) == 1 and type(position) is int and value.op in ("tuple", "parts", "unbound"):
            return self.part(
                body, value, position, value.info[0] or 2 if value.op == "parts" else len(value.args), node
            )
        before = inner[:-1]
        whole = all(constant(e) is ... or _is_full(e) for e in before)
        if before and whole and (len(before) > 1 or constant(before[0]) is ...):  # all but the last dimension
            if last_index.__class__ is ast.Slice:
                return body.make("slice", (value, *bounds[-1]), None, node)
            if type(position) is int:
                return body.make("index", (value,), (position, -1), node)
        flat = [v for b in bounds for v in (b if b.__class__ is list else (b,))]
        return body.make("item", (value, *flat), tuple(b.__class__ is list for b in bounds), node)

    # ---- calls

    def call(self, body: Body, node: ast.Call) -> Value:
        func: Node = node.func
        if any(a.__class__ is ast.Starred for a in node.args) or any(k.arg is None for k in node.keywords):
            given: Iterable[Node] = (*node.args, *(k.value for k in node.keywords))
            for part in given:
                body.value(part.value if part.__class__ is ast.Starred else part)
            if func.__class__ is ast.Attribute and func.attr in (*_VIEWS, "transpose"):  # x.view(*shape)
                return body.make("view", (body.value(func.value),), id(node), node)
            return body.opaque(node)
        name = dotted(func)
        root = name.partition(".")[0]
        if name == "map" and len(node.args) == 2:
            return body.make("mapped", (body.value(node.args[1]),), id(node), node)
        args = [body.value(a) for a in node.args]
        keywords = {k.arg: body.value(k.value) for k in node.keywords if k.arg is not None}
        if name and root not in body.env:
            full = self.resolve(name)
            if full is not None:
                return self._resolved(body, full, args, keywords, node)
            if name == root and (result := self._enter(body, name, None, args, keywords)) is not None:
                return result
        if func.__class__ is ast.Attribute:
            receiver = body.value(func.value)
            if receiver.op == "leaf" and receiver.info[1] in ("self", "cls"):
                return self._member(body, func.attr, args, keywords, node)
            operation = self._operation(body, func.attr, [receiver, *args], keywords, node)
            return operation or body.make("call", (receiver, *args, *keywords.values()), (func.attr, id(node)), node)
        if func.__class__ is ast.Call and (made := called(self, body, func, args, node)):
            return made
        return body.make("call", (*args, *keywords.values()), (name, id(node)), node)

    def _resolved(self, body: Body, full: str, args: list[Value], keywords: _Keywords, node: Node) -> Value:
        function_name = full.rpartition(".")[2]
        operation = self._operation(body, function_name, args, keywords, node) if full.startswith(_ROOTS) else None
        if operation is None and function_name == "rearrange" and args:
            operation = body.make("view", (args[0],), id(node), node)
        return operation or body.make("call", (*args, *keywords.values()), (full, id(node)), node)

    def _applied(self, body: Body, function: Node, to: Value) -> Value:
        """One result of `map(function, ...)`."""
        if function.__class__ is ast.Lambda:
            return body.within(function, to) if len(function.args.args) == 1 else body.opaque(function)
        result = self._enter(body, function.id, None, [to], {}) if function.__class__ is ast.Name else None
        return result or body.make("call", (to,), (dotted(function), id(function)), function)

    def _enter(self, body: Body, name: str, owner: Owner, args: list[Value], keywords: _Keywords) -> Value | None:
        function = self.functions.get((owner, name))
        if function is None:
            return None
        static = any(getattr(d, "id", "") == "staticmethod" for d in function.decorator_list)
        if owner and not static:
            args = [body.env.get("self") or body.make("leaf", (), ("parameter", "self"), function), *args]
        given = given_to(function, args, keywords, body.make)
        return body.enter(function, given) if given is not None else None

    def _member(self, body: Body, name: str, args: list[Value], keywords: _Keywords, node: Node) -> Value:
        """The value of `self.name(...)`: a method of the class, or a module in an attribute."""
        if (result := self._enter(body, name, body.owner, args, keywords)) is not None:
            return result
        values: Sequence[Node] = self.members(body.owner).get(name, ()) if body.owner is not None else ()
        if len(values) == 1 and values[0].__class__ is ast.Call:
            made = called(self, body, values[0], args, node, name)
            if made is not None:
                return made
        if "drop" in name.lower() and args:
            return body.make("dropout", tuple(args), (name, id(node)), node)
        return body.make("call", (*args, *keywords.values()), (f"self.{name}", id(node)), node)

    def _operation(self, body: Body, name: str, args: list[Value], keywords: _Keywords, node: Node) -> Value | None:
        name, spelt = name.rstrip("_") if not name.startswith("_") else name, name
        name = _ALIASES.get(name, name)
        if not args:
            args = [keywords[k] for k in ("input", "x", "tensors", "query") if k in keywords][:1]
        if not args:
            return None

        call = Call(name, spelt, args, keywords, node)
        result = self._arithmetic(body, call)
        return named(body, call) if result is _OTHER else result

    def _arithmetic(self, body: Body, call: Call) -> Value | None:
        """The value of arithmetic, casts and views; `_OTHER` for all other operations."""
        name, spelt, args, keywords, node = call
        first, make, get, plain = args[0], body.make, call.get, call.plain
        if name in _BINARY:
            other = get(1, "other", "exponent", "mat2")
            if other is None or "alpha" in keywords:
                return None
            if spelt in ("mm", "bmm"):  # these names also give the number of dimensions
                return make("matmul", (first, other), spelt, node)
            return self.binary(body, name, first, other, node)
        if name == "reciprocal" and first.op == "sqrt":
            return make("rsqrt", first.args, None, node)
        if name in _UNARY:
            return make(name, (first,), None, node)
        if name in _CASTS:
            kind = get(1, "dtype", "device")
            return make("cast", (first, *((kind,) if kind is not None else ())), name, node)
        if name in _VIEWS:
            return sized(body, "view", first, id(node), args[1:], node)
        if name in _TRANSPOSES:
            return make("transpose", (first,), (plain(1, -2), plain(2, -1)), node)
        return _OTHER


def _is_full(node: Node) -> bool:
    return node.__class__ is ast.Slice and node.lower is None and node.upper is None and node.step is None
