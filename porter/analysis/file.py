"""One Python file as rules see it: names resolved, strings and receivers judged, the target to write for."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from porter.engine.refusals import Failures
from porter.engine.rule import Rule
from porter.engine.rule_file import Glance
from porter.engine.session import Session
from porter.engine.styles import STYLES
from porter.engine.suppress import Suppressions
from porter.errors import Unreadable
from porter.files.paths import is_test
from porter.project.roads import leads
from porter.python import index
from porter.python.around import Around
from porter.python.around_imports import AroundImports
from porter.python.comments import to_porter
from porter.python.index import Link
from porter.python.meaning import Meaning
from porter.python.names import Names
from porter.python.receivers import Receivers
from porter.python.source import Source
from porter.python.strings.environ import Variable, variables
from porter.python.strings.literals import Literal, literals
from porter.python.trees import parse_or_refuse
from porter.training.dynamic_sizes import Flows
from porter.training.scene import Scene
from porter.training.tensors import Tensors
from porter.values import experts
from porter.values.patterns import Match, find

_TOOLKIT = re.compile(rb"\bCUDA_HOME\b|\bCUDA_PATH\b|CUDAExtension|\bnvcc\b|TORCH_CUDA_ARCH_LIST|version\.cuda\b")


def _parse(source: Source) -> tuple[ast.Module, list[int]]:
    """The tree, and the lines of statements that this Python's grammar does not know."""
    try:
        return parse_or_refuse(source.utf8), []
    except Unreadable as refusal:
        if refusal.key not in ("syntax", "python2"):
            raise
        from porter.python.newer_grammar import parse_around

        return parse_around(source, refusal)


