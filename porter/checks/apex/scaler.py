"""What is written for a training loop on apex.amp: torch's GradScaler and autocast, as edits of the file's bytes."""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING, NamedTuple

from porter.checks.apex.loss import Backward, Clip, Unknown, suite_of
from porter.checks.apex.pattern import Pattern, imports_amp, patterns
from porter.finding import Change
from porter.python.blocks import once_for_file
from porter.python.comments import on_lines
from porter.python.index import FUNCTIONS, Link, Node, ancestors
from porter.python.walks import walk
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

_RULES = ("PRT350", "PRT355")
_DIRECTIVE = lazy(r"# *(?:noqa|type:|pylint:|isort:)")
_SCALERS = ("scaler", "grad_scaler")
SINCE = (2, 3)  # torch.amp.GradScaler


class Written(NamedTuple):
    """The edits by what they are for: the offset of a mention of apex.amp, or of an import of it."""

    pieces: dict[int, tuple[Change, ...]]
    count: int  # type: ignore[assignment]  # of what is ported, and not the method of tuples


def _outside(bound: tuple[str, Link]) -> bool:
    """Whether an import stands in no function."""
    return not any(isinstance(a[0], FUNCTIONS) for a in ancestors(bound[1]))


@once_for_file
def native_amp(file: File) -> Written | None:
    """What stands for apex.amp in a file, by place; None where some piece of the file's use of apex.amp is in no known form."""
    if b"scale_loss" not in file.source.utf8 or not file.style.loads:
        return None
    if not file.undisturbed(_RULES):
        return None  # half of a pattern is worse than none
    try:
        return _Writer(file).all(patterns(file))
    except Unknown:
        return None


