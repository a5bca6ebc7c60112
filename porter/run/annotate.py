"""`# PRT110: ...` above every place that only a person can port; what an earlier run left is replaced whole."""

from __future__ import annotations

import io
import tokenize
from bisect import bisect_right
from collections.abc import Callable, Iterable

from porter.errors import Unreadable
from porter.finding import Change, Finding
from porter.python.source import Source
from porter.regex import lazy

OWN = lazy(r"# PRT\d{3}: ")
SPECIAL = lazy(r"#\s*porter:")


def remarks(
    data: bytes, findings: Iterable[Finding], message: Callable[[Finding, str], str], lang: str
) -> tuple[Change, ...]:
    """Edits of `data` that put comments in lines of their own above the statements, and take old ones away."""
    try:
        source = Source(data)
        starts, comments = _layout(source)
    except (Unreadable, tokenize.TokenError, SyntaxError):
        return ()
    wanted: dict[int, list[str]] = {}
    for finding in sorted(findings):
        if finding.status == "manual" and finding.suppressed is None and not finding.code.startswith("PRT0"):
            above = bisect_right(starts, finding.line)
            text = _text(finding, message, lang, source.stored.stated)
            if above and text not in wanted.setdefault(_anchor(starts[above - 1], comments), []):
                wanted[_anchor(starts[above - 1], comments)].append(text)
    return tuple(_changes(source, wanted, {line for line, text in comments.items() if OWN.match(text)}))


def annotated(data: bytes, changes: tuple[Change, ...], comments: tuple[Change, ...]) -> tuple[Change, ...]:
    """Both sets of edits of the same bytes as one; a comment that would land inside an edit is left out."""
    free = [c for c in comments if not any(_collide(c, edit) for edit in changes)]
    order = [(c.start, c.end, 0, c) for c in changes] + [(c.start, c.end, 1, c) for c in free]
    # at one place: what the port inserts belongs to the statement above, the comment to the one below
    return tuple(c for *_, c in sorted(order, key=lambda row: row[:3]))


def _collide(comment: Change, edit: Change) -> bool:
    overlap = edit.start < comment.end and comment.start < edit.end
    return overlap or edit.start < comment.start < edit.end


def _text(finding: Finding, message: Callable[[Finding, str], str], lang: str, encoding: str) -> str:
    """In English where the encoding of the file has no room for the language asked for."""
    for language in (lang, "en"):
        text = f"# {finding.code}: {' '.join(message(finding, language).split())}"
        if text.encode(encoding, "replace").decode(encoding) == text:
            return text
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _layout(source: Source) -> tuple[list[int], dict[int, str]]:
    """The lines on which a statement starts, and the comments that have a line for themselves."""
    starts, comments, fresh = [], {}, True
    lines = io.StringIO(source.utf8.decode("utf-8"), newline="")
    for token in tokenize.generate_tokens(lines.readline):
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip() and fresh:
            comments[token.start[0]] = token.string
        elif token.type == tokenize.NEWLINE:
            fresh = True
        elif fresh and token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            if token.type != tokenize.ENDMARKER:
                starts.append(token.start[0])
            fresh = False
    return starts, comments


def _anchor(line: int, comments: dict[int, str]) -> int:
    """Above `line` and above what the user told porter there, which must stay next to its statement."""
    top = line
    while text := comments.get(line - 1):
        if SPECIAL.match(text):
            top = line - 1
        elif not OWN.match(text):
            break
        line -= 1
    return top


def _changes(source: Source, wanted: dict[int, list[str]], old: set[int]) -> Iterable[Change]:
    for line in sorted({*wanted, *(_below(n, old) for n in old)}):
        first = line
        while first - 1 in old:
            first -= 1
        start, end = (source.starts[n - 1] if n <= len(source.starts) else len(source.utf8) for n in (first, line))
        new = b"".join(_comment(source, line, text) for text in wanted.get(line, ()))
        if new != source.utf8[start:end]:
            yield from source.stored.edits((Change(start, end, new),))


def _below(line: int, old: set[int]) -> int:
    while line in old:
        line += 1
    return line


def _comment(source: Source, line: int, text: str) -> bytes:
    indentation = source.indentation(source.line_end(source.offset(line, 0))[0]).replace(b"\f", b"")
    return indentation + text.encode("utf-8") + source.newline
