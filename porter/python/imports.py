"""Places `import torch_npu`, and statements that are added below other statements."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from porter.engine.rule import AtHead
from porter.finding import Change, apply
from porter.python.blocks import once, within
from porter.python.evidence import asks_for_main
from porter.python.index import FUNCTIONS, Link, Node, ancestors
from porter.python.shims import written
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File
    from porter.python.outcomes import Outcome


_BLANKS = lazy(rb"[ \t\f]*")
_CATCHES_IMPORT_ERROR = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


def _imports(file: File, package: str) -> list[Link]:
    """The imports that load a package, in the order of the file."""
    links = []
    for kind in (ast.Import, ast.ImportFrom):
        for link in file.buckets[kind]:
            node = link[0]
            names = (
                [a.name for a in node.names] if kind is ast.Import else [node.module or ""] if not node.level else []
            )
            if any(name.partition(".")[0] == package for name in names):
                links.append(link)
    return sorted(links, key=lambda link: (link[0].lineno, link[0].col_offset))


def obstacle(link: Link) -> str | None:
    """Why `import torch_npu` cannot stand below this import: a key of the messages of PRT004. None where it can."""
    child = link[0]
    for above in ancestors(link):
        node = above[0]
        if isinstance(node, ast.If):
            name = node.test.attr if isinstance(node.test, ast.Attribute) else getattr(node.test, "id", "")
            if name == "TYPE_CHECKING" and within(node, child, "body"):
                return "type-checking"
        elif isinstance(node, ast.Try) and within(node, child, "body") and handler_of(node):
            return "try"
        child = node
    return None


@once
def handler_of(block: ast.Try) -> ast.ExceptHandler | None:
    """The handler that catches an import that fails in the block."""
    return catcher_of(block, _CATCHES_IMPORT_ERROR)


def catcher_of(block: ast.Try, errors: Collection[str]) -> ast.ExceptHandler | None:
    """The first handler that catches one of these errors."""
    for handler in block.handlers:
        kinds: Sequence[ast.expr | None] = handler.type.elts if isinstance(handler.type, ast.Tuple) else (handler.type,)
        if any(k is None or getattr(k, "id", getattr(k, "attr", "")) in errors for k in kinds):
            return handler
    return None


def _function(link: Link | None) -> Node:
    return next((above[0] for above in ancestors(link) if isinstance(above[0], FUNCTIONS)), None)


def _hosts(file: File, users: list[Outcome], is_named: bool = False) -> tuple[list[Link], list[tuple[int, str]]]:
    """The imports below which `import torch_npu` goes, and (line, obstacle) of an import below which it cannot.

    `users`: the edits that need torch_npu. `is_named`: edits write the name torch_npu itself, so that it must be bound.
    """
    if not users or not file.style.loads or file.names.bound(file.target.module) or _loaded(file):
        return [], []
    if file.facts.accelerators.also_npu(file.path) and not is_named:
        return [], []  # code that runs on GPUs as well loads torch_npu itself, where it is installed
    if file.target.shims and (not is_named or file.path in file.facts.accelerators.shimmed.programs):
        return [], []  # the program loads it
    imports = _imports(file, "torch")
    if file.path in file.facts.roads.settings and not is_named:
        return [], []  # a program that knows torch_npu reads it, and perhaps one without torch
    if not imports:  # other files import torch; whether they load torch_npu before is not known
        return [] if file.target.autoloads else _last_before(file, min(user.piece.unit.start for user in users)), []
    outside = [link for link in imports if _function(link) is None]
    if free := [link for link in outside if obstacle(link) is None]:
        return [_demo(file, users) or free[0]], []
    if outside and (why := obstacle(outside[0])):
        return [], [(outside[0][0].lineno, why)]
    # torch is imported inside functions only: torch_npu goes into those with edits that need it
    return _hosts_within(file, imports, sorted({user.piece.unit.start for user in users})), []


def _demo(file: File, users: list[Outcome]) -> Link | None:
    """The `if __name__ == "__main__":` of a module of an installed package, if all edits stand there: whoever imports the
    module does not need torch_npu for them."""
    if not any(file.path.startswith(f"{package}/") for package in file.facts.roads.installed):
        return None
    for node in file.tree.body:
        if isinstance(node, ast.If) and not node.orelse and asks_for_main(node.test):
            start, end = file.source.span(node)
            own_line = node.body[0].lineno > (node.test.end_lineno or node.lineno)
            inside = all(start < user.piece.unit.start < end for user in users)
            return (node, (file.tree, None)) if own_line and inside else None
    return None


def _hosts_within(file: File, imports: list[Link], places: list[int]) -> list[Link]:
    """For each place, the first of these imports in the functions around it."""
    first: dict[ast.AST, int] = {}
    for index, link in enumerate(imports):
        if obstacle(link) is None:
            first.setdefault(_function(link), index)
    spans = sorted(((*file.source.span(function), index) for function, index in first.items()), reverse=True)
    hosts: set[int] = set()
    around: list[tuple[int, int]] = []  # the ends of the functions around a place, and their imports
    for start in places:
        while spans and spans[-1][0] <= start:
            begin, end, index = spans.pop()
            while around and around[-1][0] <= begin:
                around.pop()
            around.append((end, index))
        while around and around[-1][0] <= start:
            around.pop()
        if around:
            hosts.add(min(index for _, index in around))
    return [imports[index] for index in sorted(hosts)]


def _last_before(file: File, place: int) -> list[Link]:
    """The last top-level import before a place."""
    links = [
        link
        for kind in (ast.Import, ast.ImportFrom)
        for link in file.buckets[kind]
        if isinstance(link[1][0], ast.Module) and file.source.span(link[0])[1] <= place
    ]
    return sorted(links, key=lambda link: link[0].lineno)[-1:]


def _loaded(file: File) -> bool:
    """Whether a top-level import loads torch_npu already, perhaps under another name."""
    return any(_function(link) is None and obstacle(link) is None for link in _imports(file, file.target.module))


def place_imports(file: File, users: list[Outcome], made: Iterable[Change]) -> list[Change]:
    """The edits that write `import torch_npu` right below an import of torch: below the first of the module, or in each
    function that needs it. `made`: the other edits of the file."""
    old, name = file.source.utf8, f"{file.target.module}.".encode()
    is_named = apply(old, tuple(sorted(made))).count(name) > old.count(name)
    hosts, _ = _hosts(file, users, is_named)
    return [
        *written(file),
        *(_insert(file, link[0], f"import {file.target.module}  # noqa: F401") for link in hosts),
    ]


def not_inserted(file: File, users: list[Outcome]) -> list[tuple[int, str]]:
    """(line, obstacle) where `import torch_npu` is needed but cannot be placed."""
    return _hosts(file, users)[1]


def below(file: File, outcome: Outcome) -> list[Change]:
    """The edit that writes the statements of `Hit.after` below the statement of the hit."""
    lines = [line for line in outcome.hit.after if not isinstance(line, AtHead)]
    return [_insert_below(file, outcome.piece.unit.statement, "\n".join(lines))] if lines else []


def _insert(file: File, host: Node, text: str) -> Change:
    """The edit that writes a line below an import, or at the top of a branch."""
    if not isinstance(host, ast.If):
        return _insert_below(file, host, text)
    start = file.source.span(host.body[0])[0]
    indent = file.source.indentation(start)
    begin = file.source.starts[file.source.line(start) - 1]
    return Change(begin, begin, indent + text.encode() + file.source.newline)


def _insert_below(file: File, statement: ast.stmt, text: str) -> Change:
    source = file.source
    start, end = source.span(statement)
    indent = source.indentation(start)
    begin = source.starts[source.line(start) - 1]
    before, behind = source.line_end(end)
    blanks = _BLANKS.match(source.utf8, end, before)
    follows = blanks.end() if blanks else end
    # another statement stands in the same line
    if begin + len(indent) != start or follows < before and source.utf8[follows : follows + 1] != b"#":
        code = "; ".join(line.partition("  #")[0] for line in text.split("\n") if line)
        return Change(end, end, f"; {code}".encode())
    lines = [indent + line.encode() if line else b"" for line in text.split("\n")]
    if before == behind:  # the last line of the file has no newline, and gets none
        return Change(before, before, source.newline + source.newline.join(lines))
    return Change(behind, behind, b"".join(line + source.newline for line in lines))
