"""C++ and CUDA as a tree: which functions and kernels a source defines, what they mention, and what Python gets of them."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from porter.native import grammar
from porter.native.bindings import AICORE, MODULES, TOKEN, Export, exports, referred
from porter.regex import lazy, rare

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LARGEST = 1_000_000  # what is longer was generated: its words are read, and no tree is built
# where functions may be defined; everything else is not looked into
_HOLDERS = frozenset(
    {"translation_unit", "namespace_definition", "declaration_list", "linkage_specification", "template_declaration"}
    | {"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef", "ERROR"}
    | {"class_specifier", "struct_specifier", "field_declaration_list", "declaration", "field_declaration"}
)
_CLASSES = ("class_specifier", "struct_specifier")
_NAMES = ("identifier", "field_identifier", "operator_name")
_HEAD = 300  # bytes in which a class names its bases
_MOST = (
    8  # words of macros for each byte of a source; where people wrote it, all functions together have fewer than bytes
)
_WORD = lazy(rb"[A-Za-z_]\w*")
# Where the grammar gave up on a macro, words are left.
_KERNEL = lazy(rb"\b__global__\b[^;{}]{0,300}?\b([A-Za-z_]\w*)\s*\((?![^()]*\)\s*(?:void|static|inline)\b)")
_BOUNDS = lazy(rb"\b__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)|\b__attribute__\s*\(\(.{0,500}?\)\)")
# `#define KERNEL(name, ...) ... __global__ void name(...)`, and what is made with it
_MACRO = lazy(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^\n\\]*(?:\\(?:\r?\n|.)[^\n\\]*)*)", re.MULTILINE)
_STATEMENT = lazy(rb"^[ \t]*[A-Z][A-Z\d_]+[ \t]*\(([^;{}()]*)\)[ \t]*(?:;|\r?\n\s*(?=[A-Za-z#}]|\Z))", re.MULTILINE)
_USED = lazy(rb"^[ \t]*([A-Za-z_]\w*)(?=[ \t]*\([ \t\r\n]*([A-Za-z_]\w*))", re.MULTILINE)  # the macros
_UNDEF = lazy(rb"^[ \t]*#[ \t]*undef[ \t]+(\w+)", re.MULTILINE)
_BRANCH = lazy(rb"[ \t]*#[ \t]*(if|ifdef|ifndef|else|elif|endif)\b")
_INCLUDE = rare(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)", re.MULTILINE)
# `using table = HashTable<int>;`, `typedef HashTable<int> table;`
_USING = rare(rb"\busing\s+(\w+)\s*=\s*(?:typename\s+)?(?:\w+\s*::\s*)*(\w+)\s*(?:<[^;{}()]*>)?\s*;")
_TYPEDEF = lazy(rb"\btypedef\s+(?:\w+\s*::\s*)*(\w+)\s*(?:<[^;{}()]*>\s*|\s)(\w+)\s*;")
_BLANK = bytes(c if chr(c) in "\r\n" else 32 for c in range(256))


class Kernel(NamedTuple):
    name: str
    start: int  # of its name, in bytes


class Function(NamedTuple):
    name: str
    words: frozenset[str]  # what its body mentions


class _Macro(NamedTuple):
    start: int
    words: frozenset[str]
    end: int  # where it is taken back, or the end of the source


class Cpp(NamedTuple):
    bare: bytes  # the source with blanks for comments and strings
    kernels: tuple[Kernel, ...]
    functions: tuple[Function, ...]  # their macros are looked into
    macros: tuple[Function, ...]
    exports: tuple[Export, ...]
    includes: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...] = ()  # (other name, type)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


@lru_cache(maxsize=512)
def read(data: bytes) -> Cpp:
    """Never raises: what the grammar does not know is searched for words."""
    bare = TOKEN.sub(lambda match: match[0] if match[0][:1] == b"#" else match[0].translate(_BLANK), data)
    tree = grammar.tree(_parser(), data) if len(data) <= LARGEST else None
    if tree is None:
        return Cpp(bare, tuple(_by_words(bare, {}, [])), (), (), (), ())
    if tree.root_node.has_error and (plain := _unconditional(data, bare)) != data:
        tree = grammar.tree(_parser(), plain) or tree
    defined, declared = _definitions(tree.root_node)
    kernels: dict[str, int] = {}
    functions: list[Function] = []
    places: list[tuple[int, int]] = []  # of their bodies
    bodies: list[tuple[str, Node, Node]] = []
    spans: list[tuple[int, int]] = []
    for node, owner in defined:
        (named, scope), body = _named(node), node.child_by_field_name("body")
        if named is None or body is None:
            continue
        start, end = body.start_byte, body.end_byte
        name = data[named.start_byte : named.end_byte].decode("utf-8", "replace")
        bodies.append((name, node, body))
        if name in MODULES:
            continue
        words, head = referred(bare[start:end]), bare[node.start_byte : start]
        if is_for_npu := AICORE.encode() in head:
            words |= {AICORE}
        if b"__global__" in head:
            spans.append((node.start_byte, start))
            if not is_for_npu:
                kernels.setdefault(name, named.start_byte)
        functions += [Function(other, words) for other in _names(name, _class(bare, owner, scope), owner, bare)]
        places += [(start, end)] * (len(functions) - len(places))
    spans += [(start, end) for start, end in declared if b"__global__" in bare[start:end]]
    functions += [Function(words[0], frozenset(words[1:])) for words in _registered(bare)]
    places += [(0, len(bare))] * (len(functions) - len(places))
    defines = list(_MACRO.finditer(bare)) if b"define" in bare else []
    macros = _scoped(bare, defines)
    functions = _expanded(functions, places, macros, _MOST * len(data)) if macros else functions
    makers = [match for match in defines if b"__global__" in match[2]]
    spans += [match.span() for match in makers]
    kernels |= {k.name: k.start for k in (*_by_words(bare, kernels, spans), *_made(bare, makers))}
    ordered = sorted((Kernel(name, start) for name, start in kernels.items()), key=lambda k: k.start)
    last = tuple(Function(name, several[-1].words) for name, several in macros.items())
    handed, included, aliases = tuple(exports(data, bare, bodies)), tuple(_included(bare)), tuple(_aliases(bare))
    return Cpp(bare, tuple(ordered), tuple(functions), last, handed, included, aliases)


def _unconditional(data: bytes, bare: bytes) -> bytes:
    """The first of the branches that the preprocessor has to choose from inside of parentheses, where the grammar knows none."""
    depth, left_out, offset, spans = 0, 0, 0, []
    for line in bare.splitlines(keepends=True):
        directive = _BRANCH.match(line)
        if directive is None:
            if left_out:
                spans.append((offset, offset + len(line)))
            else:
                depth = 0 if line[:1] == b"}" else max(0, depth + line.count(b"(") - line.count(b")"))
        elif depth > 0:
            spans.append((offset, offset + len(line)))
            if directive[1][:2] == b"if":
                left_out += bool(left_out)
            elif directive[1] == b"endif":
                left_out -= bool(left_out)
            elif left_out < 2:
                left_out = 1
        offset += len(line)
    plain = bytearray(data)
    for start, end in spans:
        plain[start:end] = plain[start:end].translate(_BLANK)
    return bytes(plain)


def _definitions(root: Node) -> tuple[list[tuple[Node, Node | None]], list[tuple[int, int]]]:
    """The functions, each with the class around it, and the places of what is declared only."""
    defined: list[tuple[Node, Node | None]] = []
    declared: list[tuple[int, int]] = []
    todo: list[tuple[Node, Node | None]] = [(root, None)]
    while todo:
        node, owner = todo.pop()
        kind = node.type
        if kind in ("function_definition", "inline_method_definition"):
            defined.append((node, owner))
        elif kind in _HOLDERS:
            if kind == "declaration":
                declared.append((node.start_byte, node.end_byte))
            owner = node if kind in _CLASSES else owner
            todo += [(child, owner) for child in reversed(node.named_children)]
    return defined, declared


def _named(function: Node) -> tuple[Node | None, Node | None]:
    """The node of a function's own name, and of what it is a member of where that is written before it."""
    node, scope = function.child_by_field_name("declarator"), None
    while node is not None and node.type != "function_declarator":
        node = node.child_by_field_name("declarator") or next(
            (c for c in node.named_children if "declarator" in c.type), None
        )
    node = node and node.child_by_field_name("declarator")
    while node is not None and node.type in ("qualified_identifier", "template_function", "parenthesized_declarator"):
        scope = node.child_by_field_name("scope") or scope
        node = node.child_by_field_name("name") or (node.named_children[0] if node.named_children else None)
    return (node if node is not None and node.type in _NAMES else None), scope


