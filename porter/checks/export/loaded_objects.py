"""What a file asks of a checkpoint that it has loaded: what neither a tensor nor a plain value has is an object's."""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Iterator

from porter.engine.rule import cst
from porter.engine.rule_file import RuleFile
from porter.python.blocks import place as position
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, parents
from porter.regex import lazy

_WRITTEN = lazy(r"\.\w+['\"]\)*$")
_LOAD = frozenset({"torch.load"})
_OF_NUMPY = "numpy"  # what it answers has methods of its own, and is no part of what was loaded
_COPIES = frozenset({"float", "half", "double", "to", "cpu", "cuda", "npu"})  # of tensors and of modules
_CLASS = lazy(r"(?:\w+\.)*[A-Z]\w*[a-z]\w*")
_PLAIN_CLASSES = frozenset({"OrderedDict", "Mapping", "MutableMapping", "Sequence", "Iterable", "Tensor", "Parameter"})
_PLAIN = (dict, OrderedDict, list, tuple, set, str, bytes, int, float, complex)


def asked(call: cst.Call, file: RuleFile) -> str | None:
    """`state_dict` of `checkpoint["model"].float().state_dict()`, where this call has loaded the checkpoint."""
    link = file.scene.link(call)
    if link is None:
        return None
    loads = [link[1], *_loads_of(link[1], file)] if link[1][0].args else [link[1]]
    loads += _calls_of_loader(link[1], file)
    return next((name for load in loads for place in _places(load, file) if (name := _foreign(place, file))), None)


def _places(load: Link, file: RuleFile) -> Iterator[Link]:
    """What is loaded, where its name is read, and where a part of it is read that got one: `model = checkpoint["model"]`."""
    yield load
    for reader in _readers(load, file):
        yield reader
        yield from _readers(reader, file)


def _calls_of_loader(load: Link, file: RuleFile) -> list[Link]:
    """The calls in the file of its function that gives back what is loaded here, alone or before something else:
    `return torch.load(path), path`."""
    above: Link = load[1]
    if above[0].__class__ is ast.Tuple and above[0].elts[0] is load[0]:
        above = above[1]
    owner = next((up[0] for up in ancestors(above) if up[0].__class__ in FUNCTIONS[:2]), None)
    if above[0].__class__ is not ast.Return or owner is None:
        return []
    called = (use[1] for use in file.names.spelled(owner.name) if use[0].__class__ is ast.Name)
    return [
        call
        for call in called
        if call is not None and call[0].__class__ is ast.Call and call[0].func.__class__ is ast.Name
    ]


def promised(call: cst.Call, file: RuleFile) -> str:
    """The function that gives back what is loaded here, where it is annotated to return a module."""
    link = file.scene.link(call)
    if link is None or link[1][1] is None or link[1][1][0].__class__ is not ast.Return:
        return ""
    owner = _function(link)
    kind = getattr(owner, "returns", None)
    return str(getattr(owner, "name", "")) if kind is not None and ast.unparse(kind).split(".")[-1] == "Module" else ""


def asserted(call: cst.Call, file: RuleFile) -> str:
    """The class of which what is loaded here has to be: `policy = torch.load(path)`, `assert isinstance(policy, Policy)`."""
    link = file.scene.link(call)
    for reader in _readers(link[1], file) if link is not None else ():
        asked: Node = reader[1][0] if reader[1] is not None else None
        is_first = asked.__class__ is ast.Call and asked.args[:1] == [reader[0]] and len(asked.args) == 2
        if is_first and call_name(asked.func) == "isinstance" and reader[1][1][0].__class__ is ast.Assert:
            kind = ast.unparse(asked.args[1])
            if _CLASS.fullmatch(kind) and kind.rpartition(".")[2] not in _PLAIN_CLASSES:
                return kind
    return ""


def shipped(original: cst.Call, file: RuleFile) -> str:
    """An object in the file that is loaded, where that is one of the project."""
    path = original.args[0].value if original.args and file.facts.checkpoints.shipped else None
    if not isinstance(path, (cst.SimpleString, cst.FormattedString)):
        return ""
    written = file.text(path).lstrip("f").strip("'\"")
    return next((held for name, held in file.facts.checkpoints.shipped if name == written), "")


def _loads_of(call: Link, file: RuleFile) -> Iterator[Link]:
    """All loads of a path that has the name of a file in it; of another, those in the same function."""
    path, around = ast.unparse(call[0].args[0]), _function(call)
    is_written = _WRITTEN.search(path) is not None
    for link in file.meaning.mentions.of(_LOAD):
        other = link[1]
        if other[0].__class__ is ast.Call and other[0].func is link[0] and other[0].args:
            if ast.unparse(other[0].args[0]) == path and (
                is_written or around is not None and _function(other) is around
            ):
                yield other


def _function(link: Link) -> Node | None:
    return next((above for above in parents(link) if isinstance(above, FUNCTIONS)), None)


def is_foreign(name: str, file: RuleFile) -> bool:
    """Whether neither a tensor nor a plain value has an attribute."""
    surface = file.session.support.catalogue.surface
    return surface.has(f"torch.Tensor.{name}") is False and not any(hasattr(kind, name) for kind in _PLAIN)


def _foreign(link: Link, file: RuleFile) -> str | None:
    """The first of the attributes behind a value that only an object has."""
    child = link[0]
    for above in ancestors(link):
        node = above[0]
        if node.__class__ is ast.Attribute:
            name: str = node.attr
            if name == _OF_NUMPY:
                return None
            if is_foreign(name, file):
                return name if "npu" not in name else None
        elif not (node.__class__ is ast.Subscript and node.value is child):
            if node.__class__ is not ast.Call or node.func is not child:
                return None
        child = node
    return None


def _readers(link: Link, file: RuleFile) -> Iterator[Link]:
    """Where the name that it, or a part of it, is given is read, up to where something else is."""
    while outer := _same(link):
        link = outer
    above: Node = link[1][0]
    if above.__class__ is not ast.Assign or len(above.targets) != 1:
        return
    target: Node = above.targets[0]
    for name in target.elts if target.__class__ in (ast.Tuple, ast.List) else [target]:
        if name.__class__ is not ast.Name:
            continue
        place = (name, link[1])
        others = (other for other in file.names.others.get(name.id, ()) if not is_other_branch(link, other))
        lines = [binding[0].lineno for binding in others if hasattr(binding[0], "lineno")]
        behind = min((line for line in lines if line > name.lineno), default=1 << 31)
        readers = (use for use in file.names.readers(name.id, place) if name.lineno < use[0].lineno <= behind)
        yield from (use for use in readers if not is_other_branch(link, use))


def _same(link: Link) -> Link | None:
    """The place around that still has what is loaded: a choice, a part of it, or a copy of other type: `["model"].float()`."""
    around: Link = link[1]
    if (
        around[0].__class__ in (ast.IfExp, ast.BoolOp)
        or around[0].__class__ is ast.Subscript
        and around[0].value is link[0]
    ):
        return around
    call = around[1] if around[0].__class__ is ast.Attribute and around[0].attr in _COPIES else None
    return call if call is not None and call[0].__class__ is ast.Call and call[0].func is around[0] else None


def is_other_branch(link: Link, other: Link) -> bool:
    """Whether two places stand in the two branches of one condition, so that no run comes from one to the other."""
    fields, child = dict[Node, str](), link[0]
    for node in parents(link):
        if node.__class__ is ast.If:
            fields[node] = position(node, child)[0]
        child = node
    child = other[0]
    for node in parents(other):
        if node in fields:
            return {fields[node], position(node, child)[0]} == {"body", "orelse"}
        child = node
    return False
