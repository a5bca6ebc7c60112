"""Defines what a rule is. It names what it wants to be asked about, and answers each node with a Hit, or with nothing.

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
# A key of `Hit.values`: the cause of a hit. Hits of one code with one cause become one finding, at the first place, unless
# they are edited.
TOGETHER = "together"
NEEDED = "needed"  # key of `Hit.values`: a version; of findings that are folded the highest is told


class AtHead(str):
    """A statement of `Hit.after` that goes to the head of the module, below the names that a style binds there."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that a rule found. Rules of all kinds answer with it."""

    at: Any  # the place: a node of the original tree, a link of the index, or (start, end) in characters of a text
    why: str  # key of a message in the rule's stanza in rules/*.toml
    new: cst.CSTNode | None = None  # what takes the place of the visited node; built from `updated`
    safe: bool = False  # the edit keeps the meaning: it may be applied without review
    values: tuple[tuple[str, str], ...] = ()  # for the {placeholders} of the message
    after: tuple[str, ...] = ()  # statements to insert below the enclosing statement (needs no `new`)
    more: tuple[Change, ...] = ()  # edits elsewhere, in offsets of the UTF-8 text (needs no `new`)
    edits: tuple[tuple[int, int, str], ...] = ()  # in a file that is not Python: characters start:end become the text
    loads: bool = False  # the edit needs torch_npu to be imported before it runs
    code: str | None = None  # for a rule with several codes; other rules leave it out
    severity: str | None = None  # overrides what rules/*.toml says of `why`
    effort: str | None = None
    # an opportunity: the program runs well without it. It is a note, and its edits (`more`) are made on request
    optional: bool = False
    holder: str = ""  # in a file that is not Python: the name that holds the edited device or backend
    role: str = ""  # and what that name is: python/strings/literals.py


Answer: TypeAlias = "Hit | Iterable[Hit] | None"


def named(**values: str) -> tuple[tuple[str, str], ...]:
    """`Hit.values` of these keywords, sorted."""
    return tuple(sorted(values.items()))


class AnyRule:
    """The base of all rules. Every class of porter/checks with a `code` of its own is loaded as a rule."""

    code: ClassVar[str]
    codes: tuple[str, ...] = ()  # all codes of its hits, if there are several
    socs: ClassVar[Iterable[str]] = NOTHING  # the chips that the rule is about; empty: all

    def __init__(self, tables: Tables):
        """Rules that read rules/*.toml take their keys from `tables` here."""

    def codes_for(self, name: str) -> tuple[str, ...]:
        """The codes that its hits on this name may have. The page of the name lists them."""
        return self.codes or (self.code,)


class IndexRule(AnyRule):
    """A rule that is asked once for a whole Python file. It looks at names and edits nothing, so that LibCST is not needed.
    `Hit.at` is a link."""

    def look(self, file: RuleFile) -> Iterable[Hit]:
        raise NotImplementedError


class TextRule(AnyRule):
    """A rule about files that are not Python. `reads` says which reader makes their tree. `Hit.at` is (start, end)."""

    reads: ClassVar[str]  # script | settings | requirements | source | page

    def look(self, document: Any, tree: Any) -> Iterable[Hit]:
        raise NotImplementedError


class Rule(AnyRule):
    """A rule about places in a Python file. Its keys, below, say which places; it is asked with the LibCST node of each."""

    calls: Iterable[str] = NOTHING  # every call of these resolved names: asked with the cst.Call
    references: Iterable[str] = NOTHING  # every mention of these resolved names: cst.Attribute or cst.Name
    prefixes: ClassVar[Iterable[str]] = NOTHING  # every mention of anything below these that no reference claims
    methods: Iterable[str] = NOTHING  # every call `x.NAME(...)` where x is no module: cst.Call
    builtins: ClassVar[Iterable[str]] = NOTHING  # every call of these names that nothing in the file binds: cst.Call
    attributes: Iterable[str] = NOTHING  # every mention `x.NAME` where x is no module: cst.Attribute
    imports: Iterable[str] = NOTHING  # every import statement of these top-level packages: Import, ImportFrom
    # computations that values make (values/patterns.py): the node they are seen at
    patterns: ClassVar[Iterable[str]] = NOTHING
    literals: ClassVar[Iterable[str]] = NOTHING  # strings of these kinds ("device", "backend"): string nodes
    nodes: ClassVar[tuple[str, ...]] = ()  # every node of these LibCST types, by name: "ImportFrom", "Comparison", ...
    # with `nodes`: regular expressions. The rule is asked only about statements whose text matches one of them. Every file is
    # searched for each; that is cheap if the expression begins with plain letters, r"cuda\b", and cheapest if it begins with a whole
    # word, r"\bcuda\b": then the words of the file answer
    text: str | tuple[str, ...] = ()
    # with `text`, True: every finding has a text that matches. So in a file without a match the rule is never asked, also not
    # about statements that other rules want
    spelled: ClassVar[bool] = False
    # a cheap question to the index, as `staticmethod(...)`: places of calls, methods, builtins and nodes count only if it says
    # True. No ClassVar, as a type checker would take it for a method
    only: Glance | None = None
    # False: the rule never edits, so it is not asked again about the ported text; "fuse": it edits if Session.fuse is set
    edits: ClassVar[bool | str] = True

    def visit(self, original: Any, updated: Any, file: RuleFile) -> Answer:
        raise NotImplementedError


class BatchRule(Rule):
    """A rule about code that runs for every batch. If the step of another file calls that code, the finding names that file."""
