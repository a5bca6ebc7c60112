"""Finds and writes the head of a module: the lines below its imports that bind the names of the portable style.

These names are `accelerator_type`, `accelerator_module` and `accelerator_backend` (engine/portable.py).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from porter.engine.portable import BACKEND, KINDS, MODULE, TYPE, head_lines, shared
from porter.finding import Change
from porter.python.evidence import imported_packages
from porter.python.index import FUNCTIONS, Link, ancestors
from porter.regex import lazy, rare
from porter.rulebook.table import hints
from porter.spans import Span

if TYPE_CHECKING:
    from porter.python.file import File
    from porter.python.source import Source

# the names, in text that edits write; and the lines that bind them, as `head_lines` of engine/portable.py writes them
_WRITTEN = lazy(rb"\baccelerator_(?:type|module|backend)\b")
_HEAD = lazy(
    rb"(?m)^(?:try:\r?\n    import torch_npu\b[^\n]*\n\r?\n    accelerator_type = .*\n"
    rb"except ImportError:\r?\n    accelerator_type = .*|accelerator_(?:type|module|backend) = .*)"
)
_MAGIC = lazy(rb"(?m)^[ \t]*0#\.{9}")  # `!pip install`, as text/notebooks/magics.py shows it to Python
_SPEAKS = lazy(rb"[\"'](?:cuda|nccl)\b|(?<!\bversion)\.cuda\b|is_cuda")
_ENVIRONMENT = rare(rb"\b(?:environ|putenv)\b")
_SETS = lazy(r"^(?:\w+\.)?environ(?:\[.*\] = |\.(?:setdefault|update)\()|^(?:\w+\.)?putenv\(")
_READ_AS_DATA = lazy(rb"\b_base_\b|\bread_base\b")  # settings of OpenMMLab
_FRAMEWORKS = hints("another-framework")
_IMPORTS = (ast.Import, ast.ImportFrom)


class Head(NamedTuple):
    torch: str  # what the module calls torch
    is_imported: bool  # False: an import of torch has to be written as well
    after: ast.stmt  # the import below which the names are bound
    bound: frozenset[str]  # the names that the module binds already, by the lines that porter writes


def head(file: File) -> Head | None:
    """The head of a module. None where it does not certainly import torch, or uses one of the names for something else."""
    key = "head"
    answers = file.answers["heads"]
    if key not in answers:
        answers[key] = _head(file)
    found: Head | None = answers[key]
    return found


def _head(file: File) -> Head | None:
    names = file.names
    called = names.torch
    if called is None and names.bound("torch"):
        return None
    own = _own_imports(file)
    links = [link for link in own if _is_of_torch(link, called)]
    is_imported = called is not None
    if not links and called == "torch" and all(_is_star(link) for _, link in names.imports[called]):
        # a star import brings it, and nothing shows which
        links, is_imported = [link for link in own if _is_star(link)], False
    if not links and called is None and _may_load(file, own):
        allowed = [link for link in own if getattr(link[0], "module", "") != "__future__"]
        prepared = _prepared(file)
        links = [link for link in allowed if link[0].lineno > prepared][:1] or allowed[:1]
    if not links:
        return None
    first, torch = _run_by_all(file, links)[0], called or "torch"
    bound = frozenset(name for name in (TYPE, MODULE, BACKEND) if names.bound(name))
    written = [
        head_lines(torch, shared(file.target), left) for n in range(len(KINDS) + 1) for left in combinations(KINDS, n)
    ]
    if any(not any(_binds(file, name, lines[name]) for lines in written) for name in bound):
        return None
    return Head(torch, is_imported, first, bound)


def _may_load(file: File, own: list[Link]) -> bool:
    """Whether a module without torch may import it for the names: a part of a program, with code or with imports from beside it,
    and no page of settings that something reads by its path."""
    if file.path.endswith(".ipynb") or file.source.says(_READ_AS_DATA):
        return False
    roots = imported_packages(file.names.imports)
    is_module = any(isinstance(node, (*FUNCTIONS[:2], ast.ClassDef)) for node in file.tree.body)
    return roots.isdisjoint(_FRAMEWORKS) and (is_module or any(getattr(link[0], "level", 0) for link in own))


def _prepared(file: File) -> int:
    """The line that sets an environment variable between the imports: what is imported below it, torch as well, reads it."""
    if not file.source.says(_ENVIRONMENT):
        return 0
    last = max((link[0].lineno for link in _own_imports(file)), default=0)
    above = (node for node in file.tree.body if node.lineno < last and isinstance(node, (ast.Assign, ast.Expr)))
    return max((node.end_lineno or 0 for node in above if _SETS.search(ast.unparse(node))), default=0)


def _run_by_all(file: File, links: list[Link]) -> Link:
    """The first of these imports. In a notebook, a cell that installs packages is run by some readers alone: then the import of
    the next cell, where nothing above it speaks of a device."""
    if file.path.endswith(".ipynb") and len(links) > 1:
        start, end = (file.source.span(link[0])[1] for link in links[:2])
        between = file.source.utf8[start:end]
        if _MAGIC.search(between) and not _SPEAKS.search(file.source.utf8[:end]):
            return links[1]
    return links[0]


def _is_star(link: Link) -> bool:
    return any(alias.name == "*" for alias in link[0].names)


def _own_imports(file: File) -> list[Link]:
    """The imports at the top level of the module, in order."""
    links = [link for kind in _IMPORTS for link in file.buckets[kind] if link[1][0].__class__ is ast.Module]
    return sorted(links, key=lambda link: (link[0].lineno, link[0].col_offset))


def _is_of_torch(link: Link, called: str | None) -> bool:
    """Whether an import binds `called`, the name that the file has for torch. If it has none: whether the import loads torch."""
    node = link[0]
    if called is not None:
        return node.__class__ is ast.Import and any(
            (a.asname or a.name.partition(".")[0]) == called for a in node.names
        )
    modules = (
        [a.name for a in node.names] if node.__class__ is ast.Import else [] if node.level else [node.module or ""]
    )
    return any(name.partition(".")[0] == "torch" for name in modules)


def _binds(file: File, name: str, text: str) -> bool:
    """Whether the module binds a name by these lines, and by nothing else."""
    begin = b"\n" + file.source.utf8.replace(b"\r\n", b"\n")
    links = file.names.others.get(name, [])
    count = text.count(f"{name} = ")
    return name not in file.names.imports and len(links) == count and f"\n{text}\n".encode() in begin


def heads(source: Source) -> list[Span]:
    """The ranges of the lines that bind the names. The word "cuda" there is right: it is for machines without an NPU."""
    text = source.utf8
    return [(m.start(), m.end()) for m in _HEAD.finditer(text)] if TYPE.encode() in text else []


def is_below(file: File, statement: ast.stmt) -> bool:
    """Whether a statement stands below the head, so that it can use the names."""
    found, start = head(file), getattr(statement, "pattern", statement)  # of a `case`, its pattern has a place
    return found is not None and file.source.span(start)[0] > file.source.span(found.after)[1]


def place_heads(file: File, made: Iterable[Change], lines: Iterable[str]) -> list[Change]:
    """The edit that writes the head: lines for all names that the edits use, then `lines`, the statements of rules that must
    stand below them."""
    wanted, made = list(dict.fromkeys(lines)), [*made]
    written = b"\n".join((*(change.new for change in made), *map(str.encode, wanted)))
    used = {match.decode() for match in _WRITTEN.findall(written)}
    found = head(file) if used or wanted else None
    if found is None:
        return []
    used |= {TYPE} if used else set()
    lines_of = head_lines(found.torch, shared(file.target), file.facts.accelerators.left)
    texts = [line for name, text in lines_of.items() if name in used - found.bound for line in text.split("\n")]
    texts += wanted
    if not texts:
        return []
    if not found.is_imported:
        texts = [f"import {found.torch}", "", *texts]
    found = found if wanted or found.bound else found._replace(after=_nearest(file, found, made))
    return [_insert(file, _last_import(file, found), texts)]


def _nearest(file: File, found: Head, made: Iterable[Change]) -> ast.stmt:
    """Of a notebook, the import of torch in the cell that uses the names first, if that has one: such a part is run without those
    above it."""
    if not file.path.endswith(".ipynb"):
        return found.after
    first = min((change.start for change in made if _WRITTEN.search(change.new)), default=0)
    links = (link for link in _own_imports(file) if _is_of_torch(link, file.names.torch))
    return max(
        (link[0] for link in links if file.source.span(link[0])[1] < first),
        key=lambda node: (node.lineno, node.col_offset),
        default=found.after,
    )


def _last_import(file: File, found: Head) -> ast.stmt:
    """The statement below which the head goes: the last import in a row with that of torch, or the last line of a head that is
    there already."""
    body = file.tree.body
    index = next(i for i, node in enumerate(body) if node is found.after)
    if found.bound:
        bound = [_outermost(link) for name in found.bound for link in file.names.others[name]]
        return max(bound, key=lambda node: node.lineno)
    while index + 1 < len(body) and isinstance(body[index + 1], _IMPORTS):
        index += 1
    return body[index]


def _outermost(link: Link) -> ast.stmt:
    """The top-level statement around a place."""
    statement: ast.stmt = [above[0] for above in ancestors(link) if isinstance(above[0], ast.stmt)][-1]
    return statement


def _insert(file: File, statement: ast.stmt, texts: list[str]) -> Change:
    """The edit that puts lines below a top-level statement, between empty lines."""
    source = file.source
    end = source.span(statement)[1]
    before, behind = source.line_end(end)
    lines = [line.encode() for line in texts]
    if before == behind:  # the last line of the file has no newline, and gets none
        return Change(before, before, source.newline * 2 + source.newline.join(lines))
    follows = source.utf8[behind : source.line_end(behind)[0]].strip()
    lines = [b"", *lines, *([b""] if follows else [])]
    return Change(behind, behind, b"".join(line + source.newline for line in lines))
