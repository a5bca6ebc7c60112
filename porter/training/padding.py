"""Finds how a function that puts samples together pads them: to the longest sample, if nothing rounds that length up."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once, once_for_file
from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, ancestors, walk
from porter.regex import lazy
from porter.training.dynamic_sizes import SIZE

if TYPE_CHECKING:
    from porter.python.file import File
    from porter.training.scene import Scene

# names of functions that collate, and that tokenise
_COLLATES = lazy(r"(?i)collat")
_TOKENISES = lazy(r"(?i)token|processor")
_ROUNDS = lazy(rb"[^\"']%|//|(?i:multiple|bucket|ceil|round)")  # the function rounds lengths
_CALLED = ("__call__", "torch_call")  # methods that make a batch
_READS = lazy(r"\bsuper\b|\.pad(?:ding|_to_multiple_of)?\b")  # of what the base keeps, or calls
_LONGEST = lazy(r"(?i)^max_?|seq(?:uence)?_?len")  # a parameter that is a length which all batches have
_PAD = "torch.nn.utils.rnn.pad_sequence"


@once_for_file
def may_collate(file: File) -> bool:
    """Whether a file may collate or tokenise. Most files do not contain the words."""
    words = file.source.vocabulary.lower()
    return b"collat" in words or b"padding" in words


@once_for_file
def _handed_to_loaders(file: File) -> frozenset[str]:
    """The names of functions and classes that loaders get: `make_batch` of `collate_fn=make_batch`, `Batcher` of
    `collate_fn=Batcher(tokenizer)`."""
    given = (k.value for link in file.buckets[ast.Call] for k in link[0].keywords if k.arg == "collate_fn")
    names = set()
    for node in given:
        if node.__class__ is ast.Call and call_name(node.func) == "partial" and node.args:
            node = node.args[0]
        names.add(call_name(node.func if node.__class__ is ast.Call else node))
    for link in file.buckets[ast.Assign]:
        target, value = link[0].targets[0], link[0].value
        if value.__class__ is ast.Call and call_name(target) in names:
            names.add(call_name(value.func))
    return frozenset(names - {""})


def padded(scene: Scene, link: Link) -> str | None:
    """How a call decides the length of a batch: 'collate' (pad_sequence), 'tokenizer' (padding=True), 'by-hand' (max), 'cut' (max,
    to which tensors of one length are cut).

    None where it does not, or where an earlier call of the same function does: one finding is enough.
    """
    function = scene.function(link)
    if scene.file.tested or function is None:
        return None
    if not collates(scene, link):  # a batch that is tokenised in the step is padded to its longest sample
        return "tokenizer" if tokenises(scene, link) and _decides(scene, link, function) == "tokenizer" else None
    if not (why := _decides(scene, link, function)):
        return None
    first_places = scene.flows.padding
    if function[0] not in first_places:
        links = filter(None, map(scene.link_to, (n for n in walk(function[0]) if n.__class__ is ast.Call)))
        first_places[function[0]] = min(_place(other[0]) for other in links if _decides(scene, other, function))
    return why if first_places[function[0]] == _place(link[0]) else None


def collates(scene: Scene, link: Link) -> bool:
    """Whether the function around puts samples together, by its own name or the name of its class."""
    function, owner = scene.function(link), scene.owner(link)
    if function is None:
        return False
    names = [function[0].name, *([owner.name] if owner else [])]
    return any(map(_COLLATES.search, names)) or not _handed_to_loaders(scene.file).isdisjoint(names)


def tokenises(scene: Scene, link: Link) -> bool:
    """Whether a call tokenises for every batch of the training: `tokenizer(texts, padding=True)`."""
    call = link[0] if link[0].__class__ is ast.Call else link[1][0]
    return bool(_TOKENISES.search(call_name(call.func))) and bool(scene.matters(link))


def _decides(scene: Scene, link: Link, function: Link) -> str | None:
    call = link[0]
    if scene.names.resolve(call.func, link) == _PAD:
        name = getattr(getattr(link[1][0], "targets", [None])[0], "id", "")
        is_rounded = scene.file.source.says(_ROUNDS, function[0]) and _is_padded_again(function[0], name)
        return None if is_rounded or name in _of_one_length(function[0], scene, link) else "collate"
    given = {k.arg: constant(k.value) for k in call.keywords}
    if given.get("padding") in (True, "longest"):
        if call_name(call.func) == "__init__" and _pads_itself(scene, link):
            return None
        return "tokenizer" if given.keys().isdisjoint({"pad_to_multiple_of", None}) else None
    if getattr(call.func, "id", "") != "max" or len(call.args) != 1 or call.args[0].__class__ is ast.Starred:
        return None
    if scene.file.source.says(_ROUNDS, function[0]):
        return None
    if _only_cuts(link, function[0]):
        return "cut"
    reach = scene.flows.reach(function, call, SIZE)
    return "by-hand" if reach is not None and reach.operators or _fills_up(scene, link, function) else None


def _is_padded_again(function: Node, name: str) -> bool:
    """`x = pad_sequence(x)`, and `x = F.pad(x, (0, more))`."""
    calls = (n.value for n in walk(function) if n.__class__ is ast.Assign and n.value.__class__ is ast.Call)
    return any(call_name(call.func) == "pad" and getattr(call.args[0], "id", "") == name for call in calls if call.args)


def _pads_itself(scene: Scene, link: Link) -> bool:
    """Whether `super().__init__(tokenizer, padding=True)` is of a class with another `__call__`, which reads nothing of what the
    base is given."""
    owner = scene.owner(link)
    called = [ast.unparse(s) for s in owner.body if getattr(s, "name", "") in _CALLED] if owner is not None else []
    return bool(called) and not any(map(_READS.search, called))


def _fills_up(scene: Scene, link: Link, function: Link) -> bool:
    """Whether a call of max gives the length for a `F.pad`: `longest = max(...)`, `F.pad(x, (0, longest - len(x)))`."""
    above = link[1][0]
    target: Node = above.targets[0] if above.__class__ is ast.Assign and len(above.targets) == 1 else None
    return target.__class__ is ast.Name and target.id in _filled_to(function[0], scene, link)


def _only_cuts(link: Link, function: Node) -> bool:
    """Whether all that a call of max gives is where tensors end, or begin: `longest = max(lengths)`, `ids[:, :longest]`."""
    above = next(a for a in ancestors(link) if isinstance(a[0], ast.stmt))[0]
    target: Node = above.targets[0] if above.__class__ is ast.Assign and len(above.targets) == 1 else None
    if target.__class__ is not ast.Name:
        return False
    slices = [n for n in walk(function) if n.__class__ is ast.Slice]
    ends = [end for n in slices for end in (n.lower, n.upper) if end is not None]
    cuts = {id(end.operand if end.__class__ is ast.UnaryOp else end) for end in ends}
    uses = [n for n in walk(function) if getattr(n, "id", "") == target.id and n.ctx.__class__ is ast.Load]
    return bool(uses) and all(id(use) in cuts for use in uses)


@once
def _of_one_length(function: Node, scene: Scene, link: Link) -> frozenset[str]:
    """The names of a function that are filled up to a length of the object's own, `F.pad(x, (0, self.longest - n))`, or of a parameter."""
    named = {
        n.targets[0].id: n.value
        for n in walk(function)
        if n.__class__ is ast.Assign and n.targets[0].__class__ is ast.Name
    }
    filled = set()
    for call in (n for n in walk(function) if n.__class__ is ast.Call and call_name(n.func) == "pad" and n.args):
        if scene.names.resolve(call.func, link) != "torch.nn.functional.pad":
            continue
        widths = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "pad")]
        widths += [named[n.id] for width in widths for n in walk(width) if getattr(n, "id", "") in named]
        if any(_is_rest(node) for width in widths for node in walk(width)):
            filled.add(getattr(call.args[0], "id", ""))
    return frozenset(filled - {""}) | _grown(function)


