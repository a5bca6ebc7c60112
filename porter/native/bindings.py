"""What C++ hands to Python: functions of modules, classes, and operators of the dispatcher."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from porter.regex import lazy

if TYPE_CHECKING:
    from tree_sitter import Node

MODULES = frozenset(
    {"PYBIND11_MODULE", "NB_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_FRAGMENT", "TORCH_LIBRARY_IMPL"}
    | {"STABLE_TORCH_LIBRARY", "STABLE_TORCH_LIBRARY_FRAGMENT", "STABLE_TORCH_LIBRARY_IMPL"}
    | {"TORCH_LIBRARY_EXPAND", "TORCH_LIBRARY_IMPL_EXPAND"}
)
# The preprocessor is no string; comments are looked for first.
TOKEN = lazy(
    rb'#[ \t]*include[^\n]*|//(?:[^\n\\]|\\.)*|/\*.*?(?:\*/|$)|R"(\w*)\(.*?(?:\)\1"|\Z)|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'',
    re.DOTALL,
)
LAUNCH = "<<<"  # stands among the words of what launches some kernel
AICORE = "__aicore__"  # and this among those of a kernel for NPUs
_DEFINES = frozenset({"def", "impl"})
_KEYS = frozenset({"kCUDA", "kCPU", "kPrivateUse1"})
_WORD = lazy(rb"[A-Za-z_]\w*")
_REFERRED = lazy(rb"(?<!\w)\d*([A-Za-z_]\w*)(?!\w)(?=[ \t\r\n]*(?:[(<,;)&{}\]]|::apply\b))")
_STRING = lazy(rb'"((?:[^"\\]|\\.)*)"')
_HANDED = lazy(rb"\bmodule_?\s*&|\bLibrary\s*&")
_OPERATOR = lazy(
    rb"""(?:\.[ \t]*op|RegisterOperators)[ \t]*\([ \t\r\n]*"(\w+)::(\w+)[^"]*"[ \t\r\n]*,((?:(?!\.[ \t]*op[ \t]*\()[^;"])*)"""
)
_CLASS = lazy(rb"\bclass_[ \t\r\n]*<[ \t\r\n]*(?:\w+::)*(\w+)")
_METHOD = lazy(rb"&[ \t\r\n]*(?:\w+[ \t]*::[ \t]*)*?(\w+)(?:[ \t]*<[^()]{0,300}>)?[ \t]*::[ \t]*(\w+)[ \t\r\n]*$")


class Export(NamedTuple):
    """One name under which Python gets at something."""

    module: str  # TORCH_EXTENSION_NAME, or the first argument of the macro
    library: bool  # an operator of torch.ops, and no function of a module
    name: str
    words: frozenset[str]  # of the arguments that say what is called
    key: str = ""  # of the dispatcher: CUDA, CPU; "" where it is called on any device


def referred(code: bytes) -> frozenset[str]:
    """What may be called, or handed on to be called."""
    words = {word.decode("ascii", "replace") for word in _REFERRED.findall(code)}
    return frozenset(words | {LAUNCH} if b"<<<" in code else words)


def exports(data: bytes, bare: bytes, functions: Sequence[tuple[str, Node, Node]]) -> Iterator[Export]:
    """`functions`: (name, node, body) of all of a source; the macros that define modules look like functions."""
    handed = b".def(" in bare and b"odule" in bare
    for name, node, body in functions:
        head = bare[node.start_byte : body.start_byte]
        if name in MODULES:
            arguments = [word.decode("ascii", "replace") for word in _WORD.findall(head)[1:]]
            key = arguments[1] if "IMPL" in name and len(arguments) > 1 else ""
            yield from _defined(data, body, arguments[0] if arguments else "", "LIBRARY" in name, key)
        elif handed and _HANDED.search(head) and b".def(" in bare[body.start_byte : body.end_byte]:
            # `void bind(py::module& m) { m.def(...); }`
            yield from _defined(data, body, "TORCH_EXTENSION_NAME", b"Library" in head)
    if b"RegisterOperators" in bare:
        yield from _operators(data, bare)


def _operators(data: bytes, bare: bytes) -> Iterator[Export]:
    """`torch::RegisterOperators().op("ns::name", &function)`: the names stand in strings, which `bare` has not."""
    for match in _OPERATOR.finditer(data):
        if bare[match.start() : match.start() + 1].strip():
            space, name = match[1].decode(), match[2].decode()
            yield _export(space, True, name, TOKEN.sub(b"", match[3]))


def _export(module: str, library: bool, name: str, arguments: bytes, key: str = "") -> Export:
    words = frozenset(word.decode("ascii", "replace") for word in _WORD.findall(arguments))
    return Export(module, library, name, words, key or next(iter(sorted(words & _KEYS)), "").removeprefix("k"))


def _defined(data: bytes, body: Node, module: str, library: bool, key: str = "") -> Iterator[Export]:
    todo = [body]
    chained: set[int] = set()
    class_names = {match.start(): match[1] for match in _CLASS.finditer(data, body.start_byte, body.end_byte)}
    class_starts = list(class_names)
    while todo:
        node = todo.pop()
        if node.type != "call_expression":
            todo.extend(reversed(node.named_children))
            continue
        if node.id not in chained:  # else it begins as what it is a part of
            calls = _chain(node)
            chained |= {call.id for call in calls}
            index = bisect_left(class_starts, calls[-1].start_byte)
            if index < len(class_starts) and class_starts[index] < calls[-1].end_byte:
                yield from _class(data, calls, class_names[class_starts[index]].decode(), module)
                continue
        called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        field = called.child_by_field_name("field") if called and called.type == "field_expression" else None
        if (
            called is None
            or field is None
            or arguments is None
            or _text(data, field).decode("ascii", "replace") not in _DEFINES
        ):
            todo.extend(reversed(node.named_children))
            continue
        holder = called.child_by_field_name("argument")
        if holder is None or holder.type != "identifier":  # a method of a class
            continue
        given = arguments.named_children
        text = _STRING.search(_text(data, given[0])) if given else None
        if text is None:
            continue
        name = text[1].partition(b"(")[0].rpartition(b"::")[2].decode("utf-8", "replace").strip()
        if name.isidentifier():
            yield _export(
                module, library, name, b" ".join(TOKEN.sub(b"", _text(data, part)) for part in given[1:]), key
            )


def _chain(call: Node) -> list[Node]:
    """`a(...).b(...).c(...)`: the calls, the last of them first."""
    calls = [call]
    while (called := calls[-1].child_by_field_name("function")) is not None and called.type == "field_expression":
        before = called.child_by_field_name("argument")
        if before is None or before.type != "call_expression":
            break
        calls.append(before)
    return calls


def _class(data: bytes, calls: list[Node], name: str, module: str) -> Iterator[Export]:
    """`py::class_<Scale>(m, "Scaler").def("run", &Scale::run)`: whoever makes one may call all of it."""
    words = {f"{name}::{name}"}
    *methods, constructor = [call.child_by_field_name("arguments") for call in calls]
    for argument in (node for arguments in methods if arguments is not None for node in arguments.named_children):
        if argument.type == "lambda_expression":
            words |= referred(TOKEN.sub(b"", _text(data, argument)))
        elif method := _METHOD.search(_text(data, argument)):
            words.add(f"{method[1].decode()}::{method[2].decode()}")
    name_match = _STRING.search(_text(data, constructor)) if constructor is not None else None
    if name_match and (text := name_match[1].decode("utf-8", "replace")).isidentifier():
        yield Export(module, False, text, frozenset(words))


def _text(data: bytes, node: Node) -> bytes:
    return data[node.start_byte : node.end_byte]
