"""Answers questions about a loader: whether code takes batches from it, and whether its dataset is in memory."""

from __future__ import annotations

import ast
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import once
from porter.python.evidence import call_name, starts_alone
from porter.python.graphs import reached
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.parameters import parameters
from porter.regex import lazy
from porter.training.loops import LOOPS
from porter.training.transfers import is_moved

if TYPE_CHECKING:
    from porter.training.protocols import AnyScene

# functions that make tensors and lists in memory; a mapped file is not in memory
_MAKERS = frozenset(
    "tensor as_tensor stack cat zeros ones rand randn randint arange array asarray concatenate list FloatTensor LongTensor".split()
)
_ON_DEVICE = lazy(r"(?i)on_?(?:the_?)?(?:device|gpu|npu|cuda)")  # names of datasets whose items lie there
_READ = lazy(r"^read_")  # names of functions that read all items at once
_BATCH = lazy(r"^(?:batch|batch_data|rollouts?|trajector(?:y|ies))$")  # a parameter that holds what a step trains with
_FOLLOWED = 4  # assignments from a dataset back to the call that makes it, at most
_BUFFER = lazy(r"(?i)buffer\b|replay|rollout")  # names of buffers, which keep their items in memory
_CUTS = frozenset(
    "long int float size randint cat clone len tensor".split()
)  # what costs nothing beside a piece of a tensor

