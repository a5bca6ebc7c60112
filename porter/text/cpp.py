"""C++ and CUDA as a tree: which functions and kernels a source defines, what they mention, and what Python gets of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

LARGEST = 1_000_000  # what is longer was generated: its words are read, and no tree is built
MODULES = frozenset(
    {"PYBIND11_MODULE", "NB_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_FRAGMENT", "TORCH_LIBRARY_IMPL"}
    | {"STABLE_TORCH_LIBRARY", "STABLE_TORCH_LIBRARY_FRAGMENT", "STABLE_TORCH_LIBRARY_IMPL"}
    | {"TORCH_LIBRARY_EXPAND", "TORCH_LIBRARY_IMPL_EXPAND"}
)
# where functions may be defined; everything else is not looked into
_HOLDERS = frozenset(
    {"translation_unit", "namespace_definition", "declaration_list", "linkage_specification", "template_declaration"}
    | {"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef", "ERROR"}
    | {"class_specifier", "struct_specifier", "field_declaration_list", "declaration", "field_declaration"}
)
_CLASSES = ("class_specifier", "struct_specifier")
_DEFINES = frozenset({"def", "impl"})
_KEYS = frozenset({"kCUDA", "kCPU", "kPrivateUse1"})
_WORD = re.compile(rb"[A-Za-z_]\w*")
_REFERRED = re.compile(rb"([A-Za-z_]\w*)(?=[ \t\r\n]*(?:[(<,;)&{}\]]|::apply\b))")
_METHOD = re.compile(
    rb"(?:\b(\w+)[ \t]*(?:<[^()]*>)?[ \t]*::[ \t]*)?\b(forward|backward|operator[ \t]*\([ \t]*\))[ \t\r\n]*\("
)
_CLASS = re.compile(rb"(?:class|struct)[ \t\r\n]+(?:[A-Z_]+[ \t]+)?(\w+)")
_OPERATOR = re.compile(
    rb"""(?:\.[ \t]*op|RegisterOperators)[ \t]*\([ \t\r\n]*"(\w+)::(\w+)[^"]*"[ \t\r\n]*,((?:(?!\.[ \t]*op[ \t]*\()[^;"])*)"""
)
# Where the grammar gave up on a macro, words are left.
_KERNEL = re.compile(rb"\b__global__\b[^;{}]{0,300}?\b([A-Za-z_]\w*)\s*\((?![^()]*\)\s*(?:void|static|inline)\b)")
_BOUNDS = re.compile(rb"\b__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)|\b__attribute__\s*\(\(.*?\)\)")
# `#define KERNEL(name, ...) ... __global__ void name(...)`, and what is made with it
_MAKER = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\(((?:[^\n\\]|\\\r?\n|\\.)*)", re.MULTILINE)
_STATEMENT = re.compile(
    rb"^[ \t]*[A-Z][A-Z\d_]+[ \t]*\(([^;{}()]*)\)[ \t]*(?:;|\r?\n\s*(?=[A-Za-z#}]|\Z))", re.MULTILINE
)
# The preprocessor is no string; comments are looked for first.
_TOKEN = re.compile(
    rb'#[ \t]*include[^\n]*|//(?:[^\n\\]|\\.)*|/\*.*?(?:\*/|$)|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'',
    re.DOTALL,
)
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)", re.MULTILINE)
_BLANK = bytes(c if chr(c) in "\r\n" else 32 for c in range(256))


class Kernel(NamedTuple):
    name: str
    start: int  # of its name, in bytes


class Function(NamedTuple):
    name: str
    words: frozenset[str]  # what its body mentions


class Export(NamedTuple):
    """One name under which Python gets at something."""

    module: str  # TORCH_EXTENSION_NAME, or the first argument of the macro
    library: bool  # an operator of torch.ops, and no function of a module
    name: str
    words: frozenset[str]  # of the arguments that say what is called
    key: str = ""  # of the dispatcher: CUDA, CPU; "" where it is called on any device


class Cpp(NamedTuple):
    bare: bytes  # the source with blanks for comments and strings
    kernels: tuple[Kernel, ...]
    functions: tuple[Function, ...]
    exports: tuple[Export, ...]
    includes: tuple[str, ...]


@lru_cache(maxsize=1)
def _grammar():
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


@lru_cache(maxsize=512)
def read(data: bytes) -> Cpp:
    """Never raises: what the grammar does not know is searched for words."""
    bare = _TOKEN.sub(lambda found: found[0] if found[0][:1] == b"#" else found[0].translate(_BLANK), data)
    if len(data) > LARGEST:
        return Cpp(bare, tuple(_by_words(bare, {}, [])), (), (), ())
    defined, declared = _definitions(_grammar().parse(data).root_node)
    kernels, functions, modules, spans = {}, [], [], []
    for node, owner in defined:
        named, body = _named(node), node.child_by_field_name("body")
        if body is None:
            continue
        start, end = body.start_byte, body.end_byte
        if word := _called_as(bare[node.start_byte : start], owner and bare[owner.start_byte : node.start_byte]):
            functions.append(Function(word, _words(bare[start:end])))
        if named is None:
            continue
        name = data[named.start_byte : named.end_byte].decode("utf-8", "replace")
        if name in MODULES:
            modules.append((name, node, body))
            continue
        if b"__global__" in bare[node.start_byte : start]:
            kernels.setdefault(name, named.start_byte)
            spans.append((node.start_byte, start))
        functions.append(Function(name, _words(bare[start:end])))
    spans += [(start, end) for start, end in declared if b"__global__" in bare[start:end]]
    exports = [export for module in modules for export in _exports(data, *module)]
    exports += _handed(data, bare, defined) if b".def(" in bare and b"odule" in bare else []
    exports += _operators(data, bare) if b"RegisterOperators" in bare else []
    functions += [Function(words[0], frozenset(words[1:])) for words in _registered(bare)]
    makers = [found for found in _MAKER.finditer(bare) if b"__global__" in found[2]] if b"__global__" in bare else []
    spans += [found.span() for found in makers]
    kernels |= {k.name: k.start for k in (*_by_words(bare, kernels, spans), *_made(bare, makers))}
    ordered = sorted((Kernel(name, start) for name, start in kernels.items()), key=lambda k: k.start)
    return Cpp(bare, tuple(ordered), tuple(functions), tuple(exports), tuple(_included(bare)))


def _definitions(root) -> tuple[list[tuple], list[tuple[int, int]]]:
    """The functions, each with the class around it, and the places of what is declared only."""
    defined, declared, todo = [], [], [(root, None)]
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


def _called_as(head: bytes, owner: bytes | None) -> str:
    """The class that stands for a method where it is called: `Scale::apply(x)` its `forward`, `Scale<T>()(x)` its operator."""
    if not (found := _METHOD.search(head)):
        return ""
    if owner is None or found[1]:  # defined outside of its class
        name = found[1] if found[2][:1] == b"o" else b""
    else:
        named = _CLASS.match(owner)
        name = named[1] if named and (found[2][:1] == b"o" or b"Function<" in owner) else b""
    return name.decode("ascii", "replace") if name else ""


def _named(function):
    """The node of a function's own name, without what it is a member of."""
    node = function.child_by_field_name("declarator")
    while node is not None and node.type != "function_declarator":
        node = node.child_by_field_name("declarator") or next(
            (c for c in node.named_children if "declarator" in c.type), None
        )
    node = node and node.child_by_field_name("declarator")
    while node is not None and node.type in ("qualified_identifier", "template_function", "parenthesized_declarator"):
        node = node.child_by_field_name("name") or (node.named_children[0] if node.named_children else None)
    return node if node is not None and node.type in ("identifier", "field_identifier") else None


