"""Which options of a command line may be None where a program reads them: `--gpu`, which nobody has to pass."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.python.blocks import once_for_file, place
from porter.python.evidence import call_name, constant, option_name
from porter.python.index import Link, Node, ancestors

if TYPE_CHECKING:
    from porter.python.file import File


def may_be_unset(file: File, option: Link) -> bool:
    """Whether `args.gpu` may be None here: it has no default, and no condition above says that it is set."""
    return option[0].attr in _unset(file) and not _is_asked(option)


@once_for_file
def _unset(file: File) -> frozenset[str]:
    """The options that may be None in a file: its own, and those of other programs that it does not declare itself."""
    calls, assigns = ([link[0] for link in file.buckets[kind]] for kind in (ast.Call, ast.Assign))
    own = {option_name(call) for call in _declarations(calls)}
    others = frozenset(file.facts.launch.unset) - own - {a.targets[0].attr for a in assigns if _gives_value(a)}
    return unset(calls, assigns) | others


def unset(calls: Iterable[Node], assigns: Iterable[Node]) -> frozenset[str]:
    """The options without a default, of all calls and assignments of a file, that it gives no value of its own."""
    options = {option_name(call) for call in _declarations(calls) if _may_be_left_out(call)} - {""}
    return frozenset(options.difference(a.targets[0].attr for a in assigns if _gives_value(a)))


def _declarations(calls: Iterable[Node]) -> list[Node]:
    return [call for call in calls if call_name(call.func) == "add_argument" and call.args]


def _may_be_left_out(call: Node) -> bool:
    keywords = {k.arg: k.value for k in call.keywords}
    default = keywords.get("default")
    is_none = default is None or default.__class__ is ast.Constant and default.value is None
    return is_none and keywords.keys().isdisjoint({"action", "required", None})


def _gives_value(assign: Node) -> bool:
    """`args.gpu = int(rank)`; a name that is handed on may hold what the option was."""
    return assign.targets[0].__class__ is ast.Attribute and assign.value.__class__ is not ast.Name


def _is_asked(option: Link) -> bool:
    """`if args.gpu is not None: x.cuda(args.gpu)`."""
    words, child = ast.dump(option[0]), option[0]
    for above in ancestors(option):
        node = above[0]
        if node.__class__ in (ast.If, ast.IfExp):
            field = place(node, child)[0] or (
                "body" if child is node.body else "orelse" if child is node.orelse else ""
            )
            if field and says(node.test, ast.IsNot if field == "body" else ast.Is, words):
                return True
        child = node
    return False


def says(test: Node, operator: type[ast.cmpop], words: str) -> bool:
    """Whether a condition holds only where something is, or is not, None. `words`: its dump; `operator`: `ast.Is` or `ast.IsNot`."""
    parts = test.values if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And else [test]
    if parts[0] is not test and operator is ast.Is:
        return False
    compared = [part for part in parts if part.__class__ is ast.Compare and part.ops[0].__class__ is operator]
    asked = any(ast.dump(p.left) == words and constant(p.comparators[0]) is None for p in compared)
    return asked or operator is ast.IsNot and any(ast.dump(part) == words for part in parts)