def _class(bare: bytes, owner: Node | None, scope: Node | None) -> str:
    """What a method is a member of."""
    node = scope if scope is not None else owner and owner.child_by_field_name("name")
    match = _WORD.search(bare, node.start_byte, node.end_byte) if node else None
    return match[0].decode("ascii", "replace") if match else ""


def _names(name: str, holder: str, owner: Node | None, bare: bytes) -> Iterator[str]:
    """What a function is called by: for `Scale<T>()(x)` the operator of a class is the class, for `Scale::apply(x)` its `forward`."""
    if name.startswith("operator"):
        if holder and name.endswith(")"):
            yield holder
        return
    yield name
    if holder:
        yield f"{holder}::{name}"
        if name in ("forward", "backward") and (
            owner is None or b"Function<" in bare[owner.start_byte : owner.start_byte + _HEAD]
        ):
            yield holder


def _scoped(bare: bytes, defines: list[re.Match[bytes]]) -> dict[str, list[_Macro]]:
    """The macros by name, each as far as it is not taken back: two functions may define one name, each for itself."""
    ends: dict[bytes, list[int]] = {}
    for match in _UNDEF.finditer(bare) if defines else ():
        ends.setdefault(match[1], []).append(match.start())
    macros: dict[str, list[_Macro]] = {}
    for match in defines:
        undone = ends.get(match[1], [])
        after = undone[bisect(undone, match.start()) :]
        macro = _Macro(match.start(), referred(match[2]), after[0] if after else len(bare))
        macros.setdefault(match[1].decode("ascii", "replace"), []).append(macro)
    return macros


