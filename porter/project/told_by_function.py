"""Makes one finding of several in one function, or one cell of a notebook, if one rewrite answers them all, whatever names they
have: who rewrites a loop that reads five losses does it once. What stands in no function is one place more. A message of this kind
has `joined` in its stanza.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import replace

from porter.engine.together import may_fold, with_lines
from porter.files.kinds import NOTEBOOK, PYTHON, kind_of
from porter.finding import FileResult, Finding
from porter.python.trees import parse
from porter.python.walks import statements
from porter.spans import Span, outermost, span_of

Text = Callable[[str], bytes]
Thought = Callable[[str, str], str]  # gives the `joined` of a code and message; "" where each place is work of its own
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def told_by_function(results: Iterable[FileResult], text: Text, thought: Thought) -> list[FileResult]:
    """The results with one finding for each function, or cell, and `joined` word."""
    return [_joined(result, text, thought) for result in results]


def _joined(result: FileResult, text: Text, thought: Thought) -> FileResult:
    several = [f for f in result.findings if thought(f.code, f.why) and may_fold(f)]
    kind = kind_of(result.path)
    if len(several) < 2 or kind not in (PYTHON, NOTEBOOK):
        return result
    spans = _functions(text(result.path)) if kind == PYTHON else []
    groups: dict[object, list[Finding]] = {}
    for f in several:
        place = span_of(f.line, spans) if kind == PYTHON else dict(f.values).get("cell")
        key = (f.code, thought(f.code, f.why), f.severity, place)
        groups.setdefault(key, []).append(f)
    told = {found[0]: with_lines(found) for found in groups.values()}
    left = {f for found in groups.values() for f in found[1:]}
    kept = (told.get(f, f) for f in result.findings if f not in left)
    return replace(result, findings=tuple(sorted(kept)))


def _functions(data: bytes) -> list[Span]:
    tree = parse(data)
    nodes = statements(tree) if tree else ()
    return outermost((n.lineno, n.end_lineno or n.lineno) for n in nodes if isinstance(n, _FUNCTIONS))
