"""Attention among the values of a function: a softmax between two products of tensors."""

from __future__ import annotations

from collections.abc import Iterator

from porter.regex import lazy
from porter.values.layouts import is_alone, of_channels
from porter.values.learnt import is_learnt
from porter.values.value import Value
from porter.values.views import Users, base, unshaped

_MASK = lazy(r"(?i)mask|causal|triu|tril|padding")
_BIAS = lazy(r"(?i)bias|rel_?pos|alibi")
_LEAST = -1e4
_LIMITS = frozenset({"clamp", "clamp_min", "clip", "max", "maximum", "nan_to_num"})
_ACTIVATIONS = frozenset({"tanh", "relu", "gelu", "silu", "sigmoid"})
_MANY = 200  # values looked at
SHAPES = ("view", "cast", "transpose")


def find(softmax: Value, users: Users) -> Iterator[tuple[str, Value | None, dict[str, Value]]]:
    """(message, what takes its place, parts). The message is "unfit" where one operator would lose something."""
    if softmax.info not in (-1, 2, 3, None):
        return
    scores = _Scores()
    scores.read(softmax.args[0])
    if scores.product is None or scores.odd or _of_network(scores.product):
        return
    outputs = [] if _read_elsewhere(softmax, users, set()) else list(products(softmax, users, set()))
    if len(outputs) != 1 or _of_channels(scores.product, outputs[0], softmax):
        return
    if all(outputs[0] in products(s, users, set()) for s in _softmaxes(scores.product, users)):
        yield _message(scores, softmax, users), outputs[0], scores.parts | {"scores": scores.product}


def _message(scores: _Scores, softmax: Value, users: Users) -> str:
    given_back = _is_returned(softmax, users)  # no operator gives the weights
    if scores.biased:
        return "unfit" if given_back or any(is_learnt(bias, users.body) for bias in scores.biases) else "biased"
    return "returned" if given_back else "written-out"


def _softmaxes(value: Value, users: Users) -> Iterator[Value]:
    """Those that scores go into: two of them for two products are attention both ways, which computes the scores once."""
    known, stack = {value}, [value]
    while stack and len(known) < _MANY:
        for user in users.of(stack.pop()):
            if user.op == "softmax":
                yield user
            elif user not in known and user.op in (
                *SHAPES,
                "mul",
                "div",
                "add",
                "sub",
                "masked_fill",
                "where",
                "choice",
                "call",
            ):
                known.add(user)
                stack.append(user)


def _of_channels(scores: Value, product: Value, softmax: Value) -> bool:
    """`(q.transpose(-2, -1) @ k).softmax(-1) @ v`: every channel looks at the others. Or a position at a few of its own."""
    if of_channels(scores) or is_alone(scores):
        return True
    if product.op == "matmul" and _under(product.args[1], ("dropout",)) is softmax:
        return True  # `v @ weights` sums over another dimension than the softmax
    first, second = map(base, scores.args[:2])
    left = _under(product.args[0], (*SHAPES, "dropout"), softmax)
    return scores.op == "matmul" and first.op == "transpose" and second.op != "transpose" and left is softmax


def _of_network(product: Value) -> bool:
    """`tanh(x @ w) @ v`: a small network makes the scores, and no query meets a key."""
    return any(unshaped(side).op in _ACTIVATIONS for side in product.args[:2])


def _under(value: Value, through: tuple[str, ...], until: Value | None = None) -> Value:
    value = base(value)
    while value.op in through and value is not until:
        value = base(value.args[0])
    return value


class _Scores:
    """What lies between a product and its softmax."""

    def __init__(self) -> None:
        self.product: Value | None = None
        self.biased = self.odd = False
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
        """A mask or a bias by a function is one of the known steps; what else is done to scores is not."""
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
            self.odd = True  # the least alike count most
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
    """Whether two products differ in the types of what is multiplied at most."""
    pairs = zip(product.args, other.args)
    return (product.op, product.info, len(product.args)) == (other.op, other.info, len(other.args)) and all(
        base(a) is base(b) for a, b in pairs
    )


def _is_maximum(value: Value, scores: Value) -> bool:
    """`x.amax(-1, keepdim=True).detach()`, `x.max(-1)[0]`: what every score may be lowered by."""
    has_maximum = False
    while value.op in ("call", "item", "attribute", *SHAPES) and value.args:
        has_maximum |= value.op == "call" and str(value.info[0]).rpartition(".")[2] in ("amax", "max")
        value = base(value.args[0])
    return has_maximum and value is scores


def is_product(value: Value) -> bool:
    """Of two tensors of which none is a parameter of the module."""
    if value.op == "einsum":
        return len(value.args) == 2 and not any(map(_is_parameter, value.args))
    if value.op == "baddbmm":
        return True
    return value.op == "matmul" and value.info != "mm" and not any(map(_is_parameter, value.args))


def _is_parameter(value: Value) -> bool:
    value = unshaped(value)
    return value.op == "leaf" and value.info[0] == "attribute" or value.op == "attribute" and value.info == "weight"


def holds_product(value: Value) -> bool:
    known: set[Value] = set()
    stack = [value]
    while stack:
        value = base(stack.pop())
        if value in known:
            continue
        known.add(value)
        if is_product(value):
            return True
        if value.op in ("mul", "div", "add", "sub", "masked_fill", "where", "choice", "call", *SHAPES):
            stack += value.args
    return False


def is_mask(value: Value, depth: int = 0) -> bool:
    """By how it was made, or what it is called where it comes from."""
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
    """The products that the weights go into, through casts, dropout and changes of shape."""
    for user in users.of(value):
        if user in known:
            continue
        known.add(user)
        if user.op in (*SHAPES, "dropout", "choice"):
            yield from products(user, users, known)
        elif is_product(user):
            yield user


def _read_elsewhere(value: Value, users: Users, known: set[Value]) -> bool:
    """Whether something else than one product is made of the weights: they are mixed, cut up, or handed to a module."""
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


def _is_returned(weights: Value, users: Users) -> bool:
    """Whether the function gives back what the softmax makes, alone or beside the result."""
    returned = {part for value in users.body.returned for part in (value, *(value.args if value.op == "tuple" else ()))}
    known, stack = {weights}, [weights]
    while stack:
        value = stack.pop()
        if value in returned:
            return True
        steps = [u for u in users.of(value) if u.op in (*SHAPES, "dropout", "choice") and u not in known]
        known.update(steps)
        stack += steps
    return False


def is_least(value: Value) -> bool:
    """What is added to or put for a score that shall not count."""
    if value.op == "const":
        return isinstance(value.info, (int, float)) and value.info <= _LEAST
    if value.op == "neg":
        inner = value.args[0]
        named = inner.op == "leaf" and inner.info[1] in ("torch.inf", "math.inf", "numpy.inf")
        return named or inner.op == "attribute" and inner.info == "max" or _is_infinity(inner, "inf")
    return value.op == "attribute" and value.info == "min" or _is_infinity(value, "-inf")


def _is_infinity(value: Value, text: str) -> bool:
    return value.op == "call" and value.info[0] == "float" and value.args[:1] != () and value.args[0].info == text
