"""Finds choices such as `map_location=None if torch.cuda.is_available() else "cpu"`: without a GPU, a file is loaded to the CPU. So it
is where `if torch.cuda.is_available(): return` stands before what loads it there.

None loads each tensor to the device that it was saved from, `cuda:0`. An NPU cannot do that. So an NPU has to take the way
without a GPU, and the question for a GPU stays as it is.
"""

from __future__ import annotations

import ast

from porter.engine.rule_file import RuleFile
from porter.python.evidence import call_name, constant, is_log_call
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.stopping import after

PLACE = "map_location"
_QUESTION = "torch.cuda.is_available"
PLACES = {  # functions that load a file, with the position of `map_location`
    "torch.load": 1,
    "torch.hub.load_state_dict_from_url": 2,
    "torch.utils.model_zoo.load_url": 2,
    "torchvision.models.utils.load_state_dict_from_url": 2,
}


def loads_on_host(file: RuleFile, choice: Link) -> bool:
    """Whether an `if` or a conditional expression asks for a GPU and only chooses between None and the CPU as the place to
    which a file is loaded."""
    ways = _ways(file, choice) if file.source.says(PLACE.encode()) else None
    if ways is None:
        return False
    with_gpu, without = ([way for way in several if not is_log_call(getattr(way, "value", None))] for several in ways)
    if choice[0].__class__ is ast.IfExp:
        place_alone = _is_none(with_gpu[0]) and _is_host(without[0]) and _is_place(file, choice)
        return place_alone or _same_load(file, with_gpu[0], without[0], choice)
    if with_gpu and all(map(_is_idle, with_gpu)):
        return any(_loads_there(file, statement, choice) for statement in without)
    if not with_gpu and len(without) == 1:
        return _leaves_none(file, without[0], choice)
    if len(with_gpu) != 1 or len(without) != 1:
        return False
    return _sets_place(file, with_gpu[0], without[0], choice) or _same_load(file, with_gpu[0], without[0], choice)


def _is_idle(statement: Node) -> bool:
    """`return`, `yield`, `pass`: on a GPU, nothing has to be done about a file."""
    value: Node = getattr(statement, "value", None)
    if statement.__class__ is ast.Expr and value.__class__ is ast.Yield:
        value = value.value
    return value is None and statement.__class__ in (ast.Return, ast.Expr, ast.Pass)


def _loads_there(file: RuleFile, statement: Node, link: Link) -> bool:
    """Whether a statement loads a file to the CPU, or defines what does."""
    calls = (node for node in walk(statement) if node.__class__ is ast.Call)
    return any(file.names.resolve(c.func, link) in PLACES and _is_host(_place(file, c, link)) for c in calls)


def loaded_where_saved(file: RuleFile, choice: Link, yes: bool) -> bool:
    """Whether an `if` that compares a device loads on both sides, onto the CPU on the other one alone. `yes`: the side that the
    answer "yes" takes has no place."""
    if choice[0].__class__ is not ast.If or not file.source.says(PLACE.encode()):
        return False
    sides = (choice[0].body, choice[0].orelse) if yes else (choice[0].orelse, choice[0].body)
    return all(len(side) == 1 for side in sides) and _same_load(file, sides[0][0], sides[1][0], choice)


def is_loaded_otherwise(call: Link) -> bool:
    """`try: load(path)`, `except RuntimeError: load(path, map_location=...)`: where there is no GPU the second one loads it."""
    inner = call
    for above in ancestors(call):
        if isinstance(above[0], FUNCTIONS):
            return False
        if isinstance(above[0], ast.Try) and inner[0] in above[0].body:
            return any(map(_loads_elsewhere, above[0].handlers))
        inner = above
    return False


