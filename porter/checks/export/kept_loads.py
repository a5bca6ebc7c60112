"""What was loaded and is kept under a name or an attribute: whether it is used where it was loaded, and on which device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.checks.export import loaded_uses
from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import MOVES, call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.rulebook.table import hint

_KEEPS, _NO_INPUT = hint("keeps-what-it-gets"), hint("saved-beside-a-model")
_COMPUTED = (ast.Call, ast.Subscript, ast.BinOp)
_MAKES = frozenset({"load", "tensor", "Tensor", "zeros", "ones", "empty", "full", "arange", "from_numpy", "as_tensor"})
_LIKE = ("_like",)  # `torch.zeros_like(other)` lies where the other lies


def chosen(value: Link) -> Link:
    """Of `load(path) if path else other`: the whole choice."""
    while (above := value[1]) is not None and above[0].__class__ is ast.IfExp and above[0].test is not value[0]:
        value = above
    return value


def device(value: Link, file: RuleFile) -> str | None:
    """The device on which the attribute that is set to a value is made elsewhere in the file, as `self.device`; "" where it
    is made on one that nothing of the object names, None where nothing says that it lies on a device."""
    target = _attribute(value)
    if target is None:
        return None
    name = ast.unparse(target)
    found = _made_on(name, value, file, deeper=True)
    return "" if found is None and name in _saved(file) and _is_computed(name, value, file) else found


@once_for_file
def _saved(file: RuleFile) -> frozenset[str]:
    """The attributes that are saved by themselves: `torch.save(self.centroids, path)`."""
    calls = (link[0] for link in file.buckets.get(ast.Call, ()) if call_name(link[0].func) == "save")
    return frozenset(
        ast.unparse(call.args[0]) for call in calls if call.args and isinstance(call.args[0], ast.Attribute)
    )


def _is_computed(name: str, value: Link, file: RuleFile) -> bool:
    """Whether an attribute is elsewhere set to what is computed: `self.W[:, indices].t()`, `torch.argmin(distances)`. It lies where
    that lies."""
    others = (made for made in _values_of(name, file) if made is not value[0] and made.__class__ in _COMPUTED)
    return any(map(_is_of_tensors, others))


def _is_of_tensors(made: Node) -> bool:
    if any(node.__class__ is ast.Attribute and getattr(node.value, "id", "") == "self" for node in walk(made)):
        return True
    is_function = made.__class__ is ast.Call and ast.unparse(made.func).startswith("torch.")
    return is_function and call_name(made.func) not in _MAKES and any(a.__class__ is ast.Name for a in made.args)


def _attribute(value: Link) -> Node | None:
    above = value[1] and value[1][0]
    if above.__class__ is ast.AnnAssign:
        targets = [above.target]
    else:
        targets = above.targets if above.__class__ is ast.Assign else []
    return targets[0] if len(targets) == 1 and targets[0].__class__ is ast.Attribute else None


def _made_on(name: str, value: Link | None, file: RuleFile, deeper: bool) -> str | None:
    for made in _values_of(name, file):
        if made.__class__ is not ast.Call or value is not None and made is value[0]:
            continue
        for keyword in made.keywords:
            if keyword.arg == "device":
                written = ast.unparse(keyword.value)
                return written if written.startswith("self.") else ""
        called = ast.unparse(made.func)
        if made.func.__class__ is ast.Attribute and made.func.attr in ("cuda", "npu"):
            return ""
        if deeper and called.endswith(_LIKE) and made.args:
            found = _made_on(ast.unparse(made.args[0]), None, file, deeper=False)
            if found is not None:
                return found
    return None


def _values_of(name: str, file: RuleFile) -> Iterator[Node]:
    """What an attribute is set to, in the whole file."""
    last = name.rpartition(".")[2]
    for kind in (ast.Assign, ast.AnnAssign):
        for node, _ in file.buckets.get(kind, ()):
            targets = node.targets if kind is ast.Assign else [node.target]
            chains = (one for one in targets if one.__class__ is ast.Attribute and one.attr == last)
            if node.value is not None and any(ast.unparse(one) == name for one in chains):
                yield node.value


def meets_the_device(value: Link, file: RuleFile) -> bool:
    """Whether a loaded module, which nobody moves, is called with what was moved to a device."""
    whole = chosen(value)
    if loaded_uses.fate(whole, file) == "moved":
        return False
    uses = [whole, *(use for several in loaded_uses.named(whole, file) for use in several)]
    target = _attribute(whole)
    if target is not None:
        written = ast.unparse(target)
        links = (link for link in file.buckets.get(ast.Attribute, ()) if link[0].attr == target.attr)
        uses = [link for link in links if link[0] is not target and ast.unparse(link[0]) == written]
        if any(getattr(use[1][0], "attr", "") in MOVES for use in uses):
            return False
    if _is_moved_later(whole, file):
        return False
    handed = [taken for use in uses if (taken := loaded_uses.taken_as(use, file)) is not None]
    return any(map(_is_called_with_moved, [*uses, *(use for taken in handed for use in _uses_in(file, *taken))]))


def _is_moved_later(value: Link, file: RuleFile) -> bool:
    """`model = load(path)`, and further down `model = model.eval()`, `model = model.to(device)`."""
    above: Node = value[1] and value[1][0]
    names = {getattr(target, "id", "") for target in above.targets} if isinstance(above, ast.Assign) else set()
    around = next((up[0] for up in ancestors(value) if up[0].__class__ in FUNCTIONS[:2]), None)
    if around is None or loaded_uses.functions(file).get(around.name) is not around:
        return False
    return not names.isdisjoint(loaded_uses.moved_in(file, around.name))


def _uses_in(file: RuleFile, function: str, name: str) -> list[Link]:
    """Where a function of the file uses its parameter."""
    taker = loaded_uses.functions(file)[function]
    return [link for link in file.names.spelled(name) if any(above[0] is taker for above in ancestors(link))]


def is_given_to_moved(value: Link, file: RuleFile) -> bool:
    """Whether a part of what was loaded goes to a model that is on a device, and nobody moves the part: `model(loaded["x"])`
    beside `model.cuda()`, at once or in a function of the file that gets both."""
    for use in (use for several in loaded_uses.named(value, file) for use in several):
        whole, key = loaded_uses.part(use)
        if not key or _NO_INPUT.search(key):
            continue
        for one in [whole, *(other for several in loaded_uses.named(whole, file) for other in several)]:
            if _meets_a_moved_one(one, file):
                return True
    return False


def _meets_a_moved_one(use: Link, file: RuleFile) -> bool:
    call = use[1]
    while call is not None and call[0].__class__ is ast.Subscript and call[0].value is use[0]:
        use, call = call, call[1]  # `loaded["labels"][-1]`
    if call is None or call[0].__class__ is not ast.Call or use[0] not in call[0].args:
        return False
    around = next((above[0] for above in ancestors(use) if above[0].__class__ in FUNCTIONS[:2]), None)
    known = loaded_uses.functions(file)
    if (
        around is not None
        and known.get(around.name) is around
        and _works_with(call[0]) in loaded_uses.moved_in(file, around.name)
    ):
        return True
    taken = loaded_uses.taken_as(use, file)
    if taken is None:
        return False
    function, name = taken
    return name in _met(file, function)


@once_for_file
def _met(file: RuleFile, function: str) -> frozenset[str]:
    """The names that a function gives to a model that it moves, and moves nowhere itself."""
    moved = loaded_uses.moved_in(file, function)
    if not moved:
        return moved
    nodes = [*walk(loaded_uses.functions(file)[function])]
    assigned = (node for node in nodes if isinstance(node, ast.Assign) and _is_moved(node.value))
    placed = {getattr(target, "id", "") for one in assigned for target in one.targets}
    calls = (node for node in nodes if isinstance(node, ast.Call) and _works_with(node) in moved)
    return frozenset(getattr(given, "id", "") for one in calls for given in one.args) - placed - moved


def _works_with(call: ast.Call) -> str:
    """`model` of `model(x)` and `model.encode(x)`, which compute; not of `model.load_state_dict(x)`."""
    called: Node = call.func
    if called.__class__ is ast.Attribute:
        called = None if _KEEPS.search(called.attr) or called.attr in MOVES else called.value
    return getattr(called, "id", "")


def _is_called_with_moved(use: Link) -> bool:
    call = use[1] and use[1][0]
    if call.__class__ is not ast.Call or call.func is not use[0]:
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if any(_is_moved(one) for one in given):
        return True
    names = {node.id for one in given for node in ast.walk(one) if isinstance(node, ast.Name)}
    function = next((above[0] for above in ancestors(use) if above[0].__class__ in FUNCTIONS[:2]), None)
    if function is None or not names:
        return False
    sets = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    return any(_is_moved(one.value) and names & {getattr(t, "id", "") for t in one.targets} for one in sets)


def _is_moved(value: Node) -> bool:
    """`x.cuda()`, `[x.to(device)]`, `torch.zeros(3, device=device)`; not `x.to(torch.int64)` and `x.to("cpu")`."""
    for call in (node for node in ast.walk(value) if isinstance(node, ast.Call)):
        method = getattr(call.func, "attr", "")
        if method in ("cuda", "npu"):
            return True
        places = [*(call.args[:1] if method == "to" else []), *(k.value for k in call.keywords if k.arg == "device")]
        if any(_is_device(ast.unparse(place)) for place in places):
            return True
    return False


def _is_device(written: str) -> bool:
    return written.startswith("torch.device(") or not written.startswith(("torch.", "'cpu'"))


def is_of_the_other_branch(call: Link) -> bool:
    """`load(path, map_location=...) if flag else load(path)`: somebody chose, and an edit would make both branches one."""
    choice = call[1][0] if call[1] is not None else None
    if not isinstance(choice, ast.IfExp):
        return False
    other = choice.orelse if choice.body is call[0] else choice.body
    return isinstance(other, ast.Call) and any(keyword.arg == "map_location" for keyword in other.keywords)