def _grown(function: Node) -> frozenset[str]:
    """The names that `torch.cat` makes as long as a parameter says: `x = torch.cat([x, x.new_zeros(len(x), max_length - len(x[0]))], 1)`."""
    longest = {arg.arg for arg in function.args.args if _LONGEST.search(arg.arg)}
    grown = set[str]()
    for call in (n for n in walk(function) if n.__class__ is ast.Call and call_name(n.func) in ("cat", "concat")):
        parts: list[Node] = getattr(call.args[0], "elts", []) if call.args else []
        rests = [n for part in parts for n in walk(part) if n.__class__ is ast.BinOp and n.op.__class__ is ast.Sub]
        if any(getattr(rest.left, "id", "") in longest for rest in rests):
            grown |= {part.id for part in parts if part.__class__ is ast.Name}
    return frozenset(grown)


def _is_rest(node: Node) -> bool:
    """`self.longest - n`"""
    whole: Node = getattr(node, "left", None) if getattr(node, "op", None).__class__ is ast.Sub else None
    return whole.__class__ is ast.Attribute and getattr(whole.value, "id", "") == "self"


@once
def _filled_to(function: Node, scene: Scene, link: Link) -> frozenset[str]:
    """The names in the widths of all `F.pad` of a function."""
    calls = (node for node in walk(function) if node.__class__ is ast.Call and len(node.args) > 1)
    padding = (call for call in calls if scene.names.resolve(call.func, link) == "torch.nn.functional.pad")
    return frozenset(node.id for call in padding for node in walk(call.args[1]) if node.__class__ is ast.Name)


def _place(call: Node) -> tuple[int, int]:
    return call.func.end_lineno, call.func.end_col_offset
