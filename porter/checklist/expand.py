"""What a word of a shell script becomes: quotes, variables with their defaults, arrays, arithmetic. Nothing is run.

What a script does not say by itself stays as it is written, behind a mark: `UNKNOWN`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from porter.regex import lazy

UNKNOWN = "\0"
_DEEPEST = 20  # defaults of defaults
_LARGEST = 1 << 16  # characters that a word may become: a variable may hold itself twice, again and again
_PARAMETER = lazy(
    r"\$(?:\{([A-Za-z_]\w*|\d+|[@*#?])(\[[^\]{}]*\])?([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}|([A-Za-z_]\w*|\d|[@*#?$!]))"
)
_DEFAULT = lazy(r":?[-=]")
_NAME = lazy(r"[A-Za-z_]\w*")
Value: TypeAlias = "str | list[str]"


class Expander:
    def __init__(self, variables: Mapping[str, Value], unset: str = UNKNOWN):
        """`unset`: what stands for a variable that the script does not set."""
        self._variables, self._unset = variables, unset
        self._depth = self._length = 0

    def words(self, text: str) -> list[str]:
        """As a command is handed them."""
        return [word for word, _ in self._scan(text, split=True)]

    def text(self, text: str) -> str:
        """As a variable is set to it."""
        return "".join(word for word, _ in self._scan(text, split=False))

    def _scan(self, text: str, split: bool) -> list[tuple[str, bool]]:
        done: list[tuple[str, bool]] = []
        word, begun, at = "", False, 0
        while at < len(text):
            char = text[at]
            pieces: Sequence[str]
            if char == "'":
                end = text.find("'", at + 1)
                end = len(text) if end < 0 else end
                pieces, at, begun = [text[at + 1 : end]], end + 1, True
            elif char == '"':
                pieces, at = self._quoted(text, at + 1)
                begun = begun or bool(pieces)
            elif char == "\\":
                pieces, at = [text[at + 1 : at + 2].strip("\n")], at + 2
            elif char in "$`":
                value, at = self._expansion(text, at)
                loose = " ".join(value) if isinstance(value, list) else value
                pieces = _fields(loose) if split else [loose]
                if split and loose[:1].isspace() and begun:
                    pieces = ["", *pieces]
            else:
                pieces, at = [char], at + 1
            for number, piece in enumerate(pieces):
                if number:
                    done.append((word, True))
                    word = ""
                word += piece
                begun = begun or bool(piece)
        if begun or word:
            done.append((word, True))
        return done

    def _quoted(self, text: str, at: int) -> tuple[list[str], int]:
        """Up to the closing quote; "${list[@]}" is as many words as it has."""
        pieces = [""]
        while at < len(text) and text[at] != '"':
            if text[at] == "\\" and at + 1 < len(text):
                following = text[at + 1]
                pieces[-1] += "" if following == "\n" else following if following in '"\\$`' else "\\" + following
                at += 2
            elif text[at] in "$`":
                value, at = self._expansion(text, at)
                parts = value if isinstance(value, list) else [value]
                pieces[-1] += parts[0] if parts else ""
                pieces += parts[1:]
            else:
                pieces[-1] += text[at]
                at += 1
        return pieces, at + 1

    def _expansion(self, text: str, at: int) -> tuple[Value, int]:
        if text[at] == "`" or text.startswith("$(", at):
            end = _closed(text, at)
            if text.startswith("$((", at):
                return self._arithmetic(text[at + 3 : end - 2]), end
            return UNKNOWN + text[at:end], end
        match = _PARAMETER.match(text, at)
        if match is None:
            return text[at], at + 1
        name, index, rest = match[1] or match[4], match[2], match[3] or ""
        value = self._value(name, index, rest, match[0])
        self._length += len(value)
        if self._length > _LARGEST:
            return UNKNOWN + match[0], match.end()
        return value, match.end()

    def _value(self, name: str, index: str | None, rest: str, written: str) -> Value:
        value: Value | None = "" if name in "@*" else self._variables.get(name)
        default = _DEFAULT.match(rest)
        if default and (value is None or default[0][0] == ":" and not value):
            if self._depth > _DEEPEST:
                return UNKNOWN + written
            self._depth += 1
            value = self.text(rest[default.end() :])
            self._depth -= 1
            return value
        if value is None:
            return self._unset + written if self._unset else ""
        if rest and not default:
            return UNKNOWN + written
        if isinstance(value, list):
            if index in ("[@]", "[*]"):
                return value
            number = int(index[1:-1]) if index and index[1:-1].isdigit() else 0 if index is None else None
            return value[number] if number is not None and number < len(value) else UNKNOWN + written
        return value

    def _arithmetic(self, expression: str) -> str:
        plain = self.text(expression)
        for _ in range(_DEEPEST):
            if len(plain) > 1000 or not _NAME.search(plain):
                break
            plain = _NAME.sub(self._of_name, plain)
        number = calculated(plain)
        return f"{UNKNOWN}$(({expression}))" if number is None else str(number)

    def _of_name(self, match: re.Match[str]) -> str:
        value = self._variables.get(match[0])
        return value if isinstance(value, str) else match[0]


def calculated(expression: str) -> int | None:
    """Whole numbers with + - * / % and brackets, as a shell divides."""
    try:
        tree = ast.parse(expression.strip(), mode="eval") if len(expression) < 1000 else None
        return _number(tree.body) if tree else None
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError, OverflowError):
        return None


def _number(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 1 << 64:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand)
    if isinstance(node, ast.BinOp):
        one, other = _number(node.left), _number(node.right)
        if isinstance(node.op, ast.Add):
            return one + other
        if isinstance(node.op, ast.Sub):
            return one - other
        if isinstance(node.op, ast.Mult):
            return one * other
        if isinstance(node.op, (ast.Div, ast.FloorDiv)):
            return one // other
        if isinstance(node.op, ast.Mod):
            return one % other
    raise ValueError


def _closed(text: str, at: int) -> int:
    """Behind what begins here: `...` or $(...)."""
    if text[at] == "`":
        end = text.find("`", at + 1)
        return len(text) if end < 0 else end + 1
    depth = 0
    for match in re.finditer(r"[()]", text[at:]):
        depth += 1 if match[0] == "(" else -1
        if not depth:
            return at + match.end()
    return len(text)


def _fields(text: str) -> list[str]:
    """What a shell splits at blanks. Quotes inside of a variable stay for the shell; whoever wrote them meant quotes."""
    if not text.strip():
        return []
    return [word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word for word in text.split()]
