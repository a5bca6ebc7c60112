"""`RuleFile` and its views list every question that a rule may ask about the Python file that it looks at.

Nodes are LibCST's, of the original tree. A link is (node of `ast`, link of its parent), for rules that only look. `None`, ""
and False mean: no, or nobody can tell. tests/checks/test_rule_file.py checks that rules ask nothing else.
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

Node: TypeAlias = Any  # a node of ast. Code asks for its class with `is`, which mypy cannot use to narrow the type
Link: TypeAlias = "tuple[Node, Link | Any]"  # a node, and the link of its parent; the module's parent is None
Glance: TypeAlias = "Callable[[Any, Link], bool]"  # (scene, link): a cheap question, before LibCST parses anything
_Answer = TypeVar("_Answer")


class RuleFile(Protocol):
    path: str  # POSIX, relative to the root
    tree: ast.Module
    apis: dict[str, list[Link]]  # resolved names of torch and its kin, with the places where they stand
    buckets: dict[type, list[Link]]  # links by type of node
    tested: bool  # a file of tests: that something is slow does not matter there
    target: Target  # never write the NPU's device, namespace, backend or import by hand: ask here, or the style
    session: Session
    rules: RuleSet
    facts: Facts  # of other files

    @property
    def statement(self) -> ast.stmt: ...  # the statement whose nodes the rules are asked about now
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
    def is_object(self, node: cst.CSTNode) -> bool: ...  # it is not a known module
    def literal(self, node: cst.CSTNode) -> Word | Variable | None: ...  # `kind` says which of the two it is
    def matches(self, node: cst.CSTNode, kinds: Iterable[str]) -> list[Any]: ...  # values/patterns.py (Rule.patterns)
    def glance(self, look: Glance, link: Link) -> bool: ...  # asks what a Rule.only asks, once for each place
    def undisturbed(self, codes: Iterable[str]) -> bool: ...  # no finding of these codes is hidden, suppressed or off


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
    """A string, or a keyword of a call, that is the name of an environment variable."""

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
    def set(self) -> bool: ...  # the variable is set, not only read
    @property
    def value(self) -> str | None: ...  # the value that it is set to, if that is a literal
    @property
    def listed(self) -> int: ...  # the line of a list by which the file sets it as well; 0 where there is none


class Source(Protocol):
    """The text of the file."""

    utf8: bytes

    @property
    def starts(self) -> list[int]: ...  # of lines
    @property
    def words(self) -> frozenset[bytes]: ...
    @property
    def vocabulary(
        self,
    ) -> bytes: ...  # all words of the text, each once: a tenth of the text, for a search for parts of words

    def says(self, sought: bytes | re.Pattern[bytes], node: ast.AST | None = None) -> bool: ...
    def span(self, node: ast.AST) -> tuple[int, int]: ...
    def line(self, offset: int) -> int: ...
    def line_end(self, offset: int) -> tuple[int, int]: ...  # before the line break, and behind it


class Names(Protocol):
    """What the names of the file mean."""

    uses: list[Link]
    imports: dict[str, list[tuple[str, Link]]]  # by name: the full name that it is imported from, and the place
    others: dict[str, list[Link]]  # by name: what binds it without an import

    @property
    def torch(self) -> str | None: ...  # what the file calls torch
    def bound(self, name: str) -> bool: ...
    def root(self, name: str, link: Link) -> str | None: ...  # the full name of the first word of a chain
    def resolve(self, node: ast.AST, link: Link) -> str | None: ...
    def bindings(self, name: str, link: Link) -> list[Link]: ...  # other than imports, in the scope that binds it
    def readers(self, name: str, link: Link) -> list[Link]: ...
    def spelled(self, name: str) -> list[Link]: ...  # all names and attributes that are written so
    def once(self, question: Hashable, links: Sequence[object], ask: Callable[[], _Answer]) -> _Answer: ...


class Around(Protocol):
    """What stands around a node."""

    # the call that gets the node as an argument, and its keyword or position
    def argument(self, node: cst.CSTNode) -> tuple[Link, str | int] | None: ...
    def assigned(self, node: cst.CSTNode) -> ast.expr | None: ...
    # ["-d", "--device"] of the add_argument that a string stands in
    def options(self, node: cst.CSTNode) -> list[str]: ...
    def positionals(self, node: cst.CSTNode) -> int: ...
    def member(self, node: cst.CSTNode) -> str | None: ...  # `name` of `node.name`
    def method(self) -> tuple[frozenset[str], list[str]] | None: ...  # of the `def` line that is walked
    def looked_up(self, node: cst.CSTNode, lookups: tuple[str, ...]) -> bool: ...  # getattr(node, ...)
    def is_within(self, node: cst.CSTNode, callee: str) -> bool: ...
    def is_function(self, node: cst.CSTNode) -> bool: ...  # it is the function of a call: `node(...)`
    def is_statement(self, call: cst.Call) -> bool: ...
    def is_kept(self, node: cst.CSTNode) -> bool: ...
    def is_read(self, node: cst.CSTNode) -> bool: ...
    def is_set(self, node: cst.CSTNode) -> bool: ...  # `torch.version.cuda = ...`
    def is_value(self, attribute: cst.Attribute) -> bool: ...


class Meaning(Protocol):
    """What an expression stands for."""

    @property
    def mentions(self) -> Mentions: ...

    def made_by(self, node: cst.CSTNode) -> str | None: ...
    def dtype(self, node: cst.CSTNode) -> str | None: ...
    def int_kind(self, node: cst.CSTNode) -> str: ...  # known | likely
    def may_be_none(self, node: cst.CSTNode) -> bool: ...
    def local_rank(self, node: cst.CSTNode) -> str | None: ...
    def module_name(self, node: cst.CSTNode, module: str) -> str | None: ...
    def asked_for(self, node: cst.CSTNode) -> str | None: ...  # the library for which the code asks for CUDA
    def capability(self, node: cst.CSTNode) -> str | None: ...
    def kernel(self, node: cst.CSTNode) -> str | None: ...  # the CUDA kernel that a condition leads to
    def refuses(self, node: cst.CSTNode) -> bool: ...  # a device with which the program stops
    def decides(self, node: cst.CSTNode) -> tuple[str, str] | None: ...  # python/kernel_choices.py (Choice)
    def is_builtin(self, node: cst.CSTNode) -> bool: ...
    def is_fallback(self, node: cst.CSTNode) -> bool: ...
    def is_scripted(self) -> bool: ...


class Mentions(Protocol):
    """Where names are mentioned: for a rule that says something once for a file."""

    def of(self, names: frozenset[str]) -> list[Link]: ...  # every place that means one of these full names
    def is_first(self, node: cst.CSTNode, names: frozenset[str]) -> bool: ...


class Imported(Protocol):
    """What the imports of the file say."""

    def head(self) -> str | None: ...  # what torch is called where a portable port binds its names
    def import_guard(self) -> str | None: ...  # type-checking | try | if
    def asked_first(self) -> bool: ...
    def chosen_by_version(self) -> bool: ...  # by `torch_minor < 8`, as the target's torch answers
    def optional(self, node: cst.CSTNode) -> bool: ...
    def speaks_for(self, package: str, apart: tuple[str, ...] = ()) -> str | None: ...


class Scene(Protocol):
    """Where a place stands in the training, and how often it runs."""

    @property
    def apart(self) -> bool: ...  # the file does not train: it is a test, a measurement, an export
    @property
    def loops_over_batches(self) -> bool: ...
    def link(self, call: cst.Call) -> Link | None: ...  # of the function that is called
    def link_of(self, node: cst.CSTNode, kind: type) -> Link | None: ...
    def link_to(self, node: ast.AST) -> Link | None: ...
    def where(self, link: Link) -> str: ...  # step | forward | called
    def matters(self, link: Link) -> str: ...  # the same, but "" for a place that does not run for every batch
    def rarely(self, link: Link, where: str = "") -> bool: ...
    def function(self, link: Link) -> Link | None: ...
    def function_name(self, link: Link) -> str: ...
    def owner(self, link: Link) -> ast.ClassDef | None: ...
    def inside(self, call: cst.Call, pattern: re.Pattern[str], *, dataset: bool = False) -> bool: ...
    def makes_items(self, call: cst.Call) -> bool: ...


class Tensors(Protocol):
    """What is known about tensors: masks, sizes, devices; and about calls that start the device."""

    def reads_mask(
        self, subscript: cst.Subscript
    ) -> str | None: ...  # fixed: in every batch as many places; or changing
    def summed(self, subscript: cst.Subscript) -> str | None: ...
    def mask_assigned(self) -> str | None: ...
    def padded(self, call: cst.Call) -> str | None: ...
    # how code goes on with a tensor whose size only the data knows
    def followed(self, node: cst.CSTNode, kind: str) -> tuple[tuple[str, str], ...] | None: ...
    def target(self, call: cst.Call) -> str: ...
    def moves(self, call: cst.Call) -> bool: ...
    def receiver_of_result(self, call: cst.Call) -> str: ...
    def touched_before(self, link: Link) -> str | None: ...
    def grouped_before(self, link: Link) -> str | None: ...
    def sizes(self, link: Link) -> dict[str, Any]: ...  # values/shapes.py (Misfit), by name
    def spread(self, call: cst.Call) -> dict[str, str] | None: ...  # what **options hold
    def woken(self, link: Link) -> str | None: ...
    def children_work(self, link: Link) -> bool | None: ...


class Awareness(Protocol):
    """Code that handles NPUs already."""

    def covers_link(self, link: Link) -> bool: ...  # the code around the place does


class Style(Protocol):
    """How the port is written; None where it cannot be. engine/styles.py describes each method."""

    @property
    def loads(self) -> bool: ...
    @property
    def one_world(self) -> bool: ...
    def backend_asked(self, call: cst.Call, file: RuleFile) -> cst.Call | None: ...
    def name(self, tail: str, old: str = "", file: RuleFile | None = None) -> str | None: ...
    def device(self, node: cst.BaseExpression, file: RuleFile) -> cst.BaseExpression | None: ...
    def device_type(self, file: RuleFile) -> cst.BaseExpression | None: ...
    def backend(self, node: cst.BaseExpression, file: RuleFile) -> cst.BaseExpression | None: ...
    def attribute(self, node: cst.Attribute) -> cst.Attribute | None: ...
    def method(self, call: cst.Call, file: RuleFile, index: str = "") -> cst.Call | None: ...
    def moved(self, call: cst.Call, file: RuleFile) -> cst.Call | None: ...
    def module(self, node: cst.Attribute, file: RuleFile) -> cst.BaseExpression | None: ...
    def on_device(self, node: cst.Attribute, file: RuleFile) -> cst.BaseExpression | None: ...