# what runs more than once, or at another time
_AGAIN = (*FUNCTIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def is_left(scene: AnyScene, link: Link) -> bool:
    """Whether no code takes a batch from a loader. That is known in a function, and in a notebook, as no file imports from one.
    `link`: of the function that makes it."""
    above = link[1][1]
    target: Node = above[0].targets[0] if above[0].__class__ is ast.Assign and len(above[0].targets) == 1 else None
    if target.__class__ is not ast.Name:
        return False
    around = scene.names.scopes.home(target.id, (target, above))
    readers = scene.names.readers(target.id, (target, above))
    if readers and all(map(_is_counted, readers)):
        return True  # only its length is read, for a schedule of the learning rate
    alone = around.__class__ in FUNCTIONS or scene.file.path.endswith(".ipynb") or starts_alone(above)
    return alone and all(_is_counted(reader) or _draws_once(reader, around) for reader in readers)


def _draws_once(reader: Link, around: Node) -> bool:
    """Whether a use takes one batch and no other: `next(iter(loader))`, or `loader.__iter__().__next__()`, outside of loops."""
    nodes = [a[0] for a in islice(ancestors(reader), 4)]
    if [n.__class__ for n in nodes] == [ast.Attribute, ast.Call, ast.Attribute, ast.Call]:
        is_drawn = (nodes[0].attr, nodes[2].attr) == ("__iter__", "__next__")
    else:
        is_drawn = [getattr(getattr(n, "func", None), "id", "") for n in nodes[:2]] == ["iter", "next"]
    inside = takewhile(lambda above: above[0] is not around, ancestors(reader))
    return is_drawn and not any(above[0].__class__ in (*LOOPS, *_AGAIN) for above in inside)


def _is_counted(reader: Link) -> bool:
    """Whether a use is `len(loader)`."""
    above: Node = reader[1][0]
    return above.__class__ is ast.Call and getattr(above.func, "id", "") == "len"


def is_in_memory(scene: AnyScene, link: Link) -> bool:
    """Whether the dataset is a list, or made from a buffer, or belongs to a class of this file that keeps all items in memory."""
    dataset = dataset_of(link)
    if dataset is None:
        return False
    if _is_list(scene, dataset, link) or _is_of_tensors(scene, dataset, link):
        return True
    return _BUFFER.search(_made_from(scene, dataset, link)) is not None or _lies_in_memory(scene, dataset, link)


def _is_list(scene: AnyScene, dataset: Node, link: Link) -> bool:
    """Whether a dataset is a list of items: a slice of one, a name or an attribute of this class that is only set to lists, or
    what a function has read. A `collate_fn` of its own has more to do than to hand them over."""
    if any(keyword.arg == "collate_fn" for keyword in link[1][0].keywords):
        return False
    if isinstance(dataset, ast.Subscript):
        return isinstance(dataset.slice, ast.Slice)
    if isinstance(dataset, ast.Attribute) and _is_own(dataset) and (owner := scene.owner(link)) is not None:
        values = _set_to(owner, dataset.attr)
    else:
        values = _values(scene, dataset, link)
    return bool(values) and all(
        isinstance(v, (ast.List, ast.ListComp)) or (isinstance(v, ast.Call) and _READ.search(call_name(v.func)))
        for v in values
    )


def _is_of_tensors(scene: AnyScene, dataset: Node, link: Link) -> bool:
    """Whether a dataset is a TensorDataset: a name for one, or what a function of the project returns."""
    made = {"TensorDataset", *scene.file.facts.own.loaders.in_memory}
    values = _values(scene, dataset, link)
    return bool(values) and all(v.__class__ is ast.Call and call_name(v.func) in made for v in values)


def _set_to(owner: ast.ClassDef, attribute: str) -> list[Node]:
    """What the assignments of a class set an attribute of its own to."""
    return [
        node.value
        for node in walk(owner)
        if isinstance(node, ast.Assign)
        if any(isinstance(t, ast.Attribute) and t.attr == attribute and _is_own(t) for t in node.targets)
    ]


def lies_on_device(scene: AnyScene, link: Link) -> bool:
    """Whether the items lie on the device: the call that makes the dataset, or what the dataset is taken from, gets the device."""
    dataset, place = dataset_of(link), link
    for _ in range(_FOLLOWED):
        while isinstance(dataset, (ast.Attribute, ast.Subscript)):
            dataset = dataset.value
        if isinstance(dataset, ast.Call):
            given = next((k.value for k in dataset.keywords if k.arg == "device"), None)
            on_host = given is None or "cpu" in ast.unparse(given) or ast.unparse(given) == "None"
            if not on_host or _ON_DEVICE.search(call_name(dataset.func)) is not None:
                return True
            # of a name that some way moves there: `if on_gpu: data = data.to("cuda")`
            return any(is_moved(value) for name in _arguments(dataset) for value in _values(scene, name, place))
        bindings = scene.names.bindings(dataset.id, place) if isinstance(dataset, ast.Name) else []
        above = next((a for a in ancestors(bindings[0]) if isinstance(a[0], ast.stmt)), None) if bindings[:1] else None
        if len(bindings) != 1 or above is None or not isinstance(above[0], ast.Assign):
            return False
        dataset, place = above[0].value, above
    return False


def holds_a_batch(scene: AnyScene, link: Link) -> bool:
    """Whether a step cuts into pieces what it has computed of its batch, as PPO does: the dataset is made in a method that gets
    the batch, of names that it sets itself."""
    function = next((a for a in ancestors(link) if a[0].__class__ in FUNCTIONS), None)
    dataset = dataset_of(link)
    if function is None or dataset is None or not any(_BATCH.search(name) for name in parameters(function[0])):
        return False
    given = {n.id for made in _values(scene, dataset, link) if made.__class__ is ast.Call for n in _arguments(made)}
    stored = (n for n in walk(function[0]) if n.__class__ is ast.Name and n.ctx.__class__ is ast.Store)
    own = {n.id for n in stored} | {name for name in parameters(function[0]) if _BATCH.search(name)}
    return bool(given) and given <= own


def _arguments(call: ast.Call) -> list[ast.Name]:
    """The names among the arguments of a call."""
    parts = (*call.args, *(k.value for k in call.keywords))
    return [n for part in parts for n in walk(part) if n.__class__ is ast.Name]


def readers(scene: AnyScene, link: Link) -> list[Link]:
    """The uses of a loader by the name, or in the class by the attribute of `self`, that holds it alone."""
    above = link[1][1]
    target: Node = above[0].targets[0] if above[0].__class__ is ast.Assign and len(above[0].targets) == 1 else None
    if target.__class__ is ast.Name:
        return scene.names.readers(target.id, (target, above))
    if target.__class__ is not ast.Attribute or not _is_own(target):
        return []
    owner = scene.owner(link)
    uses = (use for use in scene.file.buckets[ast.Attribute] if use[0].attr == target.attr and _is_own(use[0]))
    return [use for use in uses if scene.owner(use) is owner]


def is_started_anew(scene: AnyScene, link: Link) -> bool:
    """Whether batches are only taken by `next(iter(loader))` in a loop: each time, all workers of the loader would start."""
    uses = [use for use in readers(scene, link) if use[0].ctx.__class__ is ast.Load]
    return any(map(_takes_one, uses)) and all(_takes_one(use) or _is_counted(use) for use in uses)


def _takes_one(reader: Link) -> bool:
    """Whether a use is `next(iter(loader))` in a loop."""
    made, taken = reader[1], reader[1][1]
    if getattr(getattr(made[0], "func", None), "id", "") != "iter" or not isinstance(taken[0], ast.Call):
        return False
    return getattr(taken[0].func, "id", "") == "next" and any(a[0].__class__ in LOOPS for a in ancestors(taken))


def is_read_by_each_worker(scene: AnyScene, link: Link) -> bool:
    """Whether each worker would read the whole dataset: an IterableDataset of this file that does not ask for its worker."""
    dataset = dataset_of(link)
    values = [] if dataset is None else _values(scene, dataset, link)
    names = {call_name(value.func) for value in values if isinstance(value, ast.Call)}
    owners = [link[0] for link in scene.file.buckets[ast.ClassDef] if link[0].name in names]
    return any(
        any(call_name(base) == "IterableDataset" for base in owner.bases)
        and not any(call_name(node) == "get_worker_info" for node in walk(owner))
        for owner in owners
    )


def dataset_of(link: Link) -> Node:
    call = link[1][0]
    named = next((k.value for k in call.keywords if k.arg == "dataset"), None)
    return named or next(iter(call.args), None)


def _values(scene: AnyScene, dataset: Node, link: Link) -> list[Node]:
    return values_of(scene.names, dataset, link) if isinstance(dataset, ast.Name) else [dataset]


def _made_from(scene: AnyScene, dataset: Node, link: Link) -> str:
    """The text of the arguments of the calls that make a dataset, if a name holds it."""
    values = values_of(scene.names, dataset, link) if isinstance(dataset, ast.Name) else []
    calls = [value for value in values if isinstance(value, ast.Call)]
    return " ".join(ast.unparse(part) for call in calls for part in (*call.args, *(k.value for k in call.keywords)))


def _lies_in_memory(scene: AnyScene, dataset: Node, link: Link) -> bool:
    """Whether `__getitem__` of a class of this file only takes items of attributes that its `__init__` fills."""
    values = _values(scene, dataset, link)
    names = [value.func.id for value in values if isinstance(value, ast.Call) and isinstance(value.func, ast.Name)]
    if not names or len(names) != len(values):
        return False
    classes = {link[0].name: link[0] for link in scene.file.buckets[ast.ClassDef]}
    return all(name in classes and (_only_indexes(classes[name]) or _slices_tensor(classes[name])) for name in names)


def _only_indexes(dataset: ast.ClassDef) -> bool:
    methods = {node.name: node for node in dataset.body if isinstance(node, ast.FunctionDef)}
    getter, maker = methods.get("__getitem__"), methods.get("__init__")
    if getter is None or maker is None or any(isinstance(node, ast.Call) for node in walk(getter)):
        return False
    taken = {node.attr for node in walk(getter) if isinstance(node, ast.Attribute) and _is_own(node)}
    filled = {
        target.attr
        for node in walk(maker)
        if isinstance(node, ast.Assign) and _is_made(node.value)
        for target in node.targets
        if isinstance(target, ast.Attribute) and _is_own(target)
    }
    return bool(taken) and taken <= filled


def _slices_tensor(dataset: ast.ClassDef) -> bool:
    """Whether `__getitem__` only cuts pieces out of a tensor that lies in memory, as its `size()` shows: `self.data[at : at + 64].long()`."""
    getter = next((node for node in dataset.body if getattr(node, "name", "") == "__getitem__"), None)
    if getter is None or any(isinstance(n, ast.Call) and call_name(n.func) not in _CUTS for n in walk(getter)):
        return False
    cut = {n.value.attr for n in walk(getter) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Attribute)}
    asked = {
        n.func.value.attr
        for n in walk(dataset)
        if isinstance(n, ast.Call) and call_name(n.func) == "size" and isinstance(n.func, ast.Attribute)
        if isinstance(n.func.value, ast.Attribute) and _is_own(n.func.value)
    }
    return bool(cut) and cut <= asked


def is_dataset(owner: ast.ClassDef) -> bool:
    return any(call_name(base).endswith(("Dataset", "dataset")) for base in owner.bases)


@once
def called_by_items(dataset: ast.ClassDef) -> frozenset[str]:
    """The methods that `__getitem__` and `__iter__` of a class call, directly or through each other."""
    methods = {node.name: node for node in dataset.body if isinstance(node, ast.FunctionDef)}

    def called(name: str) -> list[str]:
        attributes = (node for node in walk(methods[name]) if isinstance(node, ast.Attribute) and _is_own(node))
        return [node.attr for node in attributes if node.attr in methods]

    return frozenset(reached(methods.keys() & {"__getitem__", "__iter__"}, called))


def _is_own(node: ast.Attribute) -> bool:
    return getattr(node.value, "id", "") == "self"


def _is_made(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return call_name(value.func) in _MAKERS
    return isinstance(value, (ast.List, ast.ListComp))
