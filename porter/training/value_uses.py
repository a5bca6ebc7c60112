"""Finds what the value of a call is used for, and whether the host waits for it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import BODIES, once, place, within
from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, ancestors, walk
from porter.python.waits import READS
from porter.python.walks import children
from porter.regex import lazy
from porter.rulebook.table import hints
from porter.training.made_there import is_factory, is_given_there
from porter.training.numpy_arrays import made_by
from porter.training.placement import HOST, NUMBER, UNKNOWN

if TYPE_CHECKING:
    from porter.python.names import Names
    from porter.training.protocols import AnyScene

SIZED = hints("wants-a-size")
MOVES = frozenset({"to", "cuda", "npu", "type_as"})
# names of values that must be on the host: actions, lengths
_WANTED = lazy(r"(?i)actions?$|(?:lens|lengths?)(?:_|$)")
_SAME = frozenset({"detach", "mean", "sum", "data", "float", "clone"})  # `bare` looks through these
# text of a function that may make a tensor on the host
_MADE = lazy(
    rb"\.(?:rand|zeros|ones|empty|full|arange|linspace|logspace|eye|\w*[tT]ensor|from_numpy|numpy|tri[lu]_indices|normal)\w*\b"
    rb"|cpu|np\.|mesh\.mesh\b"
)


def waits_again(link: Link) -> bool:
    """Whether a later part of the chain waits as well: `.cpu()` in `loss.cpu().numpy()`."""
    child = link[0]
    for above in ancestors(link):
        node = above[0]
        if node.__class__ is ast.Attribute:
            if node.attr in READS and getattr(above[1][0], "func", None) is node:
                return True
        elif node.__class__ is not ast.Call or node.func is not child:
            return False
        child = node
    return False


def is_size(names: Names, link: Link) -> bool:
    """Whether the value of a call becomes the size of a tensor, directly or by one name."""
    call = link[1]
    if _sized(call):
        return True
    above = call[1] and call[1][0]
    if above.__class__ is ast.Call and call_name(above.func) == "int":
        call, above = call[1], call[1][1][0]
    if above.__class__ is not ast.Assign or len(above.targets) != 1 or above.targets[0].__class__ is not ast.Name:
        return False
    name = above.targets[0]
    uses = names.readers(name.id, (name, call[1]))
    return names.once("sized", uses, lambda: any(map(_sized, uses)))


def _sized(link: Link) -> bool:
    child = link[0]
    for above in ancestors(link):
        node = above[0]
        if node.__class__ is ast.Slice:
            return True
        if node.__class__ is ast.Call:
            if node.func is child:
                return False
            if call_name(node.func) in SIZED and within(node, child, "args"):
                return call_name(node.func) not in ("full", "new_full", "linspace") or child is node.args[0]
            if call_name(node.func) not in ("int", "max", "min"):
                return False
        elif node.__class__ not in (ast.BinOp, ast.Tuple, ast.List):
            return False
        child = node
    return False


def hands_on(call: ast.Call, names: set[str]) -> bool:
    """Whether one of these tensors is an argument itself, alone or in a text, and not as a number that is made of it."""
    return any(bare(a, names) for a in call.args)


def bare(node: Node, names: set[str]) -> bool:
    kind = node.__class__
    if kind is ast.Name:
        return node.id in names
    if kind is ast.Attribute:
        return node.attr in _SAME and bare(node.value, names)
    if kind is ast.Call:
        if node.func.__class__ is ast.Attribute and node.func.attr in _SAME:
            return bare(node.func.value, names)
        return call_name(node.func) in ("str", "format", "round") and any(bare(a, names) for a in node.args)
    if kind in (ast.JoinedStr, ast.FormattedValue, ast.Tuple, ast.BinOp):
        return any(bare(n, names) for n in children(node))
    return False


def target(link: Link) -> str:
    """The name that the value of an expression gets: of a target, a keyword, or the function that returns it; "" for none."""
    for above in ancestors(link):
        node = above[0]
        if node.__class__ is ast.Assign:
            return _last(node.targets[0])
        if node.__class__ is ast.keyword:
            return node.arg or ""
        if node.__class__ is ast.Return:
            function = next(
                (a[0] for a in ancestors(above) if a[0].__class__ in (ast.FunctionDef, ast.AsyncFunctionDef)), None
            )
            return function.name if function else ""
        if isinstance(node, ast.stmt):
            return ""
    return ""


def _last(node: Node) -> str:
    if node.__class__ is ast.Subscript:
        return str(constant(node.slice) or "")
    return getattr(node, "attr", "") or getattr(node, "id", "")


def read_by(names: Names, link: Link) -> str:
    """The functions that get the value of a call, directly or by its name: `load_state_dict` for `m.load_state_dict(...)`."""
    takers = [handed_to(link[1])]
    above = link[1][1] and link[1][1][0]
    if above.__class__ is ast.Assign and len(above.targets) == 1 and above.targets[0].__class__ is ast.Name:
        name = above.targets[0]
        uses = names.readers(name.id, (name, link[1][1]))
        takers += names.once("takers", uses, lambda: [*dict.fromkeys(map(handed_to, uses))])
    return " ".join(dict.fromkeys(taker for taker in takers if taker))


def handed_to(link: Link) -> str:
    """The last word of the function that gets an expression as an argument; "" where none does."""
    child = link[0]
    for above in ancestors(link):
        node = above[0]
        if node.__class__ is ast.Call and node.func is not child:
            return call_name(node.func)
        if isinstance(node, ast.stmt):
            return ""
        child = node
    return ""


@once
def first_wait(statement: ast.stmt) -> Node | None:
    """The function of the first call that waits for the device, in a statement or in the header of a compound one."""
    body = getattr(statement, "body", None)
    walked = (n for part in _head(statement) for n in walk(part))
    calls = [n for n in walked if n.__class__ is ast.Call and getattr(n.func, "attr", "") in READS]
    if body.__class__ is list and body:
        calls = [n for n in calls if n.lineno < body[0].lineno]
    again = {inner for call in calls for inner in _chain(call)}
    calls = [n for n in calls if n not in again]
    return min(calls, key=lambda c: (c.func.end_lineno, c.func.end_col_offset)).func if calls else None


def _head(statement: ast.stmt) -> list[Node]:
    """The parts of a statement without its blocks."""
    if getattr(statement, "body", None).__class__ is not list:
        return [statement]
    blocks = (ast.stmt, ast.ExceptHandler, ast.match_case)
    return [n for n in children(statement) if not isinstance(n, blocks)]


def made_on_host(scene: AnyScene, link: Link) -> bool:
    """Whether a value that is read was on the host before: `torch.rand(1).item()`."""
    node = link[0].value
    for call in [node, *_chain(node)] if node.__class__ is ast.Call and node.func.__class__ is ast.Attribute else ():
        if getattr(call.func, "attr", "") == "cpu":  # this chain itself copied it to the host
            node = call.func.value
    if says_host(scene, link) and (nature := scene.natures.of(node, link)) != UNKNOWN:
        return nature in (HOST, NUMBER)
    if node.__class__ is ast.Name:  # a name of the module, or of a comprehension
        values = values_of(scene.names, node, link)
        question = "host", scene.names.scopes.around(link) if values else None
        return bool(values) and scene.names.once(
            question, values, lambda: all(_is_host(v, scene, link) for v in values)
        )
    return _is_host(node, scene, link)


def is_on_host(scene: AnyScene, node: Node, link: Link) -> bool:
    """Whether an expression is a tensor on the host."""
    return says_host(scene, link) and scene.natures.of(node, link) == HOST


def lies_on_host(link: Link) -> bool:
    """Whether `x.numpy()` shows that x is on the host: nothing copies it there, and on a GPU the call would fail."""
    return link[0].attr == "numpy" and not any(call_name(c.func) in ("cpu", "to") for c in _chain(link[1][0]))


def says_host(scene: AnyScene, link: Link) -> bool:
    """Whether the function around may have tensors on the host. It is cheap, so it is asked before the values are computed."""
    function, answers = scene.function(link), scene.flows.hosted
    if function is None:
        return False
    if function[0] not in answers:
        start, end = scene.file.source.span(function[0])
        match = _MADE.search(scene.file.source.utf8, start, end)
        makers = made_by(scene.file)
        calls = bool(makers) and any(getattr(n, "id", "") in makers for n in walk(function[0]))
        answers[function[0]] = bool(match) or calls or bool(scene.callers.read_back(function))
    return answers[function[0]]


def _is_host(node: Node, scene: AnyScene, link: Link) -> bool:
    if node.__class__ is ast.BinOp:
        sides = [s for s in (node.left, node.right) if s.__class__ is not ast.Constant]
        return bool(sides) and all(_is_host(s, scene, link) for s in sides)
    while node.__class__ is ast.Subscript or node.__class__ is ast.Call and node.func.__class__ is ast.Attribute:
        if node.__class__ is ast.Subscript:  # torch.randint(n, (1,))[0]
            node = node.value
            continue
        full = scene.names.resolve(node.func, link)
        if full is not None:
            return is_factory(full, node)
        if node.func.attr in MOVES:
            return False
        node = node.func.value
    return node.__class__ is ast.Name and is_given_there(scene, node, link)


def asked_above(link: Link) -> bool:
    """Whether the condition of an `if` around waits for the same value."""
    wanted, child = None, link[0]
    for above in ancestors(link):
        node = above[0]
        if node.__class__ is ast.If and within(node, child, "body"):
            wanted = wanted or ast.dump(link[1][0])
            if wanted in _calls(node.test):
                return True
        child = node
    return False


@once
def _calls(test: Node) -> frozenset[str]:
    return frozenset(ast.dump(n) for n in walk(test) if n.__class__ is ast.Call)


def _chain(call: Node) -> list[ast.Call]:
    """The calls of a chain before its last one."""
    calls: list[ast.Call] = []
    node: Node = call.func.value
    while node.__class__ in (ast.Attribute, ast.Call):
        if node.__class__ is ast.Call:
            calls.append(node)
        node = node.func if node.__class__ is ast.Call else node.value
    return calls


def wait_above(statement: Link) -> Node | None:
    """The function with which the simple statement right above waits for the device."""
    field, index = place(statement[1][0], statement[0])
    if index < 1 or field not in BODIES:
        return None
    above = getattr(statement[1][0], field)[index - 1]
    return first_wait(above) if above.__class__ in (ast.Assign, ast.AugAssign, ast.Expr) else None


def is_passed_on(link: Link) -> bool:
    """Whether a copy to the host is moved on purpose and not read: `return x.cpu()`, `w.data = w.data.cpu()`."""
    return target(link) == "data" or link[1][1][0].__class__ in (ast.Return, ast.Attribute)


def is_wanted_there(link: Link) -> bool:
    """Whether a value must be on the host: actions for an environment, lengths for a packed sequence. Values in an assert are not
    needed there."""
    if any(a[0].__class__ is ast.Assert for a in ancestors(link)):
        return False
    words = {n.id for n in walk(link[0]) if n.__class__ is ast.Name} | {target(link)}
    return any(_WANTED.search(word) for word in words)


@once
def gives_arrays(function: ast.FunctionDef) -> bool:
    """Whether all that a `forward` gives are arrays of tensors without a gradient."""
    returns = [node.value for node in walk(function) if node.__class__ is ast.Return]
    calls = [value.func for value in returns if isinstance(value, ast.Call)]
    return function.name == "forward" and len(calls) == len(returns) and all(map(_is_array_of_detached, calls))


def _is_array_of_detached(function: Node) -> bool:
    """`x.detach().cpu().numpy`"""
    words = list[str]()
    while function.__class__ in (ast.Attribute, ast.Call):
        words += [function.attr] if function.__class__ is ast.Attribute else []
        function = function.value if function.__class__ is ast.Attribute else function.func
    return words[:1] == ["numpy"] and "detach" in words
