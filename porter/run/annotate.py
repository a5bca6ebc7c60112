"""Writes a comment `# PRT110: ...` above every place that only a person can port. It replaces all comments of earlier runs."""

from __future__ import annotations

import io
import tokenize
from bisect import bisect_right
from collections.abc import Callable, Iterable

from porter.errors import Unreadable
from porter.finding import Change, Finding
from porter.python.source import Source
from porter.regex import lazy

OWN = lazy(r"# PRT\d{3}: ")  # a comment that porter wrote
SPECIAL = lazy(r"#\s*porter:")  # a comment for porter, such as `# porter: ignore[PRT110]`


def remarks(
    data: bytes, findings: Iterable[Finding], message: Callable[[Finding, str], str], lang: str
) -> tuple[Change, ...]:
    """Edits of `data` that write comments on lines of their own above the statements, and remove old comments."""
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
    """Both sets of edits in one, in order. A comment that would be inside an edit is left out."""
    free = [c for c in comments if not any(_collide(c, edit) for edit in changes)]
    order = [(c.start, c.end, 0, c) for c in changes] + [(c.start, c.end, 1, c) for c in free]
    # at the same place, edits come first: they belong to the statement above, the comment to the statement below
    return tuple(c for *_, c in sorted(order, key=lambda row: row[:3]))


def _collide(comment: Change, edit: Change) -> bool:
    """Whether a comment would be inside an edit."""
    overlap = edit.start < comment.end and comment.start < edit.end
    return overlap or edit.start < comment.start < edit.end


def _text(finding: Finding, message: Callable[[Finding, str], str], lang: str, encoding: str) -> str:
    """The comment for a finding. It is in English if the encoding of the file cannot write the language `lang`."""
    for language in (lang, "en"):
        text = f"# {finding.code}: {' '.join(message(finding, language).split())}"
        if text.encode(encoding, "replace").decode(encoding) == text:
            return text
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _layout(source: Source) -> tuple[list[int], dict[int, str]]:
    """The lines on which a statement starts, and, by line, the comments between statements that have their own line."""
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
    """The line above which the comment of `line` goes. A user's comment for porter stays next to its statement."""
    top = line
    while text := comments.get(line - 1):
        if SPECIAL.match(text):
            top = line - 1
        elif not OWN.match(text):
            break
        line -= 1
    return top


def _changes(source: Source, wanted: dict[int, list[str]], old: set[int]) -> Iterable[Change]:
    """The edits that write the `wanted` comments, by line, and remove those on `old` lines."""
    for line in sorted({*wanted, *(_below(n, old) for n in old)}):
        first = line
        while first - 1 in old:
            first -= 1
        start, end = (source.starts[n - 1] if n <= len(source.starts) else len(source.utf8) for n in (first, line))
        new = b"".join(_comment(source, line, text) for text in wanted.get(line, ()))
        if new != source.utf8[start:end]:
            yield from source.stored.edits((Change(start, end, new),))


def _below(line: int, old: set[int]) -> int:
    """The first line from `line` on that is not old."""
    while line in old:
        line += 1
    return line


def _comment(source: Source, line: int, text: str) -> bytes:
    indentation = source.indentation(source.line_end(source.offset(line, 0))[0]).replace(b"\f", b"")
    return indentation + text.encode("utf-8") + source.newline
