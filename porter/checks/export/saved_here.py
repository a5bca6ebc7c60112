"""What `torch.load(place)` reads is what the same file saves there: whether that is more than tensors and plain values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from porter.checks.export.whole_model_saved import MODEL
from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.python.blocks import place as position
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, parents
from porter.regex import lazy

_SAVE = frozenset({"torch.save"})
_HANDLES = frozenset({"open", "GFile", "xopen"})
_PARTS = (ast.Tuple, ast.List)
_CLASS = lazy(r"_?[A-Z][a-z]\w*$")  # `Corpus(...)`, `Vocab(...)`
_OF_TORCH = ("torch.nn.", "torch.utils.data.")  # whose classes are objects as well
_FILE = lazy(r"['\"/]([\w.-]+\.\w+)['\"]\)*$")
_FEATURES = lazy(r"(?i)_to_features$")  # of transformers, and of whoever took it from there
_MAKES_FOLDERS = lazy(r"(?i)_*(?:make|ensure|create|prepare)_?(?:path|dirs?|folders?|parents?)(?:_exists?)?")
_READ = rb"\b(\w+)\.[a-z_]+\b[^\n]{0,99}\bfor[ \t]+\1[ \t]+in[ \t]+%s\b"  # [f.label for f in features]
_USED = rb"\b%s(?:\.(?:parameters|train|eval|zero_grad)\(|\()"


@dataclass(frozen=True)
class _Place:
    """What a path is, as far as it is written down; a parameter is one path in its function alone, `self.path` in its class."""

    text: str
    function: Node | None

    @property
    def last(self) -> str:
        """`name)` of `os.path.join(folder, name)`."""
        return self.text.rpartition(",")[2]

    @property
    def file_name(self) -> str:
        """`model.pt` of `os.path.join(folder, "model.pt")`."""
        match = _FILE.search(self.text)
        return match[1] if match else ""


def object_saved(call: Link, file: RuleFile) -> str | None:
    """For the link of `torch.load(place)`: what is saved at that place and holds an object, as it is written."""
    place = _place(call[0].args[0], call, file) if call[0].args else None
    if place is None:
        return None
    above = call[1][0]
    name = ast.unparse(above.targets[0]) if above.__class__ is ast.Assign else ""
    for where, text in _saved(file):
        # another folder, from which the run before is taken up
        if where == place or text == name and where.file_name and where.file_name == place.file_name:
            return text
    return None


@once_for_file
def _saved(file: RuleFile) -> tuple[tuple[_Place, str], ...]:
    """Where this file saves an object, and the object."""
    return tuple(_objects(file))


def _objects(file: RuleFile) -> Iterator[tuple[_Place, str]]:
    for call, place in _saves(file):
        held = next((part for part in _parts(call[0].args[0]) if _is_object(part, call, file)), None)
        if held is not None:
            yield place, ast.unparse(held)


@once_for_file
def _saves(file: RuleFile) -> tuple[tuple[Link, _Place], ...]:
    """The calls of torch.save, and where they save."""
    found: list[tuple[Link, _Place]] = []
    for link in file.meaning.mentions.of(_SAVE):
        call = link[1]
        if call[0].__class__ is not ast.Call or call[0].func is not link[0] or len(call[0].args) < 2:
            continue
        if (place := _place(_unwrapped(call[0].args[1]), call, file)) is not None:
            found.append((call, place))
    return tuple(found)


def _unwrapped(path: Node) -> Node:
    """`path` of `make_path(path)`, which makes its folder first."""
    is_made = path.__class__ is ast.Call and len(path.args) == 1 and _MAKES_FOLDERS.fullmatch(call_name(path.func))
    return path.args[0] if is_made else path


def is_written_before(call: Link, file: RuleFile) -> bool:
    """Whether the program has saved, come what may, the file that it loads: on the device that it runs on."""
    place = _place(call[0].args[0], call, file) if call[0].args else None
    saves = (save for save, where in _saves(file) if where == place and save[0].lineno < call[0].lineno)
    return place is not None and any(_runs_before(save, call, file) for save in saves)


def is_saved_on_host(call: Link, file: RuleFile) -> bool:
    """Whether nothing that lies on a device is in what `torch.load(place)` reads: a number that the same file saves there, or what
    was moved to the CPU, in a file that saves nothing else, and under such a name."""
    place = _place(call[0].args[0], call, file) if call[0].args else None
    saves = _saves(file)
    if place is None or not saves:
        return False
    same = [save for save, where in saves if where == place]
    if same and all(_is_number(save[0].args[0], save, file) for save in same):
        return True
    if len(saves) < len(file.meaning.mentions.of(_SAVE)) or all(where.last != place.last for _, where in saves):
        return False
    return all(_is_on_host(save[0].args[0]) for save, _ in saves)


def is_tensor(call: Link, file: RuleFile) -> bool:
    """Whether a load reads one tensor that the same file has computed and saved: `torch.save(torch.cat(rows), place)`."""
    place = _place(call[0].args[0], call, file) if call[0].args else None
    same = [save for save, where in _saves(file) if where == place] if place is not None else []
    return bool(same) and all(_is_computed(save[0].args[0], save, file) for save in same)


def _is_computed(saved: Node, link: Link, file: RuleFile) -> bool:
    """A name that is set to what functions of torch answer, and only to that."""
    values = _values(saved, link, file) if saved.__class__ is ast.Name else [saved]
    values = [v for v in values if v.__class__ not in (ast.List, ast.Constant)]
    calls = [(file.names.resolve(v.func, link) or "") if v.__class__ is ast.Call else "" for v in values]
    return bool(calls) and all(
        name.count(".") == 1 and name.startswith("torch.") and name != "torch.load" for name in calls
    )


def _is_on_host(saved: Node) -> bool:
    """`net.cpu().state_dict()`, and a dictionary of nothing else."""
    if saved.__class__ is ast.Dict:
        return bool(saved.values) and all(map(_is_on_host, saved.values))
    while saved.__class__ in (ast.Call, ast.Attribute):
        inner = saved.func if saved.__class__ is ast.Call else saved.value
        if inner.__class__ is ast.Attribute and saved.__class__ is ast.Call and inner.attr == "cpu":
            return True
        saved = inner
    return False


def _is_number(value: Node, link: Link, file: RuleFile) -> bool:
    """`self.steps`, where the class sets it to numbers, adds numbers to it, and loads it."""
    if value.__class__ is not ast.Attribute:
        return False
    owner = next((n for n in parents(link) if n.__class__ is ast.ClassDef), None)
    stored = [s for s in file.buckets[ast.Attribute] if s[0].attr == value.attr and s[0].ctx.__class__ is ast.Store]
    stored = [s for s in stored if owner is not None and owner in parents(s)]
    given: list[Node] = [s[1][0].value for s in stored if s[1][0].__class__ in (ast.Assign, ast.AugAssign)]
    numbers = [v for v in given if v.__class__ is ast.Constant and type(v.value) in (int, float)]
    return bool(numbers) and len(given) == len(stored) and all(v in numbers or _is_load(v) for v in given)


def _runs_before(save: Link, call: Link, file: RuleFile) -> bool:
    """A round of a loop may choose to save; what a condition alone leads to, or its other branch, may not have been run, unless
    the load asks the same."""
    below = dict(_steps(call))
    apart: list[Node] = []
    for above, child in _steps(save):
        if above in below:
            outermost = next((node for node in reversed(apart) if node.__class__ is not ast.With), None)
            is_run = outermost is None or outermost.__class__ in (ast.For, ast.While, ast.Expr)
            is_run = is_run or _is_asked_again(outermost, apart, below, file)
            return is_run and position(above, child)[0] == position(above, below[above])[0]
        apart.append(above)
    return False


def _is_asked_again(first: Node, inside: list[Node], below: Mapping[Node, Node], file: RuleFile) -> bool:
    """`if keep: save(path)`, and `if keep: load(path)` further down, where `keep` is set once. `inside`: the nodes around the save,
    `below`: those around the load, each with the one that leads there."""
    asked: Node = first.test if first.__class__ is ast.If else None
    if asked.__class__ is not ast.Name or len(file.names.others.get(asked.id, ())) != 1:
        return False
    if any(node is not first and node.__class__ is ast.If for node in inside):
        return False
    again = [node for node in below if node.__class__ is ast.If and getattr(node.test, "id", "") == asked.id]
    is_body = bool(first.body) and any(node in first.body for node in inside)
    return is_body and any(position(node, below[node])[0] == "body" for node in again)


def _steps(link: Link) -> Iterator[tuple[Node, Node]]:
    """The nodes around a place, the innermost first, each with the node below it that leads there."""
    child = link[0]
    for above, _ in ancestors(link):
        yield above, child
        child = above


def _parts(saved: Node) -> list[Node]:
    if saved.__class__ is ast.Dict:
        return list(saved.values)
    return list(saved.elts) if saved.__class__ in _PARTS else [saved]


def _place(path: Node, link: Link, file: RuleFile) -> _Place | None:
    """The path behind a name, an attribute of an object, or an open file; None where it is none of them."""
    function = next((n for n in parents(link) if n.__class__ in FUNCTIONS[:2]), None)
    if path.__class__ is ast.Constant and isinstance(path.value, str):
        return _Place(repr(path.value), None)
    if path.__class__ is ast.Attribute and getattr(path.value, "id", "") == "self":
        owner = next((n for n in parents(link) if n.__class__ is ast.ClassDef), None)
        return _Place(ast.unparse(path), owner) if owner is not None else None
    if path.__class__ is not ast.Name:
        return _Place(ast.unparse(path), None) if path.__class__ in (ast.BinOp, ast.Call, ast.JoinedStr) else None
    if (opened := _opened(path.id, link)) is not None:
        return _place(opened[0], opened[1], file)
    values = _values(path, link, file)
    texts = {ast.unparse(value) for value in values}
    # what other functions make of other values of the same names may be another path
    return _Place(f"{path.id} = {' | '.join(sorted(texts))}", None if texts else function)


def _opened(name: str, link: Link) -> tuple[Node, Link] | None:
    """The first argument of `with open(path, "rb") as name` around a place."""
    for above in ancestors(link):
        if above[0].__class__ is ast.With:
            for item in above[0].items:
                opener = item.context_expr
                if getattr(item.optional_vars, "id", "") == name and opener.__class__ is ast.Call:
                    return (opener.args[0], above) if call_name(opener.func) in _HANDLES and opener.args else None
    return None


def _is_object(value: Node, link: Link, file: RuleFile) -> bool:
    """Whether a value is an instance of a class, a list of some, or a whole model."""
    text = ast.unparse(value).encode()
    if value.__class__ not in (ast.Name, ast.Attribute):
        return False
    if MODEL.match(_ends(value)) and file.source.says(re.compile(_USED % re.escape(text))):
        return True
    made = _made(value, link, file)
    if not made:
        return False
    if file.source.says(b"InputFeatures") and all(_FEATURES.search(call_name(call.func)) for call in made):
        return True
    return all(_makes_object(call, link, file) for call in made) or file.source.says(
        re.compile(_READ % re.escape(text))
    )


def _ends(value: Node) -> str:
    return str(getattr(value, "attr", "") or getattr(value, "id", ""))


def _made(value: Node, link: Link, file: RuleFile) -> list[Node]:
    """The calls that a name, or an attribute of an object, is set to, without loads; none where anything else is one."""
    values: list[Node]
    if value.__class__ is ast.Name:
        values = _values(value, link, file)
    else:
        owner = next((n for n in parents(link) if n.__class__ is ast.ClassDef), None)
        stored = (s for s in file.buckets[ast.Attribute] if s[0].attr == value.attr and s[0].ctx.__class__ is ast.Store)
        stored = (s for s in stored if owner is None or owner in parents(s))  # another class has a `self` of its own
        values = [_set_to(s) for s in stored if ast.unparse(s[0].value) == ast.unparse(value.value)]
    values = [v for v in values if not (v.__class__ is ast.Constant and v.value is None) and not _is_load(v)]
    return values if all(v.__class__ is ast.Call for v in values) else []


def _values(name: Node, link: Link, file: RuleFile) -> list[Node]:
    """What a name is set to, seen from `link`; none where something else than plain assignments binds it. A load may bind
    several at once, which `values_of` takes for something else."""
    values = [_set_to(binding) for binding in file.names.bindings(name.id, link)]
    return values if None not in values else []


def _set_to(target: Link) -> Node:
    """`a` of `x.y = a`; a load for all that it sets at once."""
    above: Link = target[1]
    if above is None:
        return None
    if above[0].__class__ in _PARTS:
        above = above[1]
        return above[0].value if above[0].__class__ is ast.Assign and _is_load(above[0].value) else None
    return above[0].value if above[0].__class__ is ast.Assign else None


def _is_load(value: Node) -> bool:
    return value.__class__ is ast.Call and call_name(value.func) == "load"


def _makes_object(call: Node, link: Link, file: RuleFile) -> bool:
    """`Corpus(...)` of the project, an array of numpy, and none of the tensors and dictionaries that torch reads back."""
    full = file.names.resolve(call.func, link) or ""
    root = full.partition(".")[0]
    if root in ("torch", "collections"):
        return full.startswith(_OF_TORCH)
    return root == "numpy" or bool(_CLASS.match(call_name(call.func)))