def _expanded(
    functions: list[Function], places: list[tuple[int, int]], macros: dict[str, list[_Macro]], most: int
) -> list[Function]:
    """With what the macros in them mention, as long as that is not more than `most` words in all."""
    expanded = []
    for (name, words), place in zip(functions, places, strict=True):
        todo = words & macros.keys()
        while todo and most > 0:
            held = [_held(macros[macro], *place) for macro in todo]
            most -= sum(map(len, held))
            more = frozenset().union(*held) - words
            todo, words = more & macros.keys(), words | more
        expanded.append(Function(name, words))
    return expanded


def _held(macros: list[_Macro], start: int, end: int) -> frozenset[str]:
    """What a macro mentions where it is used: of several of one name, the last that was defined before."""
    index = bisect(macros, end, key=attrgetter("start")) - 1
    return macros[index].words if index >= 0 and macros[index].end > start else frozenset()


def _included(bare: bytes) -> Iterator[str]:
    for match in _INCLUDE.finditer(bare) if b"include" in bare else ():
        yield match[1].decode("utf-8", "replace")


def _aliases(bare: bytes) -> Iterator[tuple[str, str]]:
    for match in _USING.finditer(bare) if b"using" in bare else ():
        yield match[1].decode("ascii", "replace"), match[2].decode("ascii", "replace")
    for match in _TYPEDEF.finditer(bare) if b"typedef" in bare else ():
        yield match[2].decode("ascii", "replace"), match[1].decode("ascii", "replace")


def _registered(bare: bytes) -> Iterator[list[str]]:
    """`REGISTER_IMPL(stub, CUDA, function);` at the beginning of a line: the first name leads to the others."""
    for match in _STATEMENT.finditer(bare):
        words = [word.decode("ascii", "replace") for word in _WORD.findall(match[1])]
        if len(words) > 1:
            yield words


def _by_words(bare: bytes, known: dict[str, int], spans: list[tuple[int, int]]) -> Iterator[Kernel]:
    if b"__global__" not in bare:
        return
    remaining = bytearray(bare)
    for start, end in spans:
        remaining[start:end] = b" " * (end - start)
    names = set(known)
    for match in _KERNEL.finditer(_BOUNDS.sub(lambda bounds: b" " * len(bounds[0]), bytes(remaining))):
        name = match[1].decode("ascii", "replace")
        if name not in names and AICORE.encode() not in match[0]:
            names.add(name)
            yield Kernel(name, match.start(1))


def _made(bare: bytes, makers: list[re.Match[bytes]]) -> list[Kernel]:
    numbers = {maker[1]: number for number, maker in enumerate(makers)}
    uses = [match for match in _USED.finditer(bare) if match[1] in numbers] if makers else []
    return [
        Kernel(match[2].decode("ascii"), match.start(2)) for match in sorted(uses, key=lambda match: numbers[match[1]])
    ]
