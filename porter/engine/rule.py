"""What a rule is: it names what it wants to be asked about, and answers one node with a Hit, or with nothing.

A rule sees LibCST nodes and the `RuleFile` they stand in, nothing else. It never reports, counts or decides a status: no
`new` is manual, `new` is review, `new` and `safe` is auto.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    import libcst

    from porter.engine.rule_file import Glance, RuleFile
    from porter.finding import Change
    from porter.rulebook.table import Tables


def _lazily(name: str) -> ModuleType:
    """A module that runs on its first use: rules are loaded for every file, LibCST (0.1 s) only for one with a hit."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    cst = libcst
else:
    cst = _lazily("libcst")

NOTHING: frozenset[str] = frozenset()
# of `Hit.values`: the cause that it has in common with others of its code, none of which is edited: the first speaks for all
TOGETHER = "together"


class AtHead(str):
    """A statement of `Hit.after` that goes to the head of the module, below what a style binds there."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing found, by whatever looks: the only answer there is."""

    at: Any  # what to point at: a node of the original tree, a link of the index, (start, end) in characters of a text
    why: str  # key of a message in the rule's stanza in rules/*.toml
    new: cst.CSTNode | None = None  # what takes the place of the visited node; built from `updated`
    safe: bool = False  # meaning is kept: may be applied without a person looking
    values: tuple[tuple[str, str], ...] = ()  # for the {placeholders} of the message
    after: tuple[str, ...] = ()  # statements to insert below the enclosing statement (needs no `new`)
    more: tuple[Change, ...] = ()  # edits elsewhere, in offsets of the UTF-8 text (needs no `new`)
    edits: tuple[tuple[int, int, str], ...] = ()  # of a file that is not Python: characters start:end become a text
    loads: bool = False  # the edit needs torch_npu to be imported before it runs
    code: str | None = None  # of a rule that carries many codes; others leave it
    severity: str | None = None  # overrides what rules/*.toml says of `why`
    effort: str | None = None
    # an opportunity that the program runs well without: a note to look at, with edits (`more`) on request
    optional: bool = False
    holder: str = ""  # of a file that is not Python: what holds the device or the backend that is edited, and as what
    role: str = ""


Answer: TypeAlias = "Hit | Iterable[Hit] | None"


def named(**values: str) -> tuple[tuple[str, str], ...]:
    """`Hit.values`, sorted."""
    return tuple(sorted(values.items()))


class AnyRule:
    """Found by walking porter/checks: every class there with a `code` of its own."""

    code: ClassVar[str]
    codes: tuple[str, ...] = ()  # all that its hits carry, where they are several
    socs: ClassVar[Iterable[str]] = NOTHING  # the chips it is about, where it is not about all of them

    def __init__(self, tables: Tables):
        """Rules that read rules/*.toml take their keys from `tables` here."""

    def codes_for(self, name: str) -> tuple[str, ...]:
        """Those that its hits on a name may carry, for the page of the name."""
        return self.codes or (self.code,)


class IndexRule(AnyRule):
    """About a whole Python file, and about names alone: nothing to edit, so LibCST is not needed. `Hit.at` is a link."""

    def look(self, file: RuleFile) -> Iterable[Hit]:
        raise NotImplementedError


class TextRule(AnyRule):
    """About a file that is not Python, as a reader made it: `reads` says what its tree is. `Hit.at` is (start, end)."""

    reads: ClassVar[str]  # script | settings | requirements | source

    def look(self, document: Any, tree: Any) -> Iterable[Hit]:
        raise NotImplementedError


class Rule(AnyRule):
    """About places in a Python file that its keys name: asked with the node of LibCST that stands there."""

    calls: Iterable[str] = NOTHING  # every call of these resolved names: asked with the cst.Call
    references: Iterable[str] = NOTHING  # every mention of these resolved names: cst.Attribute or cst.Name
    prefixes: ClassVar[Iterable[str]] = NOTHING  # every mention of anything below these that no reference claims
    methods: ClassVar[Iterable[str]] = NOTHING  # every call `x.NAME(...)` where x is no module: cst.Call
    builtins: ClassVar[Iterable[str]] = NOTHING  # every call of these names that nothing in the file binds: cst.Call
    attributes: ClassVar[Iterable[str]] = NOTHING  # every mention `x.NAME` where x is no module: cst.Attribute
    imports: Iterable[str] = NOTHING  # every import statement of these top-level packages: Import, ImportFrom
    # computations that values make (values/patterns.py): the node they are seen at
    patterns: ClassVar[Iterable[str]] = NOTHING
    literals: ClassVar[Iterable[str]] = NOTHING  # strings of these kinds ("device", "backend"): string nodes
    nodes: ClassVar[tuple[str, ...]] = ()  # every node of these LibCST types, by name: "ImportFrom", "Comparison", ...
    # with `nodes`: regular expressions, one of which the statement's text must match to be looked at; every file is
    # searched for each, which costs next to nothing only where it begins with plain letters: r"cuda\b", not r"\bcuda\b"
    text: str | tuple[str, ...] = ()
    # with `text`: all that the rule finds says one of them, so that in a file without it is not asked about statements
    # that other rules want either
    spelled: ClassVar[bool] = False
    # of calls, methods, builtins and nodes, only the places that this look at the index lets through, as `staticmethod(...)`
    only: Glance | None = None  # of the class, but no ClassVar: a checker would take it for a method
    # False: it only tells, and a ported text is not asked for it again; "fuse": it writes where Session.fuse asks for it
    edits: ClassVar[bool | str] = True

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        raise NotImplementedError


class BatchRule(Rule):
    """About what runs for every batch: where another file calls it in its step, the finding names that file."""