def _loads_elsewhere(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches what torch.load raises without a GPU, and says where to load to."""
    kind = handler.type
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [] if kind is None else [kind]
    if kinds and not any(call_name(kind) in ("RuntimeError", "Exception") for kind in kinds):
        return False
    calls = (node for node in walk(handler) if isinstance(node, ast.Call) and call_name(node.func) == "load")
    return any(keyword.arg == PLACE for call in calls for keyword in call.keywords)


def is_never_reached(file: RuleFile, load: Link) -> bool:
    """Whether a `torch.load` stands in the branch of such an `if` that only a machine with a GPU takes."""
    child = load[0]
    for up in ancestors(load):
        if up[0].__class__ is ast.IfExp and (ways := _ways(file, up)) is not None:
            return child in ways[0] and loads_on_host(file, up)
        if up[0].__class__ is ast.If:
            if any(constant(node) == "cuda" for node in walk(up[0].test)):
                return loaded_where_saved(file, up, child in up[0].body)
            ways = _ways(file, up)
            return ways is not None and child in ways[0] and loads_on_host(file, up)
        child = up[0]
    return False


def may_be_none(file: RuleFile, load: Link) -> bool:
    """Whether the place of a load is `None if use_cuda else "cpu"`, with a condition that may also be true without a GPU, or a name
    that some condition alone sets to a device."""
    call = next((up for up in ancestors(load) if up[0].__class__ is ast.Call), None)
    place: Node = _place(file, call[0], call) if call else None
    if call is not None and place.__class__ is ast.Name:
        return is_set_sometimes(file, place, call)
    if call is None or place.__class__ is not ast.IfExp or not any(map(_is_none, (place.body, place.orelse))):
        return False
    keyword = next((k for k in call[0].keywords if k.value is place), None)
    return not loads_on_host(file, (place, (keyword, call) if keyword else call))


def is_set_sometimes(file: RuleFile, name: ast.Name, call: Link) -> bool:
    """`place = None`, then `if world_size > 1: place = "cuda:" + str(rank)` without another way."""
    second = _after_none(file, name.id, call)
    choice: Node = second and second[1] and second[1][0]
    if second is None or choice.__class__ is not ast.If or choice.orelse or not _is_on_cuda(second[0].value):
        return False
    return _without_gpu(file, choice.test, second[1]) is None


def _after_none(file: RuleFile, name: str, link: Link) -> Link | None:
    """The assignment that gives a name another value after `name = None`, if these are all that bind it."""
    bindings = file.names.bindings(name, link)
    if len(bindings) != 2 or not all(binding[1] and binding[1][0].__class__ is ast.Assign for binding in bindings):
        return None
    assigns = (binding[1] for binding in bindings if binding[1])
    first, second = sorted(assigns, key=lambda assign: int(assign[0].lineno))
    return second if _is_none(first[0].value) else None


def _is_on_cuda(value: Node) -> bool:
    """`"cuda:0"`, `"cuda:" + str(rank)`, `f"cuda:{rank}"`, `"cuda:{}".format(rank)`"""
    words = (constant(node) for node in walk(value))
    return str(next((word for word in words if isinstance(word, str)), "")).startswith("cuda")


def _ways(file: RuleFile, choice: Link) -> tuple[list[Node], list[Node]] | None:
    """(what runs with a GPU, what runs without one); of a conditional expression, the values."""
    node = choice[0]
    answer = _without_gpu(file, node.test, choice)
    if answer is None:
        return None
    body, orelse = (node.body, node.orelse) if node.__class__ is ast.If else ([node.body], [node.orelse])
    if node.__class__ is ast.If:
        orelse = after(choice)
    return (orelse, body) if answer else (body, orelse)


def _without_gpu(file: RuleFile, test: Node, link: Link) -> bool | None:
    """The value of a condition on a machine without a GPU; None where that is not certain."""
    if test.__class__ is ast.Call:
        return False if file.names.resolve(test.func, link) == _QUESTION else None
    if test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not:
        answer = _without_gpu(file, test.operand, link)
        return None if answer is None else not answer
    if test.__class__ is ast.BoolOp:
        decisive = test.op.__class__ is ast.Or  # one part with this value decides the whole
        answers = [_without_gpu(file, value, link) for value in test.values]
        return decisive if decisive in answers else None if None in answers else not decisive
    if _asks_for_place(test):
        return test.ops[0].__class__ in (ast.Is, ast.Eq)  # a caller who gives a place has chosen
    return None


def _asks_for_place(node: Node) -> bool:
    """`map_location is None`."""
    return node.__class__ is ast.Compare and getattr(node.left, "id", "") == PLACE and _is_none(node.comparators[0])


def _is_none(node: Node) -> bool:
    return node.__class__ is ast.Constant and node.value is None


def _is_host(node: Node) -> bool:
    """Whether a place is the CPU: `"cpu"`, `torch.device("cpu")`, `lambda storage, loc: storage`."""
    if node.__class__ is ast.Call and call_name(node.func) == "device" and len(node.args) == 1:
        node = node.args[0]
    if node.__class__ is ast.Lambda and node.args.args:
        return bool(getattr(node.body, "id", "") == node.args.args[0].arg)
    return bool(constant(node) == "cpu")


def _is_place(file: RuleFile, value: Link, seen: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is the `map_location` of a load, directly or by a name. `seen`: names that were followed already."""
    node, above = value[0], value[1]
    parent: Node = above[0] if above else None
    if parent.__class__ is ast.keyword:
        return bool(parent.arg == PLACE)
    if parent.__class__ is ast.Compare:
        return _asks_for_place(parent)
    if parent.__class__ is ast.Call and node in parent.args:
        at: int = parent.args.index(node)
        return at == PLACES.get(file.names.resolve(parent.func, above) or "")
    return parent.__class__ is ast.Assign and parent.value is node and _is_held_place(file, parent, above, seen)


def _is_held_place(file: RuleFile, assignment: ast.Assign, link: Link, seen: frozenset[str] = frozenset()) -> bool:
    """Whether every use of an assigned name is the `map_location` of a load."""
    target: Node = assignment.targets[0]
    if len(assignment.targets) != 1 or target.__class__ is not ast.Name:
        return False
    if target.id in seen:
        return True
    readers = file.names.readers(target.id, (target, link))
    return bool(readers) and all(_is_place(file, reader, seen | {target.id}) for reader in readers)


def _sets_place(file: RuleFile, with_gpu: Node, without: Node, choice: Link) -> bool:
    """Whether one branch is `place = None` and the other `place = "cpu"`."""
    if with_gpu.__class__ is not ast.Assign or without.__class__ is not ast.Assign:
        return False
    if ast.dump(with_gpu.targets[0]) != ast.dump(without.targets[0]):
        return False
    found = _is_none(with_gpu.value) and _is_host(without.value)
    return found and _is_held_place(file, with_gpu, (with_gpu, choice))


def _leaves_none(file: RuleFile, without: Node, choice: Link) -> bool:
    """Whether `if not torch.cuda.is_available(): place = "cpu"` follows `place = None`."""
    if (
        without.__class__ is not ast.Assign
        or without.targets[0].__class__ is not ast.Name
        or not _is_host(without.value)
    ):
        return False
    link = (without, choice)
    second = _after_none(file, without.targets[0].id, link)
    return second is not None and second[0] is without and _is_held_place(file, without, link)


def _same_load(file: RuleFile, with_gpu: Node, without: Node, choice: Link) -> bool:
    """Whether both branches are the same with a load, except that the one without a GPU loads to the CPU, or to a device that
    a name holds."""
    text, told = _without_place(file, with_gpu, choice)
    other_text, place_told = _without_place(file, without, choice)
    is_left = told is None or _is_none(told)
    is_named = _is_host(place_told) or place_told.__class__ in (ast.Name, ast.Attribute)
    return bool(text) and text == other_text and is_left and is_named


def _without_place(file: RuleFile, statement: Node, link: Link) -> tuple[str, Node]:
    """The text of a statement with one load, without its `map_location`; and the value of that."""
    calls = (node for node in walk(statement) if node.__class__ is ast.Call)
    loads = [call for call in calls if file.names.resolve(call.func, link) in PLACES]
    if len(loads) != 1:
        return "", None
    call = loads[0]
    told = _place(file, call, link)
    rest = [k for k in call.keywords if k.value is not told]
    plain = ast.Call(func=call.func, args=[a for a in call.args if a is not told], keywords=rest)
    return ast.unparse(statement).replace(ast.unparse(call), ast.unparse(plain)), told


def _place(file: RuleFile, call: Node, link: Link) -> Node:
    """The `map_location` of a call that loads a file; None where it has none."""
    index = PLACES.get(file.names.resolve(call.func, link) or "", len(call.args))
    places = [*call.args[index : index + 1], *(k.value for k in call.keywords if k.arg == PLACE)]
    return places[0] if places else None
