"""What a Python file says that advice depends on: hyper-parameters, sizes, packages, idioms. Plain data, kept in the cache.

An observation is (kind:name, value, line): `value:adam_beta2`, `sign:backward`, `import:transformers`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import add, mul, sub
from typing import Any, Protocol, TypeAlias

from porter.advice import exported, tree_signs
from porter.advice.load import Names, names
from porter.rulebook.table import Stanza

Observation = tuple[str, str, int]
Node: TypeAlias = Any  # a node of ast: which kind is asked by its class
Link: TypeAlias = tuple[Node, Any]  # a node, and the link of its parent; the module's parent is None
_FOLDS: dict[type, Callable[[float, float], float]] = {ast.Mult: mul, ast.Add: add, ast.Sub: sub}
_DTYPES = frozenset({"float16", "half", "bfloat16", "float32", "float"})
_LARGEST_POWER = 20
_LONGEST, _LARGEST = 40, 10**15
_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_WIDEST = 2_000  # of a line: what is longer is data


class Text(Protocol):
    @property
    def utf8(self) -> bytes: ...
    @property
    def vocabulary(self) -> bytes: ...
    def line(self, offset: int) -> int: ...


class Uses(Protocol):
    @property
    def uses(self) -> Iterable[Link]: ...


class Seen(Protocol):
    """A file as the analysis has it."""

    @property
    def tree(self) -> ast.Module: ...
    @property
    def source(self) -> Text: ...
    @property
    def names(self) -> Uses: ...
    @property
    def apis(self) -> Mapping[str, Iterable[Link]]: ...
    @property
    def buckets(self) -> Mapping[type, Iterable[Link]]: ...


def observed(file: Seen) -> tuple[Observation, ...]:
    """Sorted, each once."""
    known = names()
    rows = {*_assigned(file.tree.body, known), *_called(file, known), *_imported(file, known), *_signs(file, known)}
    if b"environ" in file.source.utf8 or b"putenv" in file.source.utf8:
        rows |= set(_exported(file, known))
    rows |= {(f"sign:{name}", "", line) for name, line in tree_signs.seen(file)}
    rows |= {("value:onnx_input", shapes, line) for shapes, line in exported.inputs(file)}
    absent = {f"value:{name}" for name, word in known.needs.items() if word not in file.source.utf8}
    return tuple(sorted(row for row in rows if row[0] not in absent))


def literal(node: ast.AST | None) -> str | None:
    """A number, a string, a truth value, and what is computed from numbers; None for anything else."""
    try:
        value = _value(node)
    except OverflowError:  # of a whole number that no float can be
        return None
    if value is None or value.__class__ is str and len(value) > _LONGEST:
        return None
    if value.__class__ is int and abs(value) > _LARGEST:
        return None
    text: str = value if value.__class__ is str else repr(value)
    return text


def _value(node: Node) -> Any:
    if node.__class__ is ast.Constant:
        return node.value if isinstance(node.value, (bool, int, float, str)) else None
    if node.__class__ is ast.UnaryOp and node.op.__class__ is ast.USub:
        inner = _value(node.operand)
        return -inner if isinstance(inner, (int, float)) else None
    if node.__class__ is ast.Attribute and node.attr in _DTYPES and getattr(node.value, "id", "") == "torch":
        return node.attr  # `reduce_dtype=torch.bfloat16`
    if node.__class__ is ast.BinOp and node.op.__class__ is ast.Pow:
        left, right = _value(node.left), _value(node.right)
        small = (
            left.__class__ in (int, float)
            and abs(left) < 1000
            and right.__class__ is int
            and 0 <= right < _LARGEST_POWER
        )
        return left**right if small else None
    if node.__class__ is ast.BinOp and node.op.__class__ in _FOLDS:
        left, right = _value(node.left), _value(node.right)
        if left.__class__ in (int, float) and right.__class__ in (int, float):
            return _FOLDS[node.op.__class__](left, right)
    return None


def plain(key: str) -> str:
    return key.lstrip("-").replace("-", "_").lower()


def _assigned(body: list[ast.stmt], known: Names, depth: int = 0) -> Iterator[Observation]:
    """Constants of the module and fields of its classes."""
    node: Node
    for node in body:
        if node.__class__ is ast.ClassDef and depth < 2:
            yield from _assigned(node.body, known, depth + 1)
        elif node.__class__ in (ast.Assign, ast.AnnAssign):
            target = node.targets[0] if node.__class__ is ast.Assign else node.target
            yield from _named(getattr(target, "id", "") or getattr(target, "attr", ""), node.value, node, known)


def _named(key: str, value: Node, node: Node, known: Names) -> Iterator[Observation]:
    kinds = known.keys.get(plain(key)) if key else None
    if kinds and value is not None:
        if value.__class__ is ast.Call:  # field(default=...)
            value = next((k.value for k in value.keywords if k.arg == "default"), None)
        if (text := literal(value)) is not None:
            for kind in kinds:
                yield f"value:{kind}", text, node.lineno


def _called(file: Seen, known: Names) -> Iterator[Observation]:
    """Keywords of calls, options of parsers, and what the optimisers and loaders of torch are made with."""
    keys = known.keys
    for link in file.buckets[ast.Call]:
        node = link[0]
        if node.func.__class__ is ast.Attribute and node.func.attr == "add_argument":
            yield from _option(node, known)
            continue
        for keyword in node.keywords:
            if keyword.arg in keys:
                yield from _named(keyword.arg, keyword.value, keyword.value, known)
    for link in file.buckets.get(ast.Dict, ()):  # settings of a framework, written in the program
        for key, value in zip(link[0].keys, link[0].values):
            if key.__class__ is ast.Constant and key.value.__class__ is str and plain(key.value) in keys:
                yield from _named(key.value, value, key, known)
    for call in file.apis.keys() & known.arguments.keys():
        for link in file.apis[call]:
            top = link[0]
            while (link := link[1])[0].__class__ is ast.Attribute:
                top = link[0]
            if link[0].__class__ is ast.Call and link[0].func is top:
                yield from _arguments(link[0], known.arguments[call])


def _exported(file: Seen, known: Names) -> Iterator[Observation]:
    """`os.environ["X"] = "1"`, and what sets a variable by a call."""
    for link in file.buckets.get(ast.Assign, ()):
        target = link[0].targets[0]
        if target.__class__ is ast.Subscript and _is_environment(target.value):
            yield from _variable(target.slice, link[0].value, known)
    for link in file.buckets[ast.Call]:
        func, args = link[0].func, link[0].args
        if func.__class__ is not ast.Attribute or len(args) != 2:
            continue
        if func.attr == "putenv" or func.attr == "setdefault" and _is_environment(func.value):
            yield from _variable(args[0], args[1], known)


def _is_environment(node: Node) -> bool:
    return "environ" in (getattr(node, "attr", ""), getattr(node, "id", ""))


def _variable(name: Node, value: Node, known: Names) -> Iterator[Observation]:
    if name.__class__ is ast.Constant and name.value.__class__ is str:
        yield from _named(name.value, value, name, known)


def _option(node: ast.Call, known: Names) -> Iterator[Observation]:
    flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    given = {k.arg: k.value for k in node.keywords}
    for flag in flags:
        if flag.startswith("-") and plain(flag) in known.keys and "default" in given:
            yield from _named(flag, given["default"], node, known)
            return


def _arguments(node: ast.Call, rows: Iterable[Stanza]) -> Iterator[Observation]:
    given: dict[str | None, Node] = {k.arg: k.value for k in node.keywords}
    if any(arg.__class__ is ast.Starred for arg in node.args):
        given[None] = None
    for row in rows:
        value = given.get(row["keyword"])
        if value is None and None not in given and len(node.args) > row.get("position", len(node.args)):
            value = node.args[row["position"]]
        if value is not None and "item" in row:
            value = (
                value.elts[row["item"]]
                if value.__class__ in (ast.Tuple, ast.List) and len(value.elts) > row["item"]
                else None
            )
        named = value is not None or row["keyword"] in given
        text = literal(value) if named else None if None in given else row.get("default")
        if text is not None:
            yield f"value:{row['value']}", text, node.lineno


def _imported(file: Seen, known: Names) -> Iterator[Observation]:
    for kind in (ast.Import, ast.ImportFrom):
        for link in file.buckets[kind]:
            node = link[0]
            if kind is ast.Import:
                modules = [alias.name for alias in node.names]
            else:
                modules = [] if node.level or not node.module else [node.module]
            for module in modules:
                if (package := module.partition(".")[0]) in known.imports:
                    yield f"import:{package}", "", node.lineno


def _signs(file: Seen, known: Names) -> Iterator[Observation]:
    """The first line of each idiom. A file's words, each once, are a tenth of its text to search for words in."""
    text, vocabulary = file.source.utf8, file.source.vocabulary
    identifiers: bytes | None = None
    for name, words, strings, pattern in known.signs:
        found = []
        for word in words:
            if word in vocabulary and (first := _first(text, word, pattern)):
                if not strings and identifiers is None:
                    identifiers = _identifiers(file)
                if strings or identifiers is not None and word in identifiers:
                    found.append(first)
        if found:
            start, said = min(found)
            yield f"sign:{name}", said, file.source.line(start)


