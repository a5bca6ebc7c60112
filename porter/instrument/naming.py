"""What the model and the loss are called where a line goes: only names that are bound there."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from porter.analysis.file import File
from porter.python.evidence import target_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.parameters import parameters
from porter.regex import lazy
from porter.training.context import Context
from porter.training.loops import loops_around

_OPTIMIZER = lazy(r"(?i)optim|(?:^|_)opt(?:_|\d*$)|[a-z]Opt$|^opt[A-Z_]|_?opt$|adam|sgd|lbfgs|solver$")
_NO_OPTIMIZER = lazy(r"(?i)sched|^lr_|_lr$|prof|env|option|options$")
_MODEL = lazy(r"(?i)model|net(?:work)?(?:_?[a-z0-9])?$|^net|module$|transformer|encoder$|policy|^ddp|classifier")
_NO_MODEL = lazy(
    r"(?i)crit|loss|optim|sched|scaler|tokenizer|loader|accelerat|^log|metric|meter|ema|teacher|dataset|self$"
)
_OF_MODEL = frozenset("train parameters zero_grad named_parameters state_dict module to cuda npu".split())
_COUNTS = lazy(r"(?:_\w*|[ijkn]|idx|index|it|iter\w*|step|epoch|batch_(?:idx|id|index|num|i))$")
_CALLED, _ASKED = "called", "asked"
_PLAIN_CALLS = frozenset({"mean", "sum"})


def is_optimizer(node: Node) -> bool:
    name = target_name(node)
    if node.__class__ is ast.Subscript:
        return is_optimizer(node.value)
    return bool(_OPTIMIZER.search(name)) and not _NO_OPTIMIZER.search(name)


def text_of(file: File, node: Node) -> str:
    """As it is written, on one line."""
    start, end = file.source.span(node)
    text = file.source.utf8[start:end].decode("utf-8")
    return text if "\n" not in text and "\r" not in text else ast.unparse(node)


def is_cheap(node: Node) -> bool:
    """Whether to compute an expression again costs nothing and changes nothing."""
    kind = node.__class__
    if kind in (ast.Name, ast.Constant):
        return True
    if kind is ast.Attribute:
        return is_cheap(node.value)
    if kind is ast.Subscript:
        return is_cheap(node.value) and is_cheap(node.slice)
    if kind is ast.UnaryOp:
        return is_cheap(node.operand)
    if kind is ast.BinOp:
        return is_cheap(node.left) and is_cheap(node.right)
    if kind is ast.Call and not node.args and not node.keywords and node.func.__class__ is ast.Attribute:
        return node.func.attr in _PLAIN_CALLS and is_cheap(node.func.value)
    return False


def statement_of(link: Link) -> Link:
    while not isinstance(link[0], ast.stmt):
        link = link[1]
    return link


def functions_around(link: Link) -> list[Node]:
    return [above[0] for above in ancestors(link) if above[0].__class__ in FUNCTIONS[:2]]


def runs_before(link: Link, place: Link) -> bool:
    """Whether a statement has run wherever another one of the same function runs."""
    around = {id(above[0]) for above in ancestors(place)}
    statement = statement_of(link)
    if statement[0].lineno >= place[0].lineno:
        return False
    holder = statement[1]
    while holder[0].__class__ in (ast.With, ast.AsyncWith, ast.Try) and id(holder[0]) not in around:
        holder = holder[1]
    return id(holder[0]) in around


def model_at(file: File, place: Link, optimizer: str = "") -> str:
    """ "" where nothing is certainly the model: then it is looked for when the program runs."""
    functions, loop = functions_around(place), next(iter(loops_around(place)), None)
    bound = {name for function in functions for name in parameters(function)}
    signs: dict[str, set[str]] = {}
    for link in file.buckets[ast.Call]:
        node, sign = _model_in(link[0])
        around = Context.function(link)
        if node is None or not (around[0] in functions if around is not None else not functions):
            continue
        name = ast.unparse(node)
        if runs_before(link, place) or name.startswith("self.") and "self" in bound:
            bound.add(name)
        if sign != _CALLED or loop is None or loop in [above[0] for above in ancestors(link)]:
            signs.setdefault(name, set()).add(sign)
    moved = _moved(file, optimizer, place)
    if moved in bound:
        return moved
    scores = Counter({n: 2 * len(found) + 2 * bool(_MODEL.search(n.rpartition(".")[2])) for n, found in signs.items()})
    best = [*scores.most_common(2), ("", 0), ("", 0)]
    return best[0][0] if best[0][1] >= 4 and best[0][1] > best[1][1] and best[0][0] in bound else ""


def _moved(file: File, optimizer: str, place: Link) -> str:
    """`model` where the optimiser is made of `model.parameters()`."""
    for link in file.buckets[ast.Assign]:
        made = link[0].value
        if ast.unparse(link[0].targets[0]) == optimizer and made.__class__ is ast.Call and made.args:
            parts = [n.func.value for n in walk(made.args[0]) if n.__class__ is ast.Call and _asks_weights(n.func)]
            names = {ast.unparse(part) for part in parts}
            return names.pop() if len(names) == 1 and is_cheap(parts[0]) else ""
    return ""


def _asks_weights(func: Node) -> bool:
    return func.__class__ is ast.Attribute and func.attr in ("parameters", "named_parameters")


def _model_in(call: Node) -> tuple[Node | None, str]:
    """What a call calls, or asks for something that modules have."""
    node, sign = call.func, _CALLED
    if node.__class__ is ast.Attribute and node.attr in _OF_MODEL:
        node, sign = node.value, _ASKED
    is_own = node.__class__ is ast.Attribute and getattr(node.value, "id", "") == "self"
    if node.__class__ is not ast.Name and not is_own or _NO_MODEL.search(target_name(node)):
        return None, ""
    if sign == _CALLED and not is_own and not _MODEL.search(target_name(node)):
        return None, ""  # any function
    return node, sign


def is_model(node: Node) -> bool:
    return bool(_MODEL.search(target_name(node)))


def names_in(target: Node) -> Iterator[str]:
    if target.__class__ is ast.Name and not _COUNTS.match(target.id):
        yield target.id
    for part in target.elts if target.__class__ in (ast.Tuple, ast.List) else ():
        yield from names_in(part)


def optimizers_loop(receiver: Node, place: Link) -> Link | None:
    """`for optimizer in optimizers: optimizer.step()`: the loop, which is one step."""
    for above in ancestors(place):
        if above[0].__class__ is ast.For:
            return above if getattr(receiver, "id", "") in {*names_in(above[0].target)} else None
        if above[0].__class__ in FUNCTIONS:
            break
    return None
