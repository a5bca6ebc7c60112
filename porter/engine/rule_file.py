"""All that a rule may ask of the Python file it stands in, and nothing else: `RuleFile` and its views.

Nodes are LibCST's, of the original tree; links are (node of the standard library's tree, link of its parent), for rules
that only look. `None`, "" and False mean: not so, or nobody can tell. tests/checks/test_rule_file.py holds this page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import libcst as cst

    from porter.engine.facts import Facts
    from porter.engine.session import RuleSet, Session
    from porter.target import Target

Link = tuple
Glance = Callable[["Scene", Link], bool]  # asked before LibCST sees anything


class RuleFile(Protocol):
    path: str  # POSIX, relative to the root
    tree: ast.Module
    apis: dict[str, list[Link]]  # resolved names of torch and its kin, with the places where they stand
    buckets: dict[type, list[Link]]  # links by type of node
    tested: bool  # a file of tests: what is slow there is no concern
    statement: ast.stmt  # that is walked
    target: Target  # never spell device, namespace, backend or import: ask here, or the style
    style: Style
    session: Session
    rules: RuleSet
    facts: Facts  # of other files
    source: Source
    names: Names
    around: Around
    meaning: Meaning
    imported: Imported
    scene: Scene
    tensors: Tensors
    awareness: Awareness

    def name(self, node: cst.CSTNode) -> str | None: ...  # "torch.cuda.synchronize", whatever it is called here
    def text(self, node: cst.CSTNode) -> str: ...  # as it is written
    def span(self, node: cst.CSTNode) -> tuple[int, int]: ...  # offsets in the UTF-8 text
    def link(self, node: cst.CSTNode) -> Link | None: ...  # of the name that a chain starts with
    def receiver(self, node: cst.CSTNode) -> str: ...  # of x.cuda(), what x is: torch | other | own | unknown
    def is_object(self, node: cst.CSTNode) -> bool: ...  # no module that is known
    def literal(self, node: cst.CSTNode): ...  # the string as device, backend or variable
    def matches(self, node: cst.CSTNode, kinds: Iterable[str]) -> list: ...  # computations seen here (Rule.patterns)
    def glance(self, look: Glance, link: Link) -> bool: ...  # Rule.only, remembered
    def undisturbed(self, codes: Iterable[str]) -> bool: ...  # nothing hidden, suppressed or switched off


class Source(Protocol):
    utf8: bytes
    starts: list[int]  # of lines
    words: frozenset[bytes]

    def says(self, pattern: bytes | re.Pattern[bytes], node: ast.AST | None = None) -> bool: ...
    def span(self, node: ast.AST) -> tuple[int, int]: ...
    def line(self, offset: int) -> int: ...


class Names(Protocol):
    uses: list[Link]
    imports: dict[str, list]  # what a name is imported from, and where
    others: dict[str, list[Link]]  # what else binds it
    torch: str | None  # what the file calls torch

    def bound(self, name: str) -> bool: ...
    def root(self, name: str, link: Link) -> str | None: ...  # the full name of the first word of a chain
    def resolve(self, node: ast.AST, link: Link) -> str | None: ...
    def readers(self, name: str, link: Link) -> list[Link]: ...
    def spelled(self, name: str) -> list[Link]: ...  # all names and attributes that are written so
    def once(self, question: object, links: list[Link], ask: Callable): ...


class Around(Protocol):
    """The place of a node."""

    def argument(self, node) -> tuple[Link, str | int] | None: ...  # the call it is given to, and the keyword or place
    def assigned(self, node) -> ast.expr | None: ...
    def options(self, node) -> list[str]: ...  # ["-d", "--device"] of the add_argument that a string stands in
    def positionals(self, node) -> int: ...
    def member(self, node) -> str | None: ...  # the attribute that is asked of it
    def method(self) -> tuple[frozenset[str], list[str]] | None: ...  # of the header that is walked
    def looked_up(self, node, lookups: tuple[str, ...]) -> bool: ...  # getattr(node, ...)
    def is_within(self, node, callee: str) -> bool: ...
    def is_function(self, node) -> bool: ...  # what a call calls
    def is_statement(self, call) -> bool: ...
    def is_kept(self, node) -> bool: ...
    def is_read(self, node) -> bool: ...
    def is_value(self, attribute) -> bool: ...


class Meaning(Protocol):
    """What a name or an expression stands for."""

    mentions: object  # of(names), is_first(node, names): for what is said once for a file

    def made_by(self, node) -> str | None: ...
    def dtype(self, node) -> str | None: ...
    def int_kind(self, node) -> str: ...  # known | likely
    def may_be_none(self, node) -> bool: ...
    def local_rank(self, node) -> str | None: ...
    def module_name(self, node, module: str) -> str | None: ...
    def asked_for(self, node) -> str | None: ...  # the library for whose CUDA it is asked
    def capability(self, node) -> str | None: ...
    def kernel(self, node) -> str | None: ...  # the CUDA kernel that a condition leads to
    def kernel_choice(self, node) -> str | None: ...  # the same, of `torch.cuda.is_available`
    def is_builtin(self, node) -> bool: ...
    def is_fallback(self, node) -> bool: ...
    def is_scripted(self) -> bool: ...


class Imported(Protocol):
    def import_guard(self) -> str | None: ...  # type-checking | try | if
    def asked_first(self) -> bool: ...
    def optional(self, node) -> bool: ...
    def speaks_for(self, package: str, apart: tuple[str, ...] = ()) -> str | None: ...


class Scene(Protocol):
    """Where in the training a place is, and how often it runs."""

    apart: bool  # a test, a measurement, an export
    loops_over_batches: bool

    def link(self, call) -> Link | None: ...  # of what a call calls
    def at(self, node, kind: type) -> Link | None: ...
    def link_to(self, node: ast.AST) -> Link | None: ...
    def where(self, link: Link) -> str: ...  # step | forward | called
    def matters(self, link: Link) -> str: ...  # the same, for every batch
    def rarely(self, link: Link, where: str = "") -> bool: ...
    def function(self, link: Link) -> Link | None: ...
    def function_name(self, link: Link) -> str: ...
    def owner(self, link: Link) -> ast.ClassDef | None: ...
    def inside(self, call, pattern: re.Pattern[str], *, dataset: bool = False) -> bool: ...


class Tensors(Protocol):
    """Masks, sizes, where tensors go, what wakes the device before."""

    def reads_mask(self, subscript) -> bool: ...
    def summed(self, subscript) -> str | None: ...
    def mask_assigned(self) -> str | None: ...
    def padded(self, call) -> str | None: ...
    def followed(self, node, kind: str): ...  # what follows from a size that only the data knows
    def target(self, call) -> str: ...
    def moves(self, call) -> bool: ...
    def receiver_of_result(self, call) -> str: ...
    def touched_before(self, link: Link) -> str | None: ...
    def sizes(self, link: Link): ...
    def spread(self, call): ...  # what **options hold
    def woken(self, link: Link): ...
    def children_work(self, link: Link): ...


class Awareness(Protocol):
    def covers_link(self, link: Link) -> bool: ...  # the code around handles NPUs already


class Style(Protocol):
    """How the port is spelled."""

    loads: bool

    def name(self, tail: str) -> str | None: ...
    def device(self, node, file: RuleFile): ...
    def backend(self, node, file: RuleFile): ...
    def attribute(self, node): ...
    def method(self, call, file: RuleFile): ...
    def on_device(self, node, file: RuleFile): ...
