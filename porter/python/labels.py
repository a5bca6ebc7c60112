"""Finds strings that look like a device and are only a label: a name in `__all__`, a kind of layer, the key of a dictionary."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.blocks import once_for_file
from porter.python.evidence import call_name, constant, like
from porter.python.index import Link, Node, ancestors, walk
from porter.python.strings.other_words import is_its_own_word
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

# names of class attributes that say what kind of thing a class is
_KIND = lazy(r"(?:^|_)(?:TYPE|KIND|NAME|LABEL|VARIANT)$")
# words for ways of computing something, of which "cuda" is one; words that stand beside it where it is a device
_WAYS = frozenset({"native", "triton", "torch", "pytorch", "eager", "numpy", "python", "reference", "ref", "fused"})
_DEVICES = frozenset({"cpu", "gpu", "mps", "xpu", "xla", "tpu", "hpu", "npu", "mkldnn", "meta", "auto"})
# languages of programs, of which CUDA is one
_LANGUAGES = frozenset("c++ cpp java javascript go rust ruby perl scala swift html c# csharp fortran haskell".split())
_SEVERAL = 2  # so many make a list of languages


def is_label(file: File, link: Link) -> bool:
    """Whether the string at `link` is only a label."""
    above: Node = link[1][0]
    if above.__class__ is ast.Subscript and above.slice is link[0] and above.ctx.__class__ is ast.Load:
        return constant(link[0]) in _written_keys(file)
    if (
        _is_folder(link)
        or _is_of_a_build(file, link)
        or _is_way(link)
        or _is_language(link)
        or _is_own_attribute(file, link)
    ):
        return True
    if is_its_own_word(file.names, link, "backend" if str(constant(link[0])).lower() == "nccl" else "device"):
        return True
    for up in ancestors(link):
        if isinstance(up[0], (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = up[0].targets if isinstance(up[0], ast.Assign) else [up[0].target]
            return all(getattr(t, "id", "") == "__all__" or _is_kind(t, link, up) for t in targets)
        if not isinstance(up[0], (ast.List, ast.Tuple, ast.BinOp)):
            return False
    return False


def _is_kind(target: Node, link: Link, statement: Link) -> bool:
    """Whether the string names the kind of a class: `QUANT_TYPE = "cuda"` in its body."""
    name = getattr(target, "id", "")
    in_class = statement[1] is not None and statement[1][0].__class__ is ast.ClassDef
    return in_class and link[1] is statement and _KIND.search(name) is not None and not like(name, "device")


def _is_folder(link: Link) -> bool:
    """`root / "kernels" / "cuda"`: nothing but a path is divided by a text."""
    return link[1][0].__class__ is ast.BinOp and link[1][0].op.__class__ is ast.Div


def _is_of_a_build(file: File, link: Link) -> bool:
    """Whether `setup.py` names a folder of sources, or an extension: nothing is computed there."""
    if file.path.rpartition("/")[2] != "setup.py" or not file.source.says(b"cpp_extension"):
        return False
    return link[0].__class__ is ast.Constant and link[0].value.lower() == "cuda"


def _is_way(link: Link) -> bool:
    """Whether a string is one of several ways to compute something: `{"cuda", "native"}`, and no device is among them."""
    listed: Node = link[1][0]
    if listed.__class__ not in (ast.Set, ast.List, ast.Tuple):
        return False
    words = {str(constant(e)).lower() for e in listed.elts}
    return not words.isdisjoint(_WAYS) and words.isdisjoint(_DEVICES)


def _is_language(link: Link) -> bool:
    """Whether a string stands among languages of programs: `{"c++": "//", "cuda": "//", "java": "//"}`."""
    listed: Node = link[1][0]
    words = listed.keys if listed.__class__ is ast.Dict else getattr(listed, "elts", ())
    return len(_LANGUAGES & {str(constant(word)).lower() for word in words if word is not None}) >= _SEVERAL


def _is_own_attribute(file: File, link: Link) -> bool:
    """Whether a string names a method of the file that a function of the file looks up: `self.each("cuda")` beside `def cuda(self)` and
    `def each(self, name): ... getattr(part, name)()`."""
    call: Node = link[1][0]
    word = constant(link[0])
    if call.__class__ is not ast.Call or link[0] not in call.args or not isinstance(word, str):
        return False
    functions = [f[0] for f in file.buckets[ast.FunctionDef] if f[0].name == call_name(call.func)]
    if len(functions) != 1 or not file.source.says(b"def %s(self" % word.encode()):
        return False
    names = [a.arg for a in functions[0].args.args]
    names = names[1:] if names[:1] == ["self"] else names
    index = call.args.index(link[0])
    return index < len(names) and _is_looked_up(functions[0], names[index])


def _is_looked_up(function: Node, name: str) -> bool:
    """Whether a function takes a parameter for nothing but the name of an attribute."""
    calls = [n for n in walk(function) if n.__class__ is ast.Call and call_name(n.func) in ("getattr", "hasattr")]
    asked = [c.args[1] for c in calls if len(c.args) > 1]
    uses = [n for n in walk(function) if n.__class__ is ast.Name and n.id == name]
    return bool(uses) and all(use in asked for use in uses)


@once_for_file
def _written_keys(file: File) -> frozenset[str]:
    """The keys under which the file stores something. A read with such a key needs the same string."""
    keys: list[Node] = []
    for node in walk(file.tree):  # the buckets do not hold all dictionaries, only what some rule asks for
        if node.__class__ is ast.Dict:
            keys += node.keys
        elif node.__class__ is ast.Subscript and node.ctx.__class__ is ast.Store:
            keys.append(node.slice)
    return frozenset(text for key in keys if isinstance(text := constant(key), str))
