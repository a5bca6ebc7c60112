"""Finds values that were never on the device, by their names or by other uses of them.

Examples are the lengths of a packed sequence, parts of a batch before it is moved, and numbers with which an object was made.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once, once_for_file
from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, ancestors, walk
from porter.python.parameters import parameters
from porter.python.walks import names_in
from porter.regex import lazy, rare
from porter.rulebook.table import hint
from porter.training.buffers import is_of_trainer
from porter.training.host_masks import is_read_there
from porter.training.on_the_host import is_pickled, sends_objects

if TYPE_CHECKING:
    from porter.engine.rule_file import Names as AnyNames
    from porter.python.file import File
    from porter.training.scene import Scene

_MOVES = hint("moves-to-a-device")
# collectives that reduce; text about packed sequences
_REDUCTIONS = frozenset({"all_reduce", "reduce", "reduce_scatter_tensor"})
_PACKED = rare(rb"PackedSequence|pack_(?:padded_)?sequence|pad_packed_sequence")
_STARRED = lazy(rb"import[ \t]*\*")
_KEEPING = frozenset(
    "detach clone contiguous cpu long int max min sum".split()
)  # methods after which a tensor on the host is still there


def stays(scene: Scene, node: Node, link: Link) -> bool:
    """Whether an expression is on the host for one of these reasons, or has to come there to be bytes."""
    if _counts_steps(node) or _is_packed(scene, node, link) or is_pickled(link) or is_read_there(node, scene, link):
        return True
    if _is_imported(scene, node, link) or sends_objects(scene, link) or is_of_trainer(scene, node, link):
        return True
    return _is_not_moved_yet(scene, node, link) or _was_given(scene, node, link) or _is_handed_on(scene, node, link)


def _is_imported(scene: Scene, node: Node, link: Link) -> bool:
    """Whether a name is a constant of another module, which was made on import: `WIDTH.item()` below `from sizes import *`."""
    if node.__class__ is not ast.Name:
        return False
    bound = [binding[0].__class__ for binding in scene.names.bindings(node.id, link)]
    if not bound:
        return scene.file.source.says(_STARRED)
    return all(kind is ast.ImportFrom for kind in bound)


def _counts_steps(node: Node) -> bool:
    """Whether an expression is the number of steps that an optimizer keeps, on the CPU as torch's own do: `state["step"]`."""
    name = constant(node.slice) if node.__class__ is ast.Subscript else getattr(node, "id", "")
    return name in ("step", "step_t", "steps")


def _is_packed(scene: Scene, node: Node, link: Link) -> bool:
    """Whether an expression is the batch sizes or the lengths of a packed sequence, which torch keeps on the CPU:
    `int(batch_sizes[0])`, `packed.batch_sizes.tolist()`."""
    if not scene.file.source.says(_PACKED):
        return False
    while node.__class__ is ast.Subscript or node.__class__ is ast.Call and getattr(node.func, "attr", "") in _KEEPING:
        node = node.value if node.__class__ is ast.Subscript else node.func.value
    named = getattr(node, "attr", "") or getattr(node, "id", "")
    return named == "batch_sizes" or node.__class__ is ast.Name and _are_lengths(scene, node.id, link)


def _are_lengths(scene: Scene, name: str, link: Link) -> bool:
    """Whether a name is only bound as in `x, lengths = pad_packed_sequence(packed)`."""
    bindings = scene.names.bindings(name, link)
    pairs = [b[1] for b in bindings if b[1][0].__class__ is ast.Tuple and b[1][0].elts[1:2] == [b[0]]]
    values = [getattr(pair[1][0], "value", None) for pair in pairs if pair[1] is not None]
    calls = [value for value in values if isinstance(value, ast.Call)]
    return 0 < len(bindings) == len(calls) and all(call_name(c.func) == "pad_packed_sequence" for c in calls)


def _is_not_moved_yet(scene: Scene, node: Node, link: Link) -> bool:
    """Whether an expression reads a parameter before it is moved: `mask = batch["mask"]` above `batch = batch.to(device)`."""
    function = scene.function(link)
    if function is None:
        return False
    moved = _moved(function[0])
    if not moved:
        return False
    names = names_in(node)
    for name in [*names]:
        for binding in scene.names.bindings(name, link):
            above = binding[1] and binding[1][0]
            if above.__class__ in (ast.Assign, ast.NamedExpr) and binding[0].lineno <= link[0].lineno:
                names |= names_in(above.value)
    return any(link[0].lineno < moved[name] for name in names & moved.keys())


@once
def _moved(function: Node) -> dict[str, int]:
    """The parameters that a function moves to the device, each with the line of the move."""
    handed, lines = {*parameters(function)}, dict[str, int]()
    for statement in function.body:
        target: Node = statement.targets[0] if statement.__class__ is ast.Assign else None
        if target.__class__ is not ast.Name or target.id not in handed:
            continue
        calls = [n for n in walk(statement.value) if n.__class__ is ast.Call and _MOVES.search(call_name(n.func))]
        if any(target.id in names_in(call) for call in calls):
            lines[target.id] = statement.lineno
    bound = [n.id for n in walk(function) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store] if lines else []
    return {name: line for name, line in lines.items() if bound.count(name) == 1}


