"""What only a notebook understands - magics, shell escapes, help - and the Python that stands in for it, as IPython reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from porter.python.trees import parse
from porter.regex import lazy

_CELL_MAGIC = lazy(r"[ \t]*%%(!|\w+)(.*)")
# magics whose cell is Python
_PYTHON_CELLS = frozenset(
    "time timeit capture prun memit mprun snakeviz pyinstrument scalene heat wandb debug notify cython_inline".split()
)
_SHELL_CELLS = frozenset({"bash", "sh", "shell", "zsh", "ksh", "!", "sx", "system"})
_WRITTEN_CELLS = frozenset({"writefile", "file", "python", "python2", "python3", "pypy"})
_OPTIONS = r"(?:[ \t]+-[\w-]+(?:[= \t]+\w+)??)*?[ \t]+"
_SHELL_SCRIPT = lazy(_OPTIONS + r"(?:\S*/)?(?:ba|da|k|z)?sh\b")
_PYTHON_SCRIPT = lazy(_OPTIONS + r"(?:\S*/)?(?:python|pypy)[\d.]*\b")
_CAPTURED = frozenset({"!!", "sx", "system"})  # what the shell prints becomes a value

_ESCAPE = lazy(r"[ \t]*(?=[%!?,;/])")
_HELP = lazy(r"[ \t]*(?=%{0,2}[A-Za-z_*][\w.*\[\]-]*\?{1,2}[ \t]*$)")
_INNER = r"[^\[\]\"'#]|\"[^\"]*\"|'[^']*'"
# a target without brackets that could hold a `=` of their own, and its `=`
_ASSIGNED = lazy(
    rf"(?:[\w.,:* \t]|\((?:[\w.,* \t])*\)|\[(?:{_INNER}|\[(?:{_INNER})*\])*\])+=[ \t]*(?=!(?!=)|%[A-Za-z_])"
)
# without a `%`, where IPython calls a magic by its name alone: no Python begins so
_WORD = r"(?!(?:in|is|and|or|not|if|for|else)\b)[\w\"'~]"
_BARE = lazy(
    r"[ \t]*(?=(?:cd|ls|pip|conda|mamba|mkdir|rmdir|cp|mv|rm|cat)[ \t]+"
    rf"(?:{_WORD}|\.[./]|/[\w./-]*/[ \t]*$|(?:-[\w-]+[ \t]+)+{_WORD}))"
)
_TIMED = lazy(r"%(?:time|timeit|prun|memit)(?:[ \t]+-[a-zA-Z](?:[ \t]*\d+)?)*[ \t]+(?=[^\s-])")
_SHELL = lazy(
    r"(?P<run>!!?|%(?:sx|system|sh|shell)\b)|%?(?P<tool>(?=(?:pip|conda|mamba|micromamba|uv)[ \t]))|%(?P<program>(?=run[ \t]))"
    r"|(?P<env>%(?:set_)?env[ \t]+)"
)


class Command(NamedTuple):
    """Shell in a cell, by the numbers of its lines."""

    first: int
    last: int
    column: int  # where the shell begins in the first line
    kind: str  # line | cell | env | written (a program or file that the cell holds)
    captured: bool  # what it prints becomes a value


@dataclass
class Reading:
    """The lines of a cell as Python sees them: all as long as they were."""

    python: list[str] = field(default_factory=list)
    shields: list[int | None] = field(default_factory=list)  # from this column on, a line is a stand-in
    commands: list[Command] = field(default_factory=list)
    whole: bool = True  # every bracket and string that opens is closed

    def hide(self, body: str) -> None:
        self.python.append("#" + "." * (len(body) - 1) if body else "")
        self.shields.append(0)

    def show(self, body: str) -> None:
        self.python.append(body)
        self.shields.append(None)


def parses(python: str) -> bool:
    return parse(python) is not None


def hidden(bodies: list[str]) -> Reading:
    """Of a cell that is no Python."""
    reading = Reading()
    for body in bodies:
        reading.hide(body)
    return reading


def shell(bodies: list[str]) -> Reading:
    """Of a cell that is shell from its first line."""
    reading = hidden(bodies)
    reading.commands.append(Command(0, len(bodies) - 1, 0, "cell", False))
    return reading


def read(bodies: list[str]) -> Reading:
    """Of a cell of Python."""
    reading, code, running = Reading(), _Code(), None
    head = True  # nothing but blank lines, comments and magics of Python so far
    for number, body in enumerate(bodies):
        if running is not None:  # the line before ends in a backslash
            reading.hide(body)
            running = _longer(reading, running, number, body)
        elif head and (match := _CELL_MAGIC.match(body)):
            reading.hide(body)
            if match[1] not in _PYTHON_CELLS:
                _foreign(reading, bodies, number, match)
                return reading
        elif code.fresh and (standing := stand_in(body)):
            head = False
            column, python, command = standing
            reading.python.append(body[:column] + python)
            reading.shields.append(column)
            if command:
                reading.commands.append(command._replace(first=number, last=number))
            if body.endswith("\\"):
                running = command is not None
        else:
            head = head and (not body.strip() or body.lstrip().startswith("#"))
            reading.show(body)
            code.feed(body)
    reading.whole = code.fresh
    return reading


def _longer(reading: Reading, is_shell: bool, number: int, body: str) -> bool | None:
    if is_shell:
        reading.commands[-1] = reading.commands[-1]._replace(last=number)
    return is_shell if body.endswith("\\") else None


def _foreign(reading: Reading, bodies: list[str], head: int, match: re.Match[str]) -> None:
    """The rest of a cell whose magic hands it to another program."""
    for body in bodies[head + 1 :]:
        reading.hide(body)
    name, options = match[1], match[2]
    kind = ""
    if name in _SHELL_CELLS or name == "script" and _SHELL_SCRIPT.match(options):
        kind = "cell"
    elif name in _WRITTEN_CELLS or name == "script" and _PYTHON_SCRIPT.match(options):
        kind = "written"
    if kind and head + 1 < len(bodies):
        captured = name in ("!", "sx", "system") or "--out" in options
        reading.commands.append(Command(head + 1, len(bodies) - 1, 0, kind, captured))


def stand_in(body: str) -> tuple[int, str, Command | None] | None:
    """Of a line with a magic: where that begins, what Python reads from there on, and the shell in it."""
    if match := _ASSIGNED.match(body):
        column = match.end()
        # a name nobody has: what comes of the command is not known
        return column, _timed(body, column, "") or "_" * (len(body) - column), _command(body, column, True)
    match = _ESCAPE.match(body) or _HELP.match(body) or _BARE.match(body)
    if not match:
        return None
    column = match.end()
    # a statement stays where one was: an `if` may have no other
    python = _timed(body, column, "0;") or "0" + "#" * (len(body) - column > 1) + "." * (len(body) - column - 2)
    return column, python, _command(body, column, False)


def _timed(body: str, column: int, before: str) -> str:
    """`%time f(x)`: the Python behind the magic is read where it stands."""
    match = _TIMED.match(body, column)
    if not match or body.endswith("\\"):
        return ""
    python = before + " " * (match.end() - column - len(before)) + body[match.end() :]
    return python if parses(python if before else f"_ = {python}") else ""


def _command(body: str, column: int, assigned: bool) -> Command | None:
    timed = _TIMED.match(body, column)
    match = _SHELL.match(body, timed.end() if timed else column)
    if not match:
        return None
    word = (match["run"] or "").lstrip("%")
    kind = "env" if match["env"] else "line"
    return Command(0, 0, match.end(), kind, assigned or word in _CAPTURED)


_CLOSED = {"'": r"'(?:[^'\\]|\\.)*'", '"': r"\"(?:[^\"\\]|\\.)*\""}
# by the quotes that no longer end in a line: behind one that does not, none of its kind does
_TOKENS = {
    open_: lazy("|".join(["#.*|'''|\"\"\"", *(p for q, p in _CLOSED.items() if q not in open_), r"[()\[\]{}'\"]|\\$"]))
    for open_ in ("", "'", '"', "'\"", "\"'")
}
_ENDS = {quote: lazy(r"(?:[^\\]|\\.)*?" + quote) for quote in ("'''", '"""', "'", '"')}


class _Code:
    """Line by line, whether the next one begins a statement: inside of strings and brackets nothing is a magic."""

    def __init__(self) -> None:
        self.quote, self.depth, self.joined = "", 0, False

    @property
    def fresh(self) -> bool:
        return not self.quote and not self.depth and not self.joined

    def feed(self, body: str) -> None:
        column, self.joined, unclosed = 0, False, ""
        if self.quote:
            column = self._behind(body, 0)
        while not self.quote and (match := _TOKENS[unclosed].search(body, column)):
            token, column = match[0], match.end()
            if token in ("'''", '"""') or token in ("'", '"') and body.endswith("\\"):
                self.quote = token
                column = self._behind(body, column)
            elif token in ("'", '"'):
                unclosed += token * (token not in unclosed)
            elif token in "([{":
                self.depth += 1
            elif token in ")]}":
                self.depth = max(0, self.depth - 1)
            elif token == "\\":
                self.joined = True

    def _behind(self, body: str, column: int) -> int:
        """Behind the end of the string that is open, if it ends in this line."""
        match = _ENDS[self.quote].match(body, column)
        if match or len(self.quote) == 1 and not body.endswith("\\"):
            self.quote = ""
        return match.end() if match else len(body)