def _words(code: bytes) -> frozenset[str]:
    return frozenset(word.decode("ascii", "replace") for word in _REFERRED.findall(code))


def _exports(data: bytes, macro: str, node, body) -> Iterator[Export]:
    arguments = _WORD.findall(data[node.start_byte : body.start_byte])
    module = arguments[1].decode() if len(arguments) > 1 else ""
    key = arguments[2].decode() if "IMPL" in macro and len(arguments) > 2 else ""
    yield from _defined(data, body, module, "LIBRARY" in macro, key)


def _handed(data: bytes, bare: bytes, functions) -> Iterator[Export]:
    """Of a function that is handed the module: `void bind(py::module& m) { m.def(...); }`."""
    for node, _ in functions:
        body = node.child_by_field_name("body")
        if body is not None and (head := bare[node.start_byte : body.start_byte]):
            if re.search(rb"\bmodule_?\s*&|\bLibrary\s*&", head) and b".def(" in bare[body.start_byte : body.end_byte]:
                yield from _defined(data, body, "TORCH_EXTENSION_NAME", b"Library" in head)


def _operators(data: bytes, bare: bytes) -> Iterator[Export]:
    """`torch::RegisterOperators().op("ns::name", &function)`: the names stand in strings, which `bare` has not."""
    for found in _OPERATOR.finditer(data):
        if bare[found.start() : found.start() + 1].strip():
            space, name = found[1].decode(), found[2].decode()
            yield _export(space, True, name, _TOKEN.sub(b"", found[3]))