def _was_given(scene: Scene, node: Node, link: Link) -> bool:
    """Whether an attribute is a number that the object was made with: `self.width = width` in an `__init__` that also reads
    `width.item()`."""
    owner = scene.owner(link)
    if owner is None or node.__class__ is not ast.Attribute or getattr(node.value, "id", "") != "self":
        return False
    values = scene.file.receivers.members(owner).get(node.attr, ())
    return bool(values) and all(getattr(value, "id", "") in _numbers(owner) for value in values)


def _is_handed_on(scene: Scene, node: Node, link: Link) -> bool:
    """Whether a parameter is what the file makes of a few numbers on the host and hands on by this name: `size=size` below
    `size = torch.tensor([height, width])`."""
    function = scene.function(link)
    if function is None or node.__class__ is not ast.Name or node.id not in parameters(function[0]):
        return False
    return node.id in _handed_on(scene.file)


@once_for_file
def _handed_on(file: File) -> frozenset[str]:
    """The names that a file sets to nothing but such tensors, or to what it makes of them."""
    values: dict[str, list[Link]] = {}
    for link in file.buckets[ast.Assign] if file.source.says(b"torch.tensor([") else ():
        for target in link[0].targets:
            values.setdefault(getattr(target, "id", ""), []).append(link)
    given = (k for link in file.buckets[ast.Call] if values for k in link[0].keywords)
    handed = {k.arg for k in given if k.arg and getattr(k.value, "id", "") == k.arg}
    known = (name for name in values.keys() & handed if all(_is_of_numbers(file, name, at) for at in values[name]))
    return frozenset(name for name in known if not file.source.says(b"%s.to(" % name.encode()))


def _is_of_numbers(file: File, name: str, at: Link) -> bool:
    """Whether a name is set to `torch.tensor([a, b])`, or to what is made of itself."""
    value = at[0].value
    if value.__class__ is not ast.Call or file.names.resolve(value.func, (value.func, (value, at))) != "torch.tensor":
        return name in names_in(value)
    return value.args[:1] != [] and value.args[0].__class__ in (ast.List, ast.Tuple) and not value.keywords


@once
def _numbers(owner: ast.ClassDef) -> frozenset[str]:
    """The parameters whose `.item()` the `__init__` of a class reads."""
    inits = [s for s in owner.body if s.__class__ is ast.FunctionDef and getattr(s, "name", "") == "__init__"]
    return frozenset(
        n.func.value.id
        for init in inits
        for n in walk(init)
        if n.__class__ is ast.Call
        and call_name(n.func) == "item"
        and getattr(n.func.value, "id", "") in parameters(init)
    )


def is_read_as_array(names: AnyNames, link: Link) -> bool:
    """Whether the result of a call is on the host because it becomes an array later, without a copy: `x = x.double()`,
    `x.numpy()`. With a tensor on a GPU, that would fail."""
    statement: Node = link[1][0]
    target: Node = statement.targets[0] if statement.__class__ is ast.Assign and len(statement.targets) == 1 else None
    if target.__class__ is not ast.Name or statement.value is not link[0]:
        return False
    uses = names.readers(target.id, (target, link[1]))
    called = [use[1][0].attr for use in uses if use[1][0].__class__ is ast.Attribute and _is_called(use[1])]
    moved = any(_stays_named(use, target.id) for use in uses)
    return "numpy" in called and not moved


def _is_called(link: Link) -> bool:
    return link[1][0].__class__ is ast.Call and link[1][0].func is link[0]


def _stays_named(use: Link, name: str) -> bool:
    """Whether a use moves a name to the host: `x = x.cpu()`, `x = x.detach().to("cpu")`."""
    words = set()
    for above in ancestors(use):
        if above[0].__class__ is ast.Attribute:
            words.add(above[0].attr)
        if isinstance(above[0], ast.stmt):
            targets: list[Node] = getattr(above[0], "targets", [])
            return not words.isdisjoint({"cpu", "to"}) and any(getattr(t, "id", "") == name for t in targets)
    return False


def is_reduced(names: AnyNames, link: Link) -> bool:
    """Whether a collective gets the result of a call: `t = torch.tensor(...)`, `dist.all_reduce(t)`. Then PRT208 reports its
    type."""
    statement = link[1]
    target: Node = statement[0].targets[0] if statement is not None and statement[0].__class__ is ast.Assign else None
    if target.__class__ is not ast.Name:
        return False
    for use in names.readers(target.id, (target, statement)):
        call = use[1]
        if call[0].__class__ is ast.Call and use[0] in call[0].args:
            name = names.resolve(call[0].func, call) or ""
            if name.startswith("torch.distributed.") and call_name(call[0].func) in _REDUCTIONS:
                return True
    return False