class File:
    """Nothing that it keeps points back at it: trees are freed at once, and the collector finds nothing to do."""

    def __init__(self, path: str, source: Source, session: Session, again: bool = False):
        """`again`: a ported text, of which only further edits are asked."""
        self.path, self.source, self.session = path, source, session
        self.target, self.facts = session.target, session.facts
        self.rules = session.rules.writing(session.fuse) if again else session.rules
        self.road = leads(path, source.utf8, self.facts.roads)
        self.style = STYLES[session.target.style](session.target, session.has)
        self.tree, self.hidden = _parse(source)
        self.buckets, uses = index.collect(self.tree, self.rules.wanted)
        self.names = Names(self.buckets, uses)
        self.names.aliases  # noqa: B018  computed before anything resolves through them
        self.suppressions = Suppressions(to_porter(source))
        self.failures = Failures()
        self.apis: dict[str, list[Link]] = {}  # resolved names of interest, and where they stand: the inventory
        self.silent: set[Rule] = set()  # which can find nothing here
        self._glances: dict[tuple[Glance, ast.AST], bool] = {}
        self.answers: dict[str, dict] = defaultdict(dict)  # by question: what many places ask is answered once
        self._piece = None  # the piece that is walked right now: where LibCST nodes lie

    def glance(self, look: Glance, link: Link) -> bool:
        """Whether a place is one that `Rule.only = look` speaks of; remembered, as rules ask again."""
        known = self._glances.get((look, link[0]))
        if known is None:
            rules, line = (rule for rule in self.rules.all if rule.only is look), getattr(link[0], "lineno", 1)
            known = self.failures.guard(rules, line, lambda: look(self.scene, link)) or False
            self._glances[look, link[0]] = known
        return known

    @cached_property
    def literals(self) -> dict[int, Literal | Variable]:
        """Device and backend strings and names of environment variables, by offset."""
        return literals(self) | variables(self)

    @cached_property
    def scene(self) -> Scene:
        return Scene(self)

    @cached_property
    def tensors(self) -> Tensors:
        return Tensors(self.scene)

    @cached_property
    def patterns(self) -> dict[tuple[int, int], list[Match]]:
        """Computations that an operator of the target makes, by where they are seen."""
        rules = {rule for several in self.rules.patterns.values() for rule in several}
        return self.failures.guard(rules, 1, lambda: {**experts.find(self), **find(self)}) or {}

    @cached_property
    def flows(self) -> Flows:
        return Flows(self)

    def followed(self, node, kind: str) -> tuple[tuple[str, str], ...] | None:
        """What follows from a size that depends on the data, for a message; None where nothing does."""
        link = self.scene.link(node)[1] if type(node).__name__ == "Call" else self.scene.at(node, ast.Subscript)
        return self.flows.said(self.scene, link, kind)

    @cached_property
    def by_node(self) -> dict[str, list[Rule]]:
        """The rules to ask about nodes of a type, by LibCST's name for it."""
        found = {kind: [r for r in several if r not in self.silent] for kind, several in self.rules.nodes.items()}
        return {kind: several for kind, several in found.items() if several}

    def matches(self, node, kinds: Iterable[str]) -> list[Match]:
        """What is seen at a node, the fullest first."""
        return [match for match in self.patterns.get(self._piece.span(node), ()) if match.kind in kinds]

    @cached_property
    def receivers(self) -> Receivers:
        return Receivers(self)

    @cached_property
    def _names_at(self) -> dict[int, Link]:
        """Every use of a name, by offset: how a LibCST node finds its place in the index."""
        starts = self.source.starts
        return {starts[(node := link[0]).lineno - 1] + node.col_offset: link for link in self.names.uses}

    # ---- what rules ask; nodes are LibCST's, of the original tree

    def look_at(self, piece) -> None:
        self._piece = piece

    def link(self, node) -> Link | None:
        """The index's link of the name that a chain starts with."""
        while type(node).__name__ == "Attribute":
            node = node.value
        if type(node).__name__ != "Name" or not self._piece.knows(node):
            return None
        return self._names_at.get(self._piece.span(node)[0])

    def chain(self, node) -> Link | None:
        """Of a chain, its whole, where `File.link` gives its first word; of a string, the string."""
        literal = self.literal(node)
        if literal is not None:
            return literal.link
        link = self.link(node)
        while link is not None and link[1] is not None and link[1][0].__class__ is ast.Attribute:
            if self.source.span(link[0])[1] == self.span(node)[1]:
                break
            link = link[1]
        return link

    def name(self, node) -> str | None:
        """'torch.cuda.synchronize' for `tc.synchronize`; None when unknown, local, or behind a call."""
        tail, root = [], node
        while type(root).__name__ == "Attribute":
            tail.append(root.attr.value)
            root = root.value
        if type(root).__name__ != "Name" or not self.names.known(root.value):
            return None
        link = self.link(root)
        base = link and self.names.root(root.value, link)
        return base and ".".join((base, *reversed(tail)))

    def is_object(self, node) -> bool:
        """Whether `node.method()` is a method of something, and no function of a module that is known."""
        name = self.name(node)
        return name is None or name.partition(".")[0] not in self.rules.roots

    def literal(self, node) -> Literal | Variable | None:
        start, end = self._piece.span(node)
        literal = self.literals.get(start)  # the first part of an implicit concatenation starts where the whole does
        return literal if literal and self.source.span(literal.link[0])[1] == end else None

    def receiver(self, node) -> str:
        """Of `x.cuda` or `x.cuda()`, what x is: 'torch', 'other' (library), 'own' (class of the project) or 'unknown'."""
        node = node.func if type(node).__name__ == "Call" else node
        return self.receivers.judge(self._piece.span(node)[1])

    def span(self, node) -> tuple[int, int]:
        """Where a node lies, in offsets of the UTF-8 text."""
        return self._piece.span(node)

    @property
    def statement(self) -> ast.AST:
        """The statement whose piece is walked."""
        return self._piece.unit.statement

    @cached_property
    def around(self) -> Around:
        return Around(self)

    @cached_property
    def meaning(self) -> Meaning:
        return Meaning(self)

    @cached_property
    def imported(self) -> AroundImports:
        return AroundImports(self)

    def builds_cuda(self, unit) -> bool:
        """Whether a statement is about the CUDA toolkit: a build script, or a condition that asks for nvcc."""
        if self.path.rpartition("/")[2] == "setup.py" or _TOOLKIT.search(self.source.utf8, unit.start, unit.end):
            return True
        if unit.statement.__class__ is ast.If and not unit.whole:
            body = unit.statement.body
            return bool(_TOOLKIT.search(self.source.utf8, unit.end, self.source.span(body[-1])[1]))
        return False

    @cached_property
    def tested(self) -> bool:
        """Whether it is a file of tests: what only costs time there, or drifts a little, is no concern."""
        return is_test(self.path)

    def text(self, node) -> str:
        start, end = self._piece.span(node)
        return self.source.utf8[start:end].decode("utf-8")

    def aware(self, node) -> bool:
        """Whether the code around already handles NPUs, so that a rename would ruin it."""
        return self.awareness.covers(self._piece.span(node)[0])

    def undisturbed(self, codes: Iterable[str]) -> bool:
        """Whether all statements are in sight of the index, and nothing in the file or the settings silences these codes."""
        ignored = {code for ignore in self.suppressions.ignores for code in ignore.codes}
        return not self.hidden and (ignored | self.session.quiet.codes(self.path)).isdisjoint(codes)

    @cached_property
    def awareness(self):
        from porter.python.aware import Awareness

        return Awareness(self)
