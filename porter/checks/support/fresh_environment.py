"""Whether what an environment of today brings is a matter of the port of a file."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import within
from porter.python.evidence import call_name
from porter.python.index import ancestors
from porter.python.torch_versions import COMPARED
from porter.regex import lazy
from porter.rulebook.table import hints

_FRAMEWORKS = hints("another-framework")
# a condition that asks for the version of a package; `args.version` is one of the program's own
_ASKS = lazy(
    r"(?i)__version__|version_info|hasattr|(?:torch|vision|pil|pillow|transformers)_?version|(?<![.\w])version[.(]"
)
# Python's own version, of which `[0]` and `.major` are the first number, and names for the answer: `six.PY2`
_PYTHON = lazy(r"(?:sys\.)?version_info(\[:\d\])?(\[0\]|\.major)?$")
_NAMED = lazy(r"(?:IS_)?_?PY(?:THON)?_?([23])$")
_TO_COME = (3, 99)  # what a release of Python takes away, all later ones lack


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
        if node.__class__ in (ast.If, ast.IfExp) and child is not node.test:
            holds, is_first = _of_python(node.test), child is node.body or within(node, child, "body")
            if _ASKS.search(ast.unparse(node.test)) if holds is None else holds is not is_first:
                return True
        child = node
    return is_caught(link)


def _of_python(test: Node) -> bool | None:
    """Whether a condition holds for all later releases of Python; None where it asks for anything else."""
    if test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not:
        inner = _of_python(test.operand)
        return None if inner is None else not inner
    if test.__class__ in (ast.Name, ast.Attribute):
        return match[1] == "3" if (match := _NAMED.match(call_name(test))) else None
    if (
        test.__class__ is not ast.Compare
        or len(test.ops) != 1
        or (asked := _PYTHON.match(ast.unparse(test.left))) is None
    ):
        return None
    try:
        limit, compare = ast.literal_eval(test.comparators[0]), COMPARED[test.ops[0].__class__]
        return compare(_TO_COME[0] if asked[2] else _TO_COME, limit)
    except (ValueError, TypeError, KeyError):
        return None


def is_caught(link: Link | None) -> bool:
    """`try: it.next()`, `except AttributeError:`"""
    handlers = [h for a in ancestors(link) if a[0].__class__ is ast.Try for h in a[0].handlers]
    return any(h.type is not None and "AttributeError" in ast.unparse(h.type) for h in handlers)
