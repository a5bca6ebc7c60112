"""What a step reads: the names of its batch where a line goes, only those that are bound there."""

from __future__ import annotations

import ast

from porter.analysis.file import File
from porter.instrument.naming import functions_around, is_model, is_optimizer, names_in, runs_before
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors, walk
from porter.python.parameters import parameters
from porter.regex import lazy
from porter.training.context import Context
from porter.training.frequency import counts_epochs
from porter.training.loops import loops_around

_FETCHES = lazy(
    r"^next$|^batch$|(?:^|_)(?:get|next|fetch|sample|make|draw|load|random)_?(?:\w*_)?batch|^get_batch|next_batch"
)
_DATA = lazy(r"(?i)batch|data|input|image|^imgs?$|^[xy]$|target|label|sample|token")
_COMPUTED = lazy(
    r"(?i)loss|size|time|logit|pred|output|score|fake|recon|embed|feat|hidden|grad|norm|acc|idx|index|num|len"
)
_LIBRARIES = ("torch.", "numpy.", "random.")
# of a tensor or an array: nothing that a device may round otherwise than by the last bit
_METHODS = frozenset(
    """abs astype bfloat16 bool chunk clamp clip clone contiguous copy cos cpu cuda detach double exp expand flatten flip float
    gather get half index_select int items log long mean npu numpy permute pin_memory pop repeat requires_grad_ reshape roll
    round sin size split sqrt squeeze std t to tolist transpose type unflatten unsqueeze view""".split()
)
_PLAIN = frozenset("dict enumerate float int len list max min next range reversed sorted sum tuple zip".split())
# what is handed to these is of the host
_MAKES = frozenset("tensor as_tensor from_numpy array asarray LongTensor FloatTensor IntTensor BoolTensor".split())


def batch_at(file: File, place: Link, model: str = "") -> str:
    """The names of what a step works on."""
    loops = loops_around(place)
    for loop in loops:
        if loop.__class__ is ast.For and not counts_epochs(loop) and (names := _targets(loop)):
            return _tuple(names)
    links = [link for link in file.buckets[ast.Assign] if _fetches(link[0].value) and runs_before(link, place)]
    fetched = [link for link in links if Context.function(link) == Context.function(place)]
    if fetched:
        last = max((link[0] for link in fetched), key=lambda node: node.lineno)
        return _tuple(list(names_in(last.targets[0])))
    if loops:
        return _tuple(next((names for loop in loops if (names := _assembled(file, place, loop, model))), []))
    if functions := functions_around(place):
        return _tuple([name for name in parameters(functions[0]) if _DATA.search(name)])
    return ""


def _targets(loop: ast.For) -> list[str]:
    source: Node = loop.iter
    target: Node = loop.target
    words = {call_name(n.func) for n in walk(source) if n.__class__ is ast.Call}
    if not words.isdisjoint({"range", "trange", "parameters", "items", "keys", "values"}) or is_optimizer(target):
        return []
    if "enumerate" in words and target.__class__ is ast.Tuple and len(target.elts) == 2:
        target = target.elts[1]
    return list(names_in(target))


def _fetches(value: Node) -> bool:
    call = next((n for n in walk(value) if n.__class__ is ast.Call and _FETCHES.search(call_name(n.func))), None)
    return call is not None


def _tuple(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})" if names else ""


def _assembled(file: File, place: Link, loop: Node, model: str) -> list[str]:
    """What the body of a loop puts together itself: `x = images[order[at : at + size]].to(device)`."""
    made: dict[str, bool] = {}
    inside = [link for link in file.buckets[ast.Assign] if _is_in(link, loop) and link[0].lineno < place[0].lineno]
    for link in sorted(inside, key=lambda link: link[0].lineno):
        for name, value in _pairs(link[0]):
            is_fine = _is_data(file, value, link)
            made[name] = made.get(name, is_fine) and is_fine and (name in made or runs_before(link, place))
    gone = {n.id for s in walk(loop) if s.__class__ is ast.Delete for n in walk(s) if n.__class__ is ast.Name}
    handed = _handed(file, loop, model)
    names = [name for name, is_fine in made.items() if is_fine and name not in gone]
    return [name for name in names if name in handed or _DATA.search(name) and not _COMPUTED.search(name)]


def _is_in(link: Link, loop: Node) -> bool:
    return any(above[0] is loop for above in ancestors(link))


def _pairs(assign: ast.Assign) -> list[tuple[str, Node]]:
    """Each name with what it gets."""
    target: Node = assign.targets[0]
    value: Node = assign.value
    if target.__class__ is value.__class__ is ast.Tuple and len(target.elts) == len(value.elts):
        return [(name, part) for one, part in zip(target.elts, value.elts) for name in names_in(one)]
    return [(name, value) for name in names_in(target)]


def _handed(file: File, loop: Node, model: str) -> set[str]:
    """The names within what the model is called with."""
    calls = [link[0] for link in file.buckets[ast.Call] if _is_in(link, loop) and ast.unparse(link[0].func) == model]
    given = [part for call in calls for part in (*call.args, *(keyword.value for keyword in call.keywords))]
    return {node.id for part in given for node in walk(part) if node.__class__ is ast.Name}


def _is_data(file: File, value: Node, link: Link) -> bool:
    """Whether an expression takes from data, and no net computes it: what it gives has the same bits on every device."""
    if value.__class__ is ast.Constant:
        return False
    calls = [node for node in walk(value) if node.__class__ is ast.Call]
    of_the_host = {id(n) for call in calls if call_name(call.func) in _MAKES for part in call.args for n in walk(part)}
    return all(_is_plain(file, call, link) for call in calls if id(call) not in of_the_host)


def _is_plain(file: File, call: Node, link: Link) -> bool:
    name = call_name(call.func)
    if (full := file.names.resolve(call.func, link)) and full.startswith(_LIBRARIES):
        return not full.startswith("torch.nn.") or full.startswith("torch.nn.functional.")
    if call.func.__class__ is ast.Name:
        return name in _PLAIN or bool(_FETCHES.search(name))
    root = call.func
    while root.__class__ in (ast.Attribute, ast.Call, ast.Subscript):
        root = root.func if root.__class__ is ast.Call else root.value
    return name in _METHODS and not (root.__class__ is ast.Name and (root.id == "self" or is_model(root)))
