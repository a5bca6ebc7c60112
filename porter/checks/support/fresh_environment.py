"""Whether what an environment of today brings is a matter of the port of a file."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, RuleFile
from porter.python.index import ancestors
from porter.regex import lazy
from porter.rulebook.table import hints

_FRAMEWORKS = hints("another-framework")
# a condition that asks for the version of a package; `args.version` is one of the program's own
_ASKS = lazy(
    r"(?i)__version__|version_info|hasattr|(?:torch|vision|pil|pillow|transformers)_?version|(?<![.\w])version[.(]"
)


def matters(file: RuleFile) -> bool:
    """Whether the file, or one of its programs, computes with torch: else its old packages may stay."""
    return file.names.torch is not None or file.facts.roads.loads and not _is_of_another(file)


def _is_of_another(file: RuleFile) -> bool:
    bound = (target for bindings in file.names.imports.values() for target, _ in bindings)
    return any(target.partition(".")[0] in _FRAMEWORKS for target in bound)


def is_chosen(link: Link | None) -> bool:
    """Whether a place runs for some versions only: `if version.parse(PIL.__version__) < ...`, `if hasattr(...)`."""
    child = link and link[0]
    for above in ancestors(link):
        node = above[0]
        if node.__class__ in (ast.If, ast.IfExp) and child is not node.test and _ASKS.search(ast.unparse(node.test)):
            return True
        child = node
    return is_caught(link)


def is_caught(link: Link | None) -> bool:
    """`try: it.next()`, `except AttributeError:`"""
    handlers = [h for a in ancestors(link) if a[0].__class__ is ast.Try for h in a[0].handlers]
    return any(h.type is not None and "AttributeError" in ast.unparse(h.type) for h in handlers)