def _identifiers(file: Seen) -> bytes:
    buckets = file.buckets
    words = {link[0].attr for link in buckets[ast.Attribute]} | {link[0].id for link in file.names.uses}
    words |= {link[0].name for kind in _DEFINED for link in buckets[kind]}
    words |= {alias.name for kind in (ast.Import, ast.ImportFrom) for link in buckets[kind] for alias in link[0].names}
    words |= {link[0].module for link in buckets[ast.ImportFrom] if link[0].module}
    return "\n".join(words).encode()


def _first(text: bytes, word: bytes, pattern: re.Pattern[bytes]) -> tuple[int, str] | None:
    """The start of the first line that has the word and fits the pattern, not in a remark, and what its group says."""
    offset = text.find(word)
    while offset >= 0:
        start, end = text.rfind(b"\n", 0, offset) + 1, text.find(b"\n", offset)
        line = text[start : end if end >= 0 else len(text)]
        if len(line) < _WIDEST and (match := pattern.search(line)) and not _is_remark(line[: match.start()]):
            return start, (match[1] or b"").decode() if match.re.groups else ""
        offset = text.find(word, start + len(line))
    return None


def _is_remark(before: bytes) -> bool:
    """Whether what follows stands behind a # that is in no string."""
    head, hash_mark, _ = before.partition(b"#")
    return bool(hash_mark) and not (head.count(b'"') % 2 or head.count(b"'") % 2)