class _Writer:
    def __init__(self, file: File) -> None:
        self.file, self.source, self.text = file, file.source, file.source.utf8
        self.scaler = next((n for n in _SCALERS if not file.names.bound(n)), "")
        self.torch = next(
            (
                n
                for n, t in sorted(file.names.imports.items())
                if {"torch"} == {x for x, _ in t} and any(map(_outside, t))
            ),
            "",
        )
        if not self.scaler or not self.torch or self.torch in file.names.others:
            raise Unknown
        self.pieces: dict[int, tuple[Change, ...]] = {}

    def all(self, loops: list[Pattern]) -> Written:
        for pattern in loops:
            self._start(pattern)
            for back in pattern.backwards:
                self._backward(back, pattern)
            for clip in pattern.clips:
                self._clip(clip, pattern)
            for link in pattern.states:
                start, end = self.source.span(link[0].value)
                self._put(link, Change(start, end, self.scaler.encode()))
        self._imports({p.guard: p.start for p in loops if p.guard is not None})
        changes = sorted({c for piece in self.pieces.values() for c in piece})
        if any(a.end > b.start or a.start == b.start for a, b in itertools.pairwise(changes)):
            raise Unknown
        return Written(
            self.pieces, sum(1 + len(p.backwards) + len(p.clips) + len(p.steps) + len(p.states) for p in loops)
        )

    def _put(self, link: Link, *changes: Change) -> None:
        start = self.source.span(link[0])[0]
        self.pieces[start] = (*self.pieces.get(start, ()), *changes)

    # ---- lines

    def _lines(self, statement: ast.stmt) -> tuple[int, int, bytes]:
        """First byte of a statement that has its lines for itself, its end, comment included, and its indentation."""
        start, end = self.source.span(statement)
        indent = self.source.indentation(start)
        stop = self.source.line_end(end)[0]
        tail = self.text[end:stop].strip()
        if self.source.starts[self.source.line(start) - 1] + len(indent) != start or tail and not tail.startswith(b"#"):
            raise Unknown
        return start, stop, indent

    def _instead(self, statement: ast.stmt, lines: list[str]) -> Change:
        """Other lines in the place of a statement, below the comments that it carries."""
        start, end, indent = self._lines(statement)
        first_line, last_line = self.source.line(start), self.source.line(end)
        notes = [text for _, _, text in on_lines(self.source, first_line, last_line)]
        if any(map(_DIRECTIVE.match, notes)):
            raise Unknown
        rows = [row.encode() for row in (*notes, *lines)]
        return Change(start, end, (self.source.newline + indent).join(rows))

    def _words(self, node: Node) -> str:
        start, end = self.source.span(node)
        if node.lineno != node.end_lineno:
            raise Unknown
        return self.text[start:end].decode("utf-8")

    # ---- the pieces

    def _start(self, pattern: Pattern) -> None:
        device = self.file.target.device
        enabled = f"enabled={pattern.enabled}" if pattern.enabled else ""
        if self.file.target.torch < SINCE:
            scaler_call = f"{self.torch}.{device}.amp.GradScaler({enabled})"
        else:
            scaler_call = f'{self.torch}.amp.GradScaler("{device}"{", " * bool(enabled)}{enabled})'
        whole = pattern.guard or pattern.statement
        changes = [self._instead(whole, [f"{self.scaler} = {scaler_call}"])]
        if self.text[changes[0].start : changes[0].start + 4] == b"elif":
            raise Unknown
        for link in pattern.steps:
            lines = [f"{self.scaler}.step({pattern.optimizer})", f"{self.scaler}.update()"]
            if clip := pattern.moved.get(link[0]):
                rows = [f"{self.scaler}.unscale_({pattern.optimizer})", *self._rows(clip)]
                lines = [*self._under(f"if {self.scaler}.is_enabled():", rows, link[0]), *lines]
            changes.append(self._step(link[0], lines))
        self._put(pattern.start, *changes)

    def _step(self, statement: ast.stmt, lines: list[str]) -> Change:
        start, _, indent = self._lines(statement)
        return Change(
            start, self.source.span(statement)[1], (self.source.newline + indent).join(map(str.encode, lines))
        )

    def _backward(self, back: Backward, pattern: Pattern) -> None:
        arguments = [self._words(a) for a in (*back.arguments.args, *back.arguments.keywords)]
        lines = [f"{self.scaler}.scale({self._words(back.loss)}).backward({', '.join(arguments)})"]
        if back.clips and back.clips[1] not in pattern.moved.values():
            lines += [f"{self.scaler}.unscale_({pattern.optimizer})", *self._rows(back.clips[1])]
        elif back.clips:  # gradients are unscaled once for each step; without a scale, each batch clips as before
            lines += self._under(f"if not {self.scaler}.is_enabled():", self._rows(back.clips[1]), back.whole)
        instead = self._instead(back.whole, lines)
        self._put(back.mention, *self._autocast(back.forward, pattern), instead)
        if back.clips:
            self.pieces[self.source.span(back.clips[0].func)[0]] = (instead,)

    def _rows(self, statement: ast.stmt) -> list[str]:
        """The lines of a statement, for another indentation."""
        start, _, indent = self._lines(statement)
        rows = self.text[start : self.source.span(statement)[1]].decode("utf-8").splitlines()
        if any(row[: len(indent)].strip() for row in rows[1:]):
            raise Unknown
        return [rows[0], *(row[len(indent) :] for row in rows[1:])]

    def _under(self, head: str, rows: list[str], statement: ast.stmt) -> list[str]:
        unit = self._unit(self._lines(statement)[2]).decode()
        return [head, *(unit + row for row in rows)]

    def _autocast(self, forward: list[ast.stmt], pattern: Pattern) -> list[Change]:
        device, t = self.file.target.device, self.torch
        enabled = f", enabled={self.scaler}.is_enabled()" if pattern.enabled else ""
        start, _, indent = self._lines(forward[0])
        end = self._lines(forward[-1])[1]
        step = self._unit(indent)
        head = f'with {t}.autocast("{device}", dtype={t}.float16{enabled}):'.encode()
        first_line, last_line = self.source.line(start), self.source.line(end)
        changes = []
        for line in range(first_line, last_line + 1):
            begin = self.source.starts[line - 1]
            if line == first_line:
                changes.append(Change(begin, begin, indent + head + self.source.newline + step))
            elif self.text[begin : self.source.line_end(begin)[0]].strip():
                changes.append(Change(begin, begin, step))
        return changes

    def _unit(self, indent: bytes) -> bytes:
        """One level of indentation, as the file has it."""
        block = next((s for s in walk(self.file.tree) if isinstance(s, (ast.FunctionDef, ast.ClassDef, ast.For))), None)
        if block is None:
            return b"    "
        inner, outer = (self.source.indentation(self.source.span(s)[0]) for s in (block.body[0], block))
        unit = inner.removeprefix(outer)
        return unit if unit and indent == unit * (len(indent) // len(unit)) else b"    "

    def _clip(self, clip: Clip, pattern: Pattern) -> None:
        unscale = f"{self.scaler}.unscale_({pattern.optimizer})"
        if clip.whole is not None and clip.plain is not None:
            self._put(clip.mention, self._instead(clip.whole, [unscale, *self._rows(clip.plain)]))
            return
        start, _, indent = self._lines(clip.statement)
        masters = f'(p for group in {pattern.optimizer}.param_groups for p in group["params"])'
        above = Change(start, start, unscale.encode() + self.source.newline + indent)
        self._put(clip.mention, above, Change(*self.source.span(clip.call), masters.encode()))

    # ---- imports

    def _imports(self, guards: dict[ast.If, Link]) -> None:
        """Of apex.amp: nothing uses it any more. One that the program can do without stays."""
        for kind in (ast.Import, ast.ImportFrom):
            for link in self.file.buckets[kind]:
                if not imports_amp(link[0]):
                    continue
                if guard := next((a[0] for a in ancestors(link) if a[0] in guards), None):
                    self._put(link, *self.pieces[self.source.span(guards[guard][0])[0]])
                    continue
                if link[0].__class__ is ast.Import and self._used("apex"):
                    continue
                outer = link
                while isinstance(outer[1][0], (ast.Try, ast.If)) and len(suite_of(outer)) == 1:
                    above = outer[1][0]
                    if (
                        above.__class__ is ast.If
                        and above.orelse
                        or above.__class__ is ast.Try
                        and not imports_amp(above)
                    ):
                        break
                    outer = outer[1]
                alone = len(suite_of(outer)) == 1
                if outer[1][0].__class__ is ast.Try and not imports_amp(outer[1][0]) and alone or self._optional(outer):
                    continue
                if alone:
                    raise Unknown
                self._put(link, self._removed(outer[0]))

    def _used(self, name: str) -> bool:
        """Whether the file has more of apex than amp."""
        for link in self.file.names.uses:
            base = self.file.names.root(link[0].id, link)
            if base == "apex" and (link[1][0].__class__ is not ast.Attribute or link[1][0].attr != "amp"):
                return True
        return False

    @staticmethod
    def _optional(link: Link) -> bool:
        block = link[1][0]
        return (
            block.__class__ is ast.Try
            and link[0] in block.body
            and block.handlers[-1].body[-1].__class__ is not ast.Raise
        )

    def _removed(self, statement: ast.stmt) -> Change:
        start, end, _indent = self._lines(statement)
        first_line, last_line = self.source.line(start), self.source.line(end)
        if on_lines(self.source, first_line, last_line):
            raise Unknown
        begin, behind = self.source.starts[first_line - 1], self.source.line_end(end)[1]
        spare = self._blank_above(first_line)  # of two runs of blank lines that meet, the longer stays
        while spare and behind < len(self.text) and not self.text[behind : self.source.line_end(behind)[0]].strip():
            behind, spare = self.source.line_end(behind)[1], spare - 1
        return Change(begin, behind, b"")

    def _blank_above(self, line: int) -> int:
        count = 0
        while (
            line - count > 1
            and not self.text[self.source.starts[line - count - 2] : self.source.starts[line - count - 1]].strip()
        ):
            count += 1
        return count
