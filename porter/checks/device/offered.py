"""What belongs to a device or a backend: its word in help texts and error texts, and the Enum of the project that it chooses from.

The word is edited with the string, else "either cpu, mps or cuda" would offer a device that the program takes no more.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from porter.engine.rule_file import Link, Node, RuleFile
from porter.finding import Change
from porter.python.evidence import call_name, constant
from porter.python.index import ancestors
from porter.python.strings.sinks import OPTIONS
from porter.regex import lazy

_QUOTE = rb"[\"'`]"
_BETWEEN = rb"(?:[ ]?[,/|][ ]?(?:or[ ]|and[ ])?|[ ](?:or|and)[ ])"


def _value(word: bytes, others: bytes) -> re.Pattern[bytes]:
    """The word as a value: quoted, listed with others of its kind, or said to be the default. In CUDA, CUDA_VISIBLE_DEVICES and
    "a cuda kernel" it is no value."""
    return lazy(
        rb"(?<=[\"'`])%(word)s(?=(?::\d+)?\\?%(quote)s)"
        rb"|(?<![-_.\w])%(word)s(?=%(between)s%(others)s\b(?![-_.]\w))"
        rb"|(?:(?<=[dD]efault: )|(?<=[dD]efault is )|(?<=[dD]efaults to ))%(word)s(?![-_:\w]|\.\w)"
        rb"|(?P<before>(?<![-_.\w])%(others)s%(between)s)%(word)s(?![-_:\w]|\.\w)"
        % {b"word": word, b"quote": _QUOTE, b"between": _BETWEEN, b"others": others}
    )


_VALUES = {
    "cuda": _value(b"cuda", rb"(?:cpu|mps|xpu|auto|npu)"),
    "nccl": _value(b"nccl", rb"(?:gloo|mpi|hccl)"),
}
_COMPUTED = lazy(rb"\{[^{}]*\}")  # the expressions of an f-string


def offered(link: Link, file: RuleFile, word: str = "cuda") -> tuple[Change, ...]:
    """The edits for a device string, or a backend, at `link`: in the help of the option in whose call it stands, and in the message
    of the assert, or of the raise below an if, that compares with it."""
    new = (file.target.device if word == "cuda" else file.target.backend).encode()
    return tuple(change for text in _texts(link) for change in _changes(file, text, word, new))


def _texts(link: Link) -> Iterator[Node]:
    child = link[0]
    for above, _ in ancestors(link):
        if isinstance(above, ast.Call) and _is_option(call_name(above.func)):
            given = {k.arg: k.value for k in above.keywords}
            given.update(_metadata(given.get("metadata")))
            # with choices the old value stays possible, so the help stays
            if "help" in given and "choices" not in given:
                yield given["help"]
            return
        if isinstance(above, ast.Assert) and child is above.test and above.msg is not None:
            yield above.msg
        elif isinstance(above, ast.If) and child is above.test and isinstance(above.body[0], ast.Raise):
            yield from getattr(above.body[0].exc, "args", ())
        if isinstance(above, ast.stmt):
            return
        child = above


def _is_option(name: str) -> bool:
    return name.startswith("add_") or name in OPTIONS


def _metadata(node: Node) -> Iterator[tuple[str, ast.expr]]:
    """`help` of `field(default="cuda", metadata={"help": "..."})`"""
    for key, value in zip(node.keys, node.values) if isinstance(node, ast.Dict) else ():
        if constant(key) == "help":
            yield "help", value


def _changes(file: RuleFile, text: Node, word: str, new: bytes) -> Iterator[Change]:
    if isinstance(text, ast.Constant) and (not isinstance(text.value, str) or text.value == word):
        return
    if not isinstance(text, (ast.Constant, ast.JoinedStr, ast.BinOp)):
        return
    start, end = file.source.span(text)
    data = file.source.utf8[start:end]
    if isinstance(text, ast.JoinedStr):
        data = _COMPUTED.sub(lambda match: b" " * len(match[0]), data)
    for match in _VALUES[word].finditer(data):
        first = start + match.start() + len(match["before"] or b"")
        yield Change(first, first + len(word), new)


def enum_behind(link: Link, file: RuleFile) -> str | None:
    """The file of the project that defines the function called with the string, if it also has an Enum with a device as a member:
    that Enum decides what the string means, and the string keeps its value."""
    call = link[1][0]
    name = file.names.resolve(call.func, link) if isinstance(call, ast.Call) else None
    module = (name or "").rpartition(".")[0].lstrip(".").replace(".", "/")
    return next((path for path in file.facts.own.enums if module and f"/{path}".endswith(f"/{module}.py")), None)
