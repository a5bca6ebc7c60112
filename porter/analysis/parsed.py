"""Reads one Python file with the standard library: its tree, its names, and the session of the analysis."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import Any

from porter.engine.refusals import OF_GRAMMAR, Failures
from porter.engine.session import Session
from porter.engine.style_of import STYLES
from porter.errors import Unreadable
from porter.files.paths import is_tested
from porter.python import index
from porter.python.names import Names
from porter.python.source import Source
from porter.python.trees import parse_or_refuse


def _parse(source: Source) -> tuple[ast.Module, list[int]]:
    """The tree, and the lines of statements that this Python's grammar does not know."""
    try:
        return parse_or_refuse(source.utf8), []
    except Unreadable as refusal:
        if refusal.key not in OF_GRAMMAR:
            raise
        from porter.python.newer_grammar import parse_around

        return parse_around(source, refusal)


class Parsed:
    """The tree and the names of a Python file, with the rules and the target of the session."""

    def __init__(self, path: str, source: Source, session: Session, again: bool = False):
        """`again`: the text is a port, and only rules that edit are asked."""
        self.path, self.source, self.session = path, source, session
        self.target, self.facts = session.target, session.facts
        self.rules = session.rules.writing(session.fuse) if again else session.rules
        self.style = STYLES[session.target.style](session.target, session.has)
        self.tree, self.hidden = _parse(source)
        self.buckets, uses = index.collect(self.tree, self.rules.keys.node_types)
        self.names = Names(self.buckets, uses)
        self.names.aliases  # noqa: B018  computed before anything resolves through them
        self.tested = is_tested(path, source.utf8)  # in tests, lost time and small differences do not matter
        self.failures = Failures()
        # answers that are kept, by question: many places ask the same
        self.answers: dict[str, dict[Any, Any]] = defaultdict(dict)
