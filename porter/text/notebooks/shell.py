"""The shell of a notebook, read by the code that reads scripts: `!cmd`, `%env`, `%pip`, `%%bash`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate

from porter.engine.rule import Hit
from porter.errors import Unreadable
from porter.regex import lazy
from porter.text.document import Document
from porter.text.formats import shell
from porter.text.notebooks.cells import HALF, Notebook
from porter.text.notebooks.magics import Command
from porter.text.shells.parse import WORDS, add, finish
from porter.text.shells.script import Name, Script, Word

# what IPython puts in before a shell sees the line: `{expression}`; `{ a; }` and `${a}` are the shell's own
_FILLED = lazy(r"(?<![${])\{(?![\s{}])[^{}\n]*\}(?!\})")
_SET = lazy(r"(\w+)(?:[ \t]*=[ \t]*|([ \t])[ \t]*(?=\S))(.*)")
_READ = lazy(r"(\w+)[ \t]*$")
_REMARK = lazy(r"[ \t]*#+[ \t]*porter:")
_IDENTIFIER = lazy(r"(?<![\w.\"'$])[A-Z][A-Z0-9_]*(?![\w\"'])")
_VARIABLE = lazy(r"(?<!\w)[A-Z][A-Z0-9]*_[A-Z0-9_]+(?!\w)")


class CellShell:
    """A format as the others are, of the lines of one notebook. Edits add no lines to them."""

    MARK, READS = "#", "script"
    same = staticmethod(shell.same)

    def __init__(self, book: Notebook):
        self.commands = book.commands
        self.code = book.python_view.encode("utf-8", "replace")
        # of Python: in `!echo $NAME` its value is put in, whatever the environment holds
        self.identifiers = frozenset(_IDENTIFIER.findall(book.python_view)) if book.commands else frozenset()
        shown = {n for command in book.commands for n in range(command.first, command.last + 1)}
        shown |= {command.first - 1 for command in book.commands if command.kind == "written"}  # it names the file
        # a comment of Python may speak of the command below
        self.remarks = {n for n, text in enumerate(book.python) if book.shields[n] is None and _REMARK.match(text)}
        shown |= self.remarks
        texts = (line.body if n in shown else " " * len(line.body) for n, line in enumerate(book.lines))
        self.view = HALF.sub("\ufffd", "".join(f"{text}\n" for text in texts)).replace("\ufeff", " ")

    @property
    def concerned(self) -> bool:
        return bool(self.commands) and WORDS.search(self.view) is not None

    def read(self, document: Document) -> Script:
        lines = document.text.split("\n")
        if document.text.count("\n") != self.view.count("\n"):
            raise Unreadable("text", "lines")
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        script = Script("")
        for command in self.commands:
            self._mask(script, lines, starts, command)
        script.text = "\n".join(lines)
        for command in self.commands:
            begin, end = starts[command.first] + command.column, starts[command.last + 1] - 1
            if command.kind == "env":
                script.names += _variable(begin, lines[command.first][command.column :])
            elif command.kind == "written":
                script.heredocs.append((begin, end))
            else:
                self._add(script, command, begin, end)
        finish(script)
        return script

    def _mask(self, script: Script, lines: list[str], starts: list[int], command: Command) -> None:
        """What is no shell becomes blank, and what IPython puts in a value that nobody knows."""
        if command.kind not in ("line", "env"):
            return
        lines[command.first] = " " * command.column + lines[command.first][command.column :]
        for number in range(command.first, command.last + 1):
            for match in _FILLED.finditer(lines[number]):
                offset = starts[number] + match.start()
                script.names += (
                    Name(offset + m.start(), offset + m.end(), m[0], "text") for m in _VARIABLE.finditer(match[0])
                )
            lines[number] = _FILLED.sub(lambda match: "$" + "_" * (len(match[0]) - 1), lines[number])
            lines[number] = lines[number].replace("$$", "_$")
        if command.kind == "env" and (equal := _SET.match(lines[command.first], command.column)) and equal[2]:
            column = equal.start(2)
            lines[command.first] = f"{lines[command.first][:column]}={lines[command.first][column + 1 :]}"

    def _add(self, script: Script, command: Command, begin: int, end: int) -> None:
        before = len(script.names)
        try:
            add(script, begin, end, ("command_substitution",) if command.captured else ())
        except Unreadable:
            if WORDS.search(script.text, begin, end):
                script.broken.append((begin, end))
        if command.kind == "line":
            put_in = self.identifiers
            script.names[before:] = [n for n in script.names[before:] if n.role != "read" or n.name not in put_in]

    def settled(self, document: Document, script: Script, hits: Iterable[Hit]) -> Iterator[Hit]:
        for hit in shell.settled(document, script, hits):
            filled = any(script.text[start:end] != document.text[start:end] for start, end, _ in hit.edits)
            yield replace(hit, edits=(), safe=False) if filled else hit


def _variable(begin: int, text: str) -> Iterator[Name]:
    """`%env NAME=value`, `%env NAME value`, `%env NAME`."""
    if match := _SET.match(text):
        value = match[3].rstrip()
        start = begin + match.start(3)
        yield Name(begin, begin + match.end(1), match[1], "set", Word(start, start + len(value), value), True)
    elif match := _READ.match(text):
        yield Name(begin, begin + match.end(1), match[1], "read")
