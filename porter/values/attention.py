"""Finds attention among the values of a function: a softmax between two products of tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.regex import lazy
from porter.values.layouts import is_alone, of_channels
from porter.values.learnt import is_learnt
from porter.values.one_head import has_one_head
from porter.values.value import Value
from porter.values.views import Users, base, unshaped

# names of masks
_MASK = lazy(r"(?i)mask|causal|triu|tril|padding")
_BIAS = lazy(r"(?i)bias|rel_?pos|alibi")  # names of values that are added to scores
_LEAST = -1e4  # a number that is this small, or smaller, masks a score
# functions that limit scores
_LIMITS = frozenset({"clamp", "clamp_min", "clip", "max", "maximum", "nan_to_num"})
_ACTIVATIONS = frozenset({"tanh", "relu", "gelu", "silu", "sigmoid"})  # operations of a small network that makes scores
_MANY = 200  # values that are looked at
SHAPES = ("view", "cast", "transpose")  # operations that keep the elements
_STEPS = ("mul", "div", "add", "sub", "masked_fill", "where", "choice")  # from a product to the scores


def find(softmax: Value, users: Users) -> Iterator[tuple[str, Value | None, dict[str, Value]]]:
    """(message, value that one operator would compute, parts). The message is "unfit" where an operator would lose something."""
    if softmax.info not in (-1, 2, 3, None):
        return
    scores = _Scores()
    scores.read(softmax.args[0])
    if scores.product is None or scores.odd or _of_network(scores.product):
        return
    outputs = [] if _read_elsewhere(softmax, users, set()) else list(products(softmax, users, set()))
    if len(outputs) != 1 or _of_channels(scores.product, outputs[0], softmax):
        return
    if _has_other_width(scores.product, outputs[0]):
        return
    if all(outputs[0] in products(s, users, set()) for s in _softmaxes(scores.product, users)):
        yield _message(scores, scores.product, softmax, users), outputs[0], scores.parts | {"scores": scores.product}


def _message(scores: _Scores, product: Value, softmax: Value, users: Users) -> str:
    given_back = _is_returned(softmax, users) or _is_returned(product, users, _STEPS)  # no operator returns them
    if scores.biased:
        return "unfit" if given_back or any(is_learnt(bias, users.body) for bias in scores.biases) else "biased"
    if has_one_head(product, softmax, users.body):
        return "one-head"
    return "returned" if given_back else "written-out"


def _softmaxes(value: Value, users: Users) -> Iterator[Value]:
    """All softmaxes that get these scores. Two of them with two products are attention in both directions, which computes the
    scores once."""
    known, stack = {value}, [value]
    while stack and len(known) < _MANY:
        for user in users.of(stack.pop()):
            if user.op == "softmax":
                yield user
            elif user not in known and user.op in (*SHAPES, *_STEPS, "call"):
                known.add(user)
                stack.append(user)


def _of_channels(scores: Value, product: Value, softmax: Value) -> bool:
    """Whether this is attention between channels, `(q.transpose(-2, -1) @ k).softmax(-1) @ v`, or each query has its own keys."""
    if of_channels(scores) or is_alone(scores):
        return True
    if product.op == "matmul" and _under(product.args[1], ("dropout",)) is softmax:
        return True  # `v @ weights` sums over another dimension than the softmax
    first, second = map(base, scores.args[:2])
    left = _under(product.args[0], (*SHAPES, "dropout"), softmax)
    return scores.op == "matmul" and first.op == "transpose" and second.op != "transpose" and left is softmax


def _has_other_width(scores: Value, product: Value) -> bool:
    """Whether the values are wider than the queries, which no operator takes: `q.view(b, c // 8, n)`, `v.view(b, c // 2, n)`."""
    narrow, wide = ([part for side in of.args[:2] for part in _divided(side)] for of in (scores, product))
    return any(a != b and whole == same for whole, a in narrow for same, b in wide)


def _divided(value: Value) -> Iterator[tuple[str, object]]:
    """`("c", 8)` for `c // 8` among the sizes that a value was given."""
    value = base(value)
    while value.op in SHAPES and value.args:
        for size in value.node.args if value.node.__class__ is ast.Call else ():
            match size:
                case ast.BinOp(op=ast.FloorDiv(), right=ast.Constant(value=by)):
                    yield ast.unparse(size.left), by
        value = base(value.args[0])


def _of_network(product: Value) -> bool:
    """Whether a small network makes the scores, and no product of queries and keys: `tanh(x @ w) @ v`."""
    return any(unshaped(side).op in _ACTIVATIONS for side in product.args[:2])


def _under(value: Value, through: tuple[str, ...], until: Value | None = None) -> Value:
    value = base(value)
    while value.op in through and value is not until:
        value = base(value.args[0])
    return value


class _Scores:
    """Reads what is computed between a product and its softmax."""

    def __init__(self) -> None:
        self.product: Value | None = None
        self.biased = self.odd = False  # odd: something that attention does not have
        self.biases: list[Value] = []
        self.parts: dict[str, Value] = {}
        self._visited: set[Value] = set()

    def read(self, value: Value) -> None:
        value = base(value)
        if value in self._visited:
            return
        self._visited.add(value)
        op = value.op
        if is_product(value):
            self.odd |= self.product is not None and not _is_same(self.product, value)
            self.product = value
        elif op in SHAPES or op == "choice":
            for arg in value.args if op == "choice" else value.args[:1]:
                self.read(arg)
        elif op in ("mul", "div"):
            self._side(value, scale=True)
        elif op in ("add", "sub"):
            self._side(value, scale=False)
        elif op == "masked_fill":
            self.parts["mask"] = value.args[1]
            self.read(value.args[0])
        elif op == "where":
            inner = [v for v in value.args[1:] if holds_product(v)]
            if len(inner) == 1:
                self.read(inner[0])
        elif op == "call":
            self._call(value)

    def _call(self, value: Value) -> None:
        """Reads a function of the scores. A limit, a mask or a bias is a known step, anything else is odd."""
        name, holding = str(value.info[0]).rpartition(".")[2], [a for a in value.args if holds_product(a)]
        known = name in _LIMITS or _BIAS.search(name) or _MASK.search(name)
        self.biased |= bool(_BIAS.search(name))
        self.biases += [a for a in value.args if a not in holding]
        self.odd |= bool(holding) and not known
        for arg in holding if known else ():
            self.read(arg)

    def _side(self, value: Value, scale: bool) -> None:
        if value.op == "sub" and _is_maximum(value.args[1], base(value.args[0])):
            self.read(value.args[0])
            return
        if value.op == "sub" and holds_product(value.args[1]):
            self.odd = True  # the least similar would have most weight
            return
        with_product = [a for a in value.args if holds_product(a)]
        if len(with_product) != 1:
            self.odd |= len(with_product) > 1
            return
        other = next(a for a in value.args if a is not with_product[0])
        if not scale and not is_mask(other) and other.op != "const":
            self.biased |= value.op != "sub" or other.op not in ("call", "item", "attribute", "view")
            self.biases.append(other)
        self.read(with_product[0])


def _is_same(product: Value, other: Value) -> bool:
    """Whether two products are the same, except for casts of their factors."""
    pairs = zip(product.args, other.args)
    return (product.op, product.info, len(product.args)) == (other.op, other.info, len(other.args)) and all(
        base(a) is base(b) for a, b in pairs
    )


def _is_maximum(value: Value, scores: Value) -> bool:
    """Whether a value is the maximum of the scores, which may be subtracted: `x.amax(-1, keepdim=True)`, `x.max(-1)[0]`."""
    has_maximum = False
    while value.op in ("call", "item", "attribute", *SHAPES) and value.args:
        has_maximum |= value.op == "call" and str(value.info[0]).rpartition(".")[2] in ("amax", "max")
        value = base(value.args[0])
    return has_maximum and value is scores


def is_product(value: Value) -> bool:
    """Whether a value is a product of two tensors that are no parameters of the module."""
    if value.op == "einsum":
        return len(value.args) == 2 and not any(map(_is_parameter, value.args))
    if value.op == "baddbmm":
        return True
    return value.op == "matmul" and value.info != "mm" and not any(map(_is_parameter, value.args))


def _is_parameter(value: Value, depth: int = 0) -> bool:
    """Whether a value is a parameter of a module, on each way: `weight = self.fc.weight.t()`, `weight = weight * self.diagonal`."""
    value = unshaped(value)
    if value.op in ("mul", "choice") and value.args and depth < 4:
        return all(_is_parameter(arg, depth + 1) for arg in value.args)
    return value.op == "leaf" and value.info[0] == "attribute" or value.op == "attribute" and value.info == "weight"


def holds_product(value: Value) -> bool:
    """Whether a value is computed from a product by the steps of attention."""
    known: set[Value] = set()
    stack = [value]
    while stack:
        value = base(stack.pop())
        if value in known:
            continue
        known.add(value)
        if is_product(value):
            return True
        if value.op in (*SHAPES, *_STEPS, "call"):
            stack += value.args
    return False


def is_mask(value: Value, depth: int = 0) -> bool:
    """Whether a value is a mask, by its computation or by names in it."""
    value = base(value)
    if value.op in ("masked_fill", "where", "compare", "not"):
        return True
    if value.op == "leaf":
        return bool(_MASK.search(value.info[1]))
    name = value.info if value.op == "attribute" else value.info[0] if value.op in ("call", "module") else ""
    if isinstance(name, str) and _MASK.search(name) or value.op == "const" and value.info is None:
        return True
    return depth < 4 and any(is_mask(a, depth + 1) for a in value.args[:4])


def products(value: Value, users: Users, known: set[Value]) -> Iterator[Value]:
    """The products that use the weights, through casts, dropout and changes of shape."""
    for user in users.of(value):
        if user in known:
            continue
        known.add(user)
        if user.op in (*SHAPES, "dropout", "choice"):
            yield from products(user, users, known)
        elif is_product(user):
            yield user


def _read_elsewhere(value: Value, users: Users, known: set[Value]) -> bool:
    """Whether the weights are also used for anything but a product: mixed, cut up, or passed to a module."""
    for user in users.of(value):
        if user in known:
            continue
        known.add(user)
        if user.op in (*SHAPES, "dropout", "choice"):
            if _read_elsewhere(user, users, known):
                return True
        elif not is_product(user) and user.op not in ("tuple", "attribute", "masked_fill", "compare"):
            if not any(u.op == "choice" and value in u.args for u in users.of(user)):  # heads that may be masked
                return True
        elif user.op in ("matmul", "einsum") and any(map(_is_parameter, user.args)):
            return True
    return False


def _is_returned(weights: Value, users: Users, through: tuple[str, ...] = ("dropout", "choice")) -> bool:
    """Whether the function returns the weights, alone or beside the result."""
    returned = {part for value in users.body.returned for part in (value, *(value.args if value.op == "tuple" else ()))}
    known, stack = {weights}, [weights]
    while stack:
        value = stack.pop()
        if value in returned:
            return True
        following = [u for u in users.of(value) if u not in known]
        steps = [u for u in following if u.op in (*SHAPES, *through) or u.op == "call" and u.info[0] == "detach"]
        known.update(steps)
        stack += steps
    return False


def is_least(value: Value) -> bool:
    """Whether a value is small enough to mask a score: minus infinity, the minimum of a type, -10000."""
    if value.op == "const":
        return isinstance(value.info, (int, float)) and value.info <= _LEAST
    if value.op == "neg":
        inner = value.args[0]
        named = inner.op == "leaf" and inner.info[1] in ("torch.inf", "math.inf", "numpy.inf")
        return named or inner.op == "attribute" and inner.info == "max" or _is_infinity(inner, "inf")
    return value.op == "attribute" and value.info == "min" or _is_infinity(value, "-inf")


def _is_infinity(value: Value, text: str) -> bool:
    return value.op == "call" and value.info[0] == "float" and value.args[:1] != () and value.args[0].info == text
