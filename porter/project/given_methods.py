"""Which parameters of methods are devices or backends, where the project gives one by position: `strategy.wrap(model, 2, "nccl")`.

The class of the object is not known: all classes of the project that have a method of this name have to call the parameter so.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

from porter.python.evidence import like
from porter.python.index import FUNCTIONS, Node
from porter.python.kept import Remember, anew, rows_of
from porter.python.parameters import is_static
from porter.python.trees import Parse
from porter.python.walks import statements
from porter.regex import lazy

Method = tuple[str, str, int]  # its name, a parameter, and the position of that, without `self`
_OUTER = lazy(rb"(?:\n|\A)(?:async )?\Z")  # in front of what stands in the first column
_TAKES = lazy(rb".{0,2000}?\)\s*(?:->|:)", re.DOTALL)  # the parameters
_PARAMETER = lazy(rb"[^\W\d]\w*")


def given_methods(
    texts: Mapping[str, bytes], wanted: set[str], parse: Parse, kept: Remember = anew
) -> tuple[Method, ...]:
    """`wanted`: the names of methods that are given such a value. Only files that have them are parsed."""
    if not wanted:
        return ()
    here, others = dict[str, set[str]](), set[str]()  # others: of which one takes nothing that sounds so
    defined = re.compile(rb"def (%s)\b" % b"|".join(name.encode() for name in sorted(wanted)))
    for path, data in texts.items():
        for match in defined.finditer(data):
            if not _OUTER.search(data, max(0, match.start() - 7), match.start()):
                takes = _TAKES.match(data, match.end())
                names = _PARAMETER.findall(takes[0]) if takes else ()
                sounds = any(sounds_so(name.decode()) for name in names)
                (here.setdefault(path, set()) if sounds else others).add(match[1].decode())
    found = Counter[Method]()  # how many take it so; those at -1 count the methods themselves
    for path, several in here.items():
        if names := sorted(several - others):
            rows = partial(_of_classes, texts[path], names, parse)
            found.update(rows_of(texts[path], "given methods", names, rows, kept))
    return tuple(sorted(row for row, many in found.items() if row[2] >= 0 and many == found[row[0], "", -1]))


def _of_classes(data: bytes, names: list[str], parse: Parse) -> tuple[Method, ...]:
    tree = parse(data)
    classes = (node for node in statements(tree) if isinstance(node, ast.ClassDef)) if tree is not None else ()
    own = (n for one in classes for n in one.body if isinstance(n, FUNCTIONS[:2]) and n.name in names)
    return tuple(row for method in own for row in _of_method(method))


def _of_method(method: Node) -> Iterator[Method]:
    yield method.name, "", -1
    bound = 0 if is_static(method) else 1
    for index, parameter in enumerate((*method.args.posonlyargs, *method.args.args)[bound:]):
        if sounds_so(parameter.arg):
            yield method.name, parameter.arg, index


def sounds_so(name: str) -> bool:
    """Whether a parameter is called a device or a backend."""
    return like(name, "device") or like(name, "backend")
