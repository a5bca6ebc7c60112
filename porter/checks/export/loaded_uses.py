"""What becomes of what `torch.load` answers with: which part is taken, what it is called, and who gets it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from porter.checks.export.loaded_objects import is_foreign
from porter.checks.export.names_set_again import is_of_another, until_set_again
from porter.checks.export.saved_here import is_tensor
from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, Link, Node, ancestors, parents
from porter.python.parameters import defaults
from porter.python.walks import walk
from porter.regex import lazy
from porter.training.value_uses import handed_to

MODULE = lazy(r"(?i)(?:^|[._])(?:model|module|net|network|encoder|decoder|generator|discriminator|net[gd])$")
_COPYING = frozenset({"load_state_dict"})  # copies to where the parameters lie
_OF_GENERATORS = frozenset({"set_rng_state", "set_rng_state_all", "set_state", "setstate"})
_MOVING = frozenset({"to", "cuda", "npu", "cpu"})
_MOVES = lazy(rb"(?<![\w.])(\w+)(?:\.\w+\(\)){0,3}\.(?:to|cuda|npu)\(")
_WORKS = lazy(rb"(?<![\w.])(\w+)\.(?:train|eval)\(")
_TRAINED = frozenset({"train", "eval"})
# calls that give its content to somebody who copies it: no use of the object itself
_STATES = frozenset({"state_dict", "parameters", "named_parameters"})
_PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
_NUMBERS = frozenset("range int float str len print format info trange".split())  # an epoch, a step


def part(call: Link) -> tuple[Link, str]:
    """What is taken from a call or a name at once: the link of `load(path)["model"]["weights"]`, `load(path).get("model")`, and the
    first key."""
    key = ""
    while (above := call[1]) is not None:
        if above[0].__class__ is ast.Subscript and above[0].value is call[0]:
            key, call = key or _key(above[0].slice, call), above
        elif above[0].__class__ is ast.Attribute and above[0].attr == "get" and above[1][0].__class__ is ast.Call:
            given = above[1][0].args
            key, call = key or (_key(given[0], call) if given else ""), above[1]
        else:
            break
    return call, key


def _key(given: Node, use: Link) -> str:
    """A key that is written there, or that the function around takes where it is called without: `def load(path, key="model")`."""
    if given.__class__ is not ast.Name:
        return str(constant(given) or "")
    function = next((node for node in parents(use) if node.__class__ in FUNCTIONS[:2]), None)
    default = defaults(function).get(given.id) if function is not None else None
    if default is None or any(
        getattr(n, "id", "") == given.id and n.ctx.__class__ is ast.Store for n in walk(function)
    ):
        return ""
    return str(constant(default) or "")


def named(value: Link, file: RuleFile) -> list[list[Link]]:
    """For each name that a value, or an element of it, is assigned to: its uses."""
    above = value[1]
    targets: list[Node] = above[0].targets if above is not None and above[0].__class__ is ast.Assign else []
    names = [n for t in targets for n in getattr(t, "elts", [t]) if n.__class__ is ast.Name]
    links: list[Any] = [(n, above) if n in targets else (n, (targets[0], above)) for n in names]
    return [file.names.readers(link[0].id, link) for link in links]


def is_copied(value: Link, file: RuleFile) -> bool:
    """Whether `load_state_dict` gets it, at once or through its name."""
    uses = [value, *(use for uses in named(value, file) for use in uses)]
    return any(handed_to(use) in _COPYING for use in uses)


def is_of_generators(value: Link, file: RuleFile) -> bool:
    """Whether generators of random numbers alone get its parts: their states lie on the host, those of a device as well."""
    uses = [use for uses in named(value, file) for use in uses if use[0].ctx.__class__ is ast.Load]
    return bool(uses) and all(handed_to(part(use)[0]) in _OF_GENERATORS for use in uses)


def takers(value: Link, file: RuleFile) -> list[str]:
    """Whose `load_state_dict` gets it or a part of it, as `self.scheduler`; also "", where something else gets some."""
    uses = [use for uses in named(value, file) for use in until_set_again(value, uses)] or [value]
    whole = [part(use)[0] for use in uses]
    calls: list[Any] = [use[1] and use[1][0] for use in whole if handed_to(use) in _COPYING]
    names = [ast.unparse(call.func.value) for call in calls if isinstance(getattr(call, "func", None), ast.Attribute)]
    return names if len(names) == len(whole) else ["", *names]


def fate(value: Link, file: RuleFile) -> str:
    """Of an object that is used as it was loaded: "moved" to a device, or "stays" where it was loaded; else ""."""
    uses = [value, *(use for uses in named(value, file) for use in uses if not is_of_another(use, value))]
    asked = [name for use in uses for name in _methods(use) if name or not _is_function(use, file)]
    if not _MOVING.isdisjoint(asked):
        return "moved"
    is_object = any(name == "" or name not in _STATES and is_foreign(name, file) for name in asked)
    is_object = is_object or any(_is_module_in_taker(use, file) for use in uses)
    return "stays" if is_object and not any(_may_be_moved(use, file) for use in uses) else ""


def stays_in_part(value: Link, file: RuleFile) -> bool:
    """`net = loaded["model"]`: a module among the parts of what was loaded, which is used where it was loaded."""
    parts = [part(use) for uses in named(value, file) for use in uses if not is_of_another(use, value)]
    modules = [whole for whole, key in parts if MODULE.search(key)]
    return any(fate(whole, file) == "stays" or _is_kept_module(whole, file) for whole in modules)


def is_moved_in_part(value: Link, file: RuleFile) -> bool:
    """`memory = loaded["memory"]`, then `memory.to(device)` as a statement: a whole module, of which that moves what is registered."""
    parts = [part(use) for uses in named(value, file) for use in uses if not is_of_another(use, value)]
    others = [whole for whole, key in parts if not MODULE.search(key)]  # a network has registered what it computes with
    uses = [use for one in others for several in named(one, file) for use in several]
    asked = (use[1] for use in uses if use[1] is not None and getattr(use[1][0], "attr", "") in _MOVING)
    return any(
        call[1] is not None and call[1][0].__class__ is ast.Expr for attribute in asked if (call := attribute[1])
    )


def _is_kept_module(whole: Link, file: RuleFile) -> bool:
    """`self.encoder = loaded["encoder"]`, which the file trains, and nobody copies or moves."""
    above = whole[1] and whole[1][0]
    target: Node = above.targets[0] if above.__class__ is ast.Assign and above.value is whole[0] else None
    if target.__class__ is not ast.Attribute:
        return False
    written = ast.unparse(target)
    if file.source.says(f"load_state_dict({written})".encode()):
        return False
    asked = re.compile(rb"\b%s\.(\w+)\(" % re.escape(written.encode()))
    methods = {match[1].decode() for match in asked.finditer(file.source.utf8)}
    return not methods.isdisjoint(_TRAINED) and methods.isdisjoint(_MOVING)


def _is_function(use: Link, file: RuleFile) -> bool:
    """`checkpoint(...)`, where a function of the file has the name as well."""
    return use[0].__class__ is ast.Name and use[0].id in functions(file)


def _methods(use: Link) -> Iterator[str]:
    """`eval` and `to` of `agent.eval().to(device)`; "" where the value itself is called."""
    child = use[0]
    for above in ancestors(use):
        node = above[0]
        if node.__class__ is ast.Call and node.func is child:
            if child is use[0] or child.__class__ is ast.Attribute:
                yield getattr(child, "attr", "") if child is not use[0] else ""
        elif node.__class__ is not ast.Attribute or node.value is not child:
            return
        child = node


def _is_module_in_taker(use: Link, file: RuleFile) -> bool:
    """Whether a function of this file gets a value and puts it to train or to evaluate."""
    taken = taken_as(use, file)
    return taken is not None and taken[1] in _put_to_work_in(file, taken[0])


def _may_be_moved(use: Link, file: RuleFile) -> bool:
    """Whether a value is handed to what may move it: not to a function of this file that does not."""
    taker = handed_to(use)
    if not taker or taker in _NUMBERS or taker.startswith("save"):
        return False
    taken = taken_as(use, file)
    return taken is None or taken[1] in moved_in(file, taker)


def taken_as(use: Link, file: RuleFile) -> tuple[str, str] | None:
    """The function of this file that gets a value, and what it calls it."""
    taker, call = handed_to(use), use[1][0]
    takes = _parameters(file).get(taker)
    if takes is None or call.__class__ is not ast.Call or use[0] not in call.args[: len(takes)]:
        return None
    return taker, takes[call.args.index(use[0])]


@once_for_file
def functions(file: RuleFile) -> dict[str, Node]:
    """Those of a file that are the only ones of their name."""
    several: dict[str, list[Node]] = {}
    for link in file.buckets.get(ast.FunctionDef, ()):
        several.setdefault(link[0].name, []).append(link[0])
    return {name: nodes[0] for name, nodes in several.items() if len(nodes) == 1}


@once_for_file
def _parameters(file: RuleFile) -> dict[str, list[str]]:
    return {name: [a.arg for a in node.args.args] for name, node in functions(file).items()}


@once_for_file
def moved_in(file: RuleFile, name: str) -> frozenset[str]:
    """The names that a function moves: `agent.cuda()`, `agent.eval().to(device)`."""
    start, end = file.source.span(functions(file)[name])
    return frozenset(match[1].decode() for match in _MOVES.finditer(file.source.utf8, start, end))


@once_for_file
def _put_to_work_in(file: RuleFile, name: str) -> frozenset[str]:
    """The names of modules in a function: `agent.train()`, `agent.eval()`."""
    start, end = file.source.span(functions(file)[name])
    return frozenset(match[1].decode() for match in _WORKS.finditer(file.source.utf8, start, end))


def is_put_in_place(value: Link, file: RuleFile) -> bool:
    """Whether `layer.weight.data` or `layer.weight` becomes what was loaded, or what the function that loads it gives back:
    it lies where it was loaded."""
    uses = [value, *(use for uses in named(value, file) for use in uses)]
    function = next((above[0] for above in ancestors(value) if above[0].__class__ is ast.FunctionDef), None)
    if function is not None and any(use[1][0].__class__ is ast.Return for use in uses):
        calls = [link[1] for link in file.names.spelled(function.name) if getattr(link[1][0], "func", None) is link[0]]
        taken = [part(call)[0] for call in calls]
        uses = [*uses, *taken, *(use for whole in taken for several in named(whole, file) for use in several)]
    return any(map(_becomes_data, uses)) or _becomes_parameter(uses, file)


def _becomes_data(use: Link) -> bool:
    above = part(use)[0][1]
    targets = above[0].targets if above is not None and above[0].__class__ is ast.Assign else []
    return any(getattr(target, "attr", "") == "data" for target in targets)


def _becomes_parameter(uses: list[Link], file: RuleFile) -> bool:
    """`layer.weight = Parameter(loaded[key])`, at once or through a name: not while a module is made, which is moved later."""
    parts = [part(use)[0] for use in uses]
    for whole in [*parts, *(use for one in parts for several in named(one, file) for use in several)]:
        call = whole[1]
        if (
            call is None
            or call[0].__class__ is not ast.Call
            or file.names.resolve(call[0].func, call) not in _PARAMETERS
        ):
            continue
        targets = call[1][0].targets if call[1][0].__class__ is ast.Assign else []
        if any(target.__class__ is ast.Attribute for target in targets) and not _makes(call):
            return True
    return False


def _makes(link: Link) -> bool:
    inside = (above[0] for above in ancestors(link) if above[0].__class__ is ast.FunctionDef)
    return getattr(next(inside, None), "name", "") == "__init__"


def is_given_to_others(value: Link, file: RuleFile) -> bool:
    """A tensor that the file computes and saves, which a function loads and gives back, alone or beside others: they compute
    with it as it is."""
    if value[0].__class__ is not ast.Call or not is_tensor(value, file):
        return False
    uses = [value, *(use for uses in named(value, file) for use in uses)]
    above = [use[1][1] if use[1][0].__class__ is ast.Tuple else use[1] for use in uses if use[1] is not None]
    return any(link is not None and link[0].__class__ is ast.Return for link in above)


def is_taken_apart(value: Link, file: RuleFile) -> bool:
    """`params, step = torch.load(path)` of which a part goes to somebody who may use it as it comes."""
    above = value[1] and value[1][0]
    if above.__class__ is not ast.Assign or above.targets[0].__class__ not in (ast.Tuple, ast.List):
        return False
    takers = {handed_to(use) for uses in named(value, file) for use in uses} - {""}
    return not takers <= _COPYING | _NUMBERS


def is_spread(value: Link, file: RuleFile) -> bool:
    """`for name, tensor in loaded["weights"].items(): weights[name] = tensor`: the tensors lie where they were loaded, unless what
    they are put into is copied, saved or given back."""
    parts = [part(use)[0] for use in [value, *(use for uses in named(value, file) for use in uses)]]
    wholes = [*parts, *(use for one in parts for uses in named(one, file) for use in uses)]
    return any(_is_put_elsewhere(loop, file) for whole in wholes if (loop := _loop_over(whole)) is not None)


def _loop_over(whole: Link) -> Link | None:
    """`for name, tensor in whole.items():`."""
    asked = whole[1]
    if asked is None or getattr(asked[0], "attr", "") not in ("items", "values") or asked[0].value is not whole[0]:
        return None
    loop = asked[1][1]
    return loop if loop is not None and loop[0].__class__ is ast.For and loop[0].iter is asked[1][0] else None


def _is_put_elsewhere(loop: Link, file: RuleFile) -> bool:
    target: Node = loop[0].target
    name = getattr(target.elts[-1] if target.__class__ is ast.Tuple else target, "id", "")
    puts = [s for s in loop[0].body if s.__class__ is ast.Assign and s.targets[0].__class__ is ast.Subscript]
    kept = [s for s in puts if not _MOVING & {getattr(n, "attr", "") for n in ast.walk(s.value)}]
    holders = [s.targets[0].value for s in kept if any(getattr(n, "id", "") == name for n in ast.walk(s.value))]
    named_holders = [holder for holder in holders if holder.__class__ is ast.Name]
    links = [link for holder in named_holders for link in file.names.spelled(holder.id) if link[0] is holder]
    return any(not any(map(_is_handed_on, file.names.readers(link[0].id, link))) for link in links)


def _is_handed_on(use: Link) -> bool:
    above = use[1] and use[1][0]
    return above.__class__ in (ast.Return, ast.Yield) or handed_to(use) in {*_COPYING, "save"}


# what is loaded is used as it comes, so that it has to lie on the device that it is used on
AS_IT_COMES = (is_moved_in_part, is_taken_apart, is_put_in_place, is_spread, is_given_to_others)