def _export(module: str, library: bool, name: str, said: bytes, key: str = "") -> Export:
    words = frozenset(word.decode("ascii", "replace") for word in _WORD.findall(said))
    return Export(module, library, name, words, key or next(iter(sorted(words & _KEYS)), "").removeprefix("k"))


def _defined(data: bytes, body, module: str, library: bool, key: str = "") -> Iterator[Export]:
    todo = [body]
    while todo:
        node = todo.pop()
        if node.type != "call_expression":
            todo.extend(reversed(node.named_children))
            continue
        called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        field = (
            called.child_by_field_name("field") if called is not None and called.type == "field_expression" else None
        )
        if field is None or arguments is None or data[field.start_byte : field.end_byte].decode() not in _DEFINES:
            todo.extend(reversed(node.named_children))
            continue
        holder = called.child_by_field_name("argument")
        if holder is None or holder.type != "identifier":  # a method of a class
            continue
        first, *rest = arguments.named_children or [None]
        text = (
            re.search(rb'"((?:[^"\\]|\\.)*)"', data[first.start_byte : first.end_byte]) if first is not None else None
        )
        if text is None:
            continue
        name = text[1].partition(b"(")[0].rpartition(b"::")[2].decode("utf-8", "replace").strip()
        said = b" ".join(_TOKEN.sub(b"", data[part.start_byte : part.end_byte]) for part in rest)
        if name.isidentifier():
            yield _export(module, library, name, said, key)


def _included(bare: bytes) -> Iterator[str]:
    for found in _INCLUDE.finditer(bare) if b"include" in bare else ():
        yield found[1].decode("utf-8", "replace")


def _registered(bare: bytes) -> Iterator[list[str]]:
    """`REGISTER_IMPL(stub, CUDA, function);` at the beginning of a line: the first name leads to the others."""
    for found in _STATEMENT.finditer(bare):
        words = [word.decode("ascii", "replace") for word in _WORD.findall(found[1])]
        if len(words) > 1:
            yield words


def _by_words(bare: bytes, known: dict[str, int], spans: list[tuple[int, int]]) -> Iterator[Kernel]:
    if b"__global__" not in bare:
        return
    for start, end in spans:
        bare = bare[:start] + b" " * (end - start) + bare[end:]
    seen = set(known)
    for found in _KERNEL.finditer(_BOUNDS.sub(lambda bounds: b" " * len(bounds[0]), bare)):
        name = found[1].decode("ascii", "replace")
        if name not in seen:
            seen.add(name)
            yield Kernel(name, found.start(1))


def _made(bare: bytes, makers: list[re.Match[bytes]]) -> Iterator[Kernel]:
    for maker in makers:
        for found in re.finditer(rb"^[ \t]*" + maker[1] + rb"[ \t]*\([ \t\r\n]*([A-Za-z_]\w*)", bare, re.MULTILINE):
            yield Kernel(found[1].decode("ascii"), found.start(1))
