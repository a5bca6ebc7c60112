"""All that a rule may ask of the Python file it stands in, and nothing else: `RuleFile` and its views.

Nodes are LibCST's, of the original tree; links are (node of the standard library's tree, link of its parent), for rules
that only look. `None`, "" and False mean: not so, or nobody can tell. tests/checks/test_rule_file.py holds this page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    import libcst as cst

    from porter.engine.facts import Facts
    from porter.engine.session import RuleSet, Session
    from porter.target import Target

Node: TypeAlias = Any  # a node of ast: which kind is asked by its class, by which mypy does not narrow
Link: TypeAlias = "tuple[Node, Link | Any]"  # a node, and the link of its parent; the module's parent is None
Glance: TypeAlias = "Callable[[Any, Link], bool]"  # asked, with the scene, before LibCST sees anything
_Answer = TypeVar("_Answer")


class RuleFile(Protocol):
    path: str  # POSIX, relative to the root
    tree: ast.Module
    apis: dict[str, list[Link]]  # resolved names of torch and its kin, with the places where they stand
    buckets: dict[type, list[Link]]  # links by type of node
    tested: bool  # a file of tests: what is slow there is no concern
    target: Target  # never spell device, namespace, backend or import: ask here, or the style
    session: Session
    rules: RuleSet
    facts: Facts  # of other files

    @property
    def statement(self) -> ast.stmt: ...  # that is walked
    @property
    def style(self) -> Style: ...
    @property
    def source(self) -> Source: ...
    @property
    def names(self) -> Names: ...
    @property
    def around(self) -> Around: ...
    @property
    def meaning(self) -> Meaning: ...
    @property
    def imported(self) -> Imported: ...
    @property
    def scene(self) -> Scene: ...
    @property
    def tensors(self) -> Tensors: ...
    @property
    def awareness(self) -> Awareness: ...

    def name(self, node: cst.CSTNode) -> str | None: ...  # "torch.cuda.synchronize", whatever it is called here
    def text(self, node: cst.CSTNode) -> str: ...  # as it is written
    def span(self, node: cst.CSTNode) -> tuple[int, int]: ...  # offsets in the UTF-8 text
    def link(self, node: cst.CSTNode) -> Link | None: ...  # of the name that a chain starts with
    def receiver(self, node: cst.CSTNode) -> str: ...  # of x.cuda(), what x is: torch | other | own | unknown
    def is_object(self, node: cst.CSTNode) -> bool: ...  # no module that is known
    def literal(self, node: cst.CSTNode) -> Word | Variable | None: ...  # which of them, its `kind` says
    def matches(self, node: cst.CSTNode, kinds: Iterable[str]) -> list[Any]: ...  # values/patterns.py (Rule.patterns)
    def glance(self, look: Glance, link: Link) -> bool: ...  # Rule.only, remembered
    def undisturbed(self, codes: Iterable[str]) -> bool: ...  # nothing hidden, suppressed or switched off


class Word(Protocol):
    """A string that is a device, a backend or a type of tensors."""

    @property
    def link(self) -> Link: ...
    @property
    def kind(self) -> Literal["device", "backend", "tensor-type"]: ...
    @property
    def role(self) -> str: ...  # python/strings/literals.py
    @property
    def certain(self) -> bool: ...


class Variable(Protocol):
    """A string, or a keyword argument, that is the name of an environment variable."""

    @property
    def link(self) -> Link: ...
    @property
    def kind(self) -> Literal["variable"]: ...
    @property
    def role(self) -> str: ...  # key | keyword | command
    @property
    def certain(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def set(self) -> bool: ...  # and not only read
    @property
    def value(self) -> str | None: ...  # what stands beside it, where it is a literal


class Source(Protocol):
    utf8: bytes

    @property
    def starts(self) -> list[int]: ...  # of lines
    @property
    def words(self) -> frozenset[bytes]: ...
    @property
    def vocabulary(
        self,
    ) -> bytes: ...  # the words in a row: no letters of a word are missing, and it is a tenth of the text

    def says(self, sought: bytes | re.Pattern[bytes], node: ast.AST | None = None) -> bool: ...
    def span(self, node: ast.AST) -> tuple[int, int]: ...
    def line(self, offset: int) -> int: ...


class Names(Protocol):
    uses: list[Link]
    imports: dict[str, list[tuple[str, Link]]]  # what a name is imported from, and where
    others: dict[str, list[Link]]  # what else binds it

    @property
    def torch(self) -> str | None: ...  # what the file calls torch
    def bound(self, name: str) -> bool: ...
    def root(self, name: str, link: Link) -> str | None: ...  # the full name of the first word of a chain
    def resolve(self, node: ast.AST, link: Link) -> str | None: ...
    def readers(self, name: str, link: Link) -> list[Link]: ...
    def spelled(self, name: str) -> list[Link]: ...  # all names and attributes that are written so
    def once(self, question: Hashable, links: Sequence[object], ask: Callable[[], _Answer]) -> _Answer: ...


class Around(Protocol):
    """The place of a node."""

    # the call that it is given to, and the keyword or place
    def argument(self, node: cst.CSTNode) -> tuple[Link, str | int] | None: ...
    def assigned(self, node: cst.CSTNode) -> ast.expr | None: ...
    # ["-d", "--device"] of the add_argument that a string stands in
    def options(self, node: cst.CSTNode) -> list[str]: ...
    def positionals(self, node: cst.CSTNode) -> int: ...
    def member(self, node: cst.CSTNode) -> str | None: ...  # the attribute that is asked of it
    def method(self) -> tuple[frozenset[str], list[str]] | None: ...  # of the header that is walked
    def looked_up(self, node: cst.CSTNode, lookups: tuple[str, ...]) -> bool: ...  # getattr(node, ...)
    def is_within(self, node: cst.CSTNode, callee: str) -> bool: ...
    def is_function(self, node: cst.CSTNode) -> bool: ...  # what a call calls
    def is_statement(self, call: cst.Call) -> bool: ...
    def is_kept(self, node: cst.CSTNode) -> bool: ...
    def is_read(self, node: cst.CSTNode) -> bool: ...
    def is_set(self, node: cst.CSTNode) -> bool: ...  # `torch.version.cuda = ...`
    def is_value(self, attribute: cst.Attribute) -> bool: ...


class Meaning(Protocol):
    """What a name or an expression stands for."""

    @property
    def mentions(self) -> Mentions: ...

    def made_by(self, node: cst.CSTNode) -> str | None: ...
    def dtype(self, node: cst.CSTNode) -> str | None: ...
    def int_kind(self, node: cst.CSTNode) -> str: ...  # known | likely
    def may_be_none(self, node: cst.CSTNode) -> bool: ...
    def local_rank(self, node: cst.CSTNode) -> str | None: ...
    def module_name(self, node: cst.CSTNode, module: str) -> str | None: ...
    def asked_for(self, node: cst.CSTNode) -> str | None: ...  # the library for whose CUDA it is asked
    def capability(self, node: cst.CSTNode) -> str | None: ...
    def kernel(self, node: cst.CSTNode) -> str | None: ...  # the CUDA kernel that a condition leads to
    def refuses(self, node: cst.CSTNode) -> bool: ...  # a device that makes the program stop
    def decides(self, node: cst.CSTNode) -> tuple[str, str] | None: ...  # (kernel | stops | loads | ..., name)
    def is_builtin(self, node: cst.CSTNode) -> bool: ...
    def is_fallback(self, node: cst.CSTNode) -> bool: ...
    def is_scripted(self) -> bool: ...


class Mentions(Protocol):
    """For what is said once for a file."""

    def of(self, names: frozenset[str]) -> list[Link]: ...  # the chains that mean one of them
    def is_first(self, node: cst.CSTNode, names: frozenset[str]) -> bool: ...


class Imported(Protocol):
    def import_guard(self) -> str | None: ...  # type-checking | try | if
    def asked_first(self) -> bool: ...
    def chosen_by_version(self) -> bool: ...  # by `torch_minor < 8`, as the target's torch answers
    def optional(self, node: cst.CSTNode) -> bool: ...
    def speaks_for(self, package: str, apart: tuple[str, ...] = ()) -> str | None: ...


class Scene(Protocol):
    """Where in the training a place is, and how often it runs."""

    @property
    def apart(self) -> bool: ...  # a test, a measurement, an export
    @property
    def loops_over_batches(self) -> bool: ...
    def link(self, call: cst.Call) -> Link | None: ...  # of what a call calls
    def link_of(self, node: cst.CSTNode, kind: type) -> Link | None: ...
    def link_to(self, node: ast.AST) -> Link | None: ...
    def where(self, link: Link) -> str: ...  # step | forward | called
    def matters(self, link: Link) -> str: ...  # the same, for every batch
    def rarely(self, link: Link, where: str = "") -> bool: ...
    def function(self, link: Link) -> Link | None: ...
    def function_name(self, link: Link) -> str: ...
    def owner(self, link: Link) -> ast.ClassDef | None: ...
    def inside(self, call: cst.Call, pattern: re.Pattern[str], *, dataset: bool = False) -> bool: ...


class Tensors(Protocol):
    """Masks, sizes, where tensors go, what wakes the device before."""

    def reads_mask(self, subscript: cst.Subscript) -> bool: ...
    def summed(self, subscript: cst.Subscript) -> str | None: ...
    def mask_assigned(self) -> str | None: ...
    def padded(self, call: cst.Call) -> str | None: ...
    # what follows from a size that only the data knows
    def followed(self, node: cst.CSTNode, kind: str) -> tuple[tuple[str, str], ...] | None: ...
    def target(self, call: cst.Call) -> str: ...
    def moves(self, call: cst.Call) -> bool: ...
    def receiver_of_result(self, call: cst.Call) -> str: ...
    def touched_before(self, link: Link) -> str | None: ...
    def sizes(self, link: Link) -> dict[str, Any]: ...  # values/shapes.py (Misfit), by name
    def spread(self, call: cst.Call) -> dict[str, str] | None: ...  # what **options hold
    def woken(self, link: Link) -> str | None: ...
    def children_work(self, link: Link) -> bool | None: ...


class Awareness(Protocol):
    def covers_link(self, link: Link) -> bool: ...  # the code around handles NPUs already


class Style(Protocol):
    """How the port is spelled; None where it has no spelling."""

    @property
    def loads(self) -> bool: ...
    def name(self, tail: str) -> str | None: ...
    def device(self, node: cst.BaseExpression, file: RuleFile) -> cst.BaseExpression | None: ...
    def backend(self, node: cst.BaseExpression, file: RuleFile) -> cst.BaseExpression | None: ...
    def attribute(self, node: cst.Attribute) -> cst.Attribute | None: ...
    def method(self, call: cst.Call, file: RuleFile) -> cst.Call | None: ...
    def on_device(self, node: cst.Attribute, file: RuleFile) -> cst.BaseExpression | None: ...
