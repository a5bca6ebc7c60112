"""Reads files with newer grammar, which LibCST knows and the `ast` of this Python does not.

Statements that `ast` refuses are replaced by others of the same length, so that all around them is analysed and ported as
usual. Each is a finding, because porter does not look into it. The type parameters of a class or function, `[T]`, are blanks
for `ast`: nothing of them could be ported.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right

import libcst as cst

from porter.errors import Unreadable
from porter.python.index import Node
from porter.python.source import Source
from porter.python.trees import fits_libcst, tree_of
from porter.python.units import positions
from porter.regex import lazy

_BLANK = lazy(r"[ \t]*")
_LINE_END = lazy(r"\r\n|\r|\n")
# tokens that count for the depth of a statement; strings and comments are matched so that nothing inside of them counts
_STEPS = lazy(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*|\\\r?\n|\n'
    r"|[()\[\]{}]|\.(?=\w)|[-+*/%@&|^~]|\b(?:and|or|not|if|lambda|await)\b",
    re.DOTALL,
)
_LAST = lazy(r" (?=\r\n|\r|\n)")  # the last character of a line
_INDENTED = lazy(r"^[ \t]{400}", re.MULTILINE)
_DEEPEST = 1000  # steps of a statement that LibCST's parser surely survives
_BRACKETS = 200  # inside each other: Python takes no more, so that no newer grammar is to blame
_MOST = 200  # statements that are hidden before the whole file is given up


def parse_around(source: Source, refusal: Unreadable) -> tuple[ast.Module, list[int]]:
    """The tree of all that `ast` can read, and the lines of the hidden statements. Raises `refusal` if LibCST cannot read the
    file, either."""
    text = source.utf8.decode("utf-8")
    if _nests(text) or not fits_libcst(text):
        raise refusal
    try:
        module = cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError):
        raise refusal from None
    ranges, typed = _ranges(module)
    for start, end in typed:
        blank = _blank(text, start, end)  # the lines go on: nothing closes them any more
        text = blank[:start] + _LAST.sub("\\\\", blank[start:end]) + blank[end:]
    # where each line begins, as `ast` counts lines, and where the last one ends; the edits below move none
    lines = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    hidden: list[int] = []
    for _ in range(_MOST):
        try:
            return tree_of(text), sorted(hidden)
        except SyntaxError as error:
            line = error.lineno or 1
        except (ValueError, RecursionError, MemoryError):
            break
        line = min(line, len(lines) - 1)
        around = [r for r in ranges if r[0] < lines[line] and r[1] > lines[line - 1]]
        if not around:
            break
        smallest = min(around, key=lambda r: r[1] - r[0])
        ranges.remove(smallest)
        start, end, cover = smallest
        hidden.append(bisect_right(lines, start))
        text = _blank(text, start, end)
        text = text[:start] + cover + text[start + len(cover) :]
    raise refusal


def _blank(text: str, start: int, end: int) -> str:
    body = "".join(c if c in "\r\n" else " " for c in text[start:end])
    return text[:start] + body + text[end:]


def _nests(text: str) -> bool:
    """Whether a statement may nest deeper than LibCST's parser survives, which recurses without a limit, or than Python allows."""
    brackets = steps = 0
    for word in _STEPS.findall(text):
        if word == "\n":
            steps = steps if brackets else 0
        elif word[0] in ")]}":
            brackets = max(0, brackets - 1)
        elif word[0] not in "\"'#\\":
            steps += 1
            brackets += word in "([{"
            if steps > _DEEPEST or brackets > _BRACKETS:
                return True
    return text.count("elif ") > _DEEPEST or _INDENTED.search(text) is not None


def _ranges(module: cst.Module) -> tuple[list[tuple[int, int, str]], list[tuple[int, int]]]:
    """(start, end, replacement) of every simple statement and of every header of a block; and where the type parameters of
    classes and functions stand."""
    span_of, code = positions(module), module.code
    ranges: list[tuple[int, int, str]] = []
    typed: list[tuple[int, int]] = []

    class Collect(cst.CSTVisitor):
        def visit_SimpleStatementLine(self, node: Node) -> bool:
            ranges.append((span_of(node.body[0])[0], span_of(node.body[-1])[1], "pass"))
            return False

        def on_visit(self, node: Node) -> bool:
            body = getattr(node, "body", None)
            if isinstance(body, (cst.IndentedBlock, cst.SimpleStatementSuite)) and isinstance(node, cst.CSTNode):
                if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
                    start = span_of(getattr(node, "asynchronous", None) or node.name)[0]
                    start = max(code.rfind(end, 0, start) for end in "\r\n") + 1
                    blank = _BLANK.match(code, start)
                    start = blank.end() if blank else start
                    if node.type_parameters is not None:
                        typed.append(span_of(node.type_parameters))
                else:
                    start = span_of(node)[0]
                ranges.append((start, span_of(body)[0], _cover(node)))
            return super().on_visit(node)

    module.visit(Collect())
    return [r for r in ranges if r[1] - r[0] >= len(r[2])], typed


def _cover(block: cst.CSTNode) -> str:
    if isinstance(block, cst.ClassDef) and block.decorators:
        return f"class {block.name.value}:"
    if isinstance(block, cst.FunctionDef) and block.decorators:
        return f"def {block.name.value}():"
    return "except:" if isinstance(block, (cst.ExceptHandler, cst.ExceptStarHandler)) else "if 1:"
