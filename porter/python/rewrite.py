"""Walks one piece with LibCST: asks every rule about its nodes, inner nodes first, and turns the answers into byte edits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from functools import cache
from operator import is_not
from typing import TYPE_CHECKING, Any, cast

import libcst as cst

from porter.engine.nodes import imported
from porter.engine.refusals import failure
from porter.engine.rule import Hit, Rule
from porter.errors import Broken
from porter.finding import DECIDED, SHARED, Change, Held, apply, trimmed
from porter.python.held_questions import QUESTIONS, in_the_test, waits_for
from porter.python.index import Node
from porter.python.kept_comments import loses_comment
from porter.python.opened_for_review import opened_by
from porter.python.outcomes import Outcome
from porter.python.quotes import fitting
from porter.python.under_shim import settled
from porter.python.units import SPARE, Piece

if TYPE_CHECKING:
    from porter.python.file import File


# nodes without a meaning. Types of nodes are compared by class: isinstance runs Python code, as they are abstract classes
_TRIVIA = frozenset({
    cst.SimpleWhitespace, cst.ParenthesizedWhitespace, cst.TrailingWhitespace, cst.EmptyLine, cst.Newline, cst.Comment,
    cst.Comma, cst.Dot, cst.LeftParen, cst.RightParen, cst.AssignEqual, cst.Colon, cst.MaybeSentinel, type(None), str, bool,
})  # fmt: skip
_CHAIN = frozenset({cst.Attribute, cst.Name})
_IMPORTS = frozenset({cst.Import, cst.ImportFrom})
_STRINGS = frozenset({cst.SimpleString, cst.FormattedString, cst.ConcatenatedString})
_NAMED = _CHAIN | _IMPORTS | _STRINGS | {cst.Call}  # a key of a rule may name them by what they say, not by type


@cache
def _children(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    """The fields that may hold a node with a meaning."""
    held = (f.name for f in fields(kind) if not f.name.startswith(("whitespace", "default_", "leading_", "trailing_")))
    return tuple(name for name in held if name not in ("lpar", "rpar", "header", "footer", "semicolon", "encoding"))


class _Walk:
    """Visits and replaces nodes. It keeps each node below which nothing changes; LibCST's own transformer copies all of them."""

    def __init__(self, file: File, piece: Piece, wanted: Callable[[Rule, Hit, Piece], bool]) -> None:
        self.file, self.piece, self.wanted = file, piece, wanted
        self.keys, self.nodes = file.rules.keys, file.by_node
        self.patterns = file.patterns if self.keys.patterns and not file.scene.apart else {}
        self.outcomes: list[Outcome] = []
        self.replaced: dict[cst.CSTNode, tuple[cst.CSTNode, Outcome]] = {}  # original -> new node, outcome
        # by the id of a node, as its hash is computed in Python; the piece keeps the nodes alive
        self._mentions: dict[int, list[Rule]] = {}
        self._inner: set[int] = set()
        self._quotes: list[str] = []  # the quotes of the f-strings around
        self.held = file.session.held_in(file.path) if file.session.held else {}

    @property
    def line(self) -> int:
        return self.file.source.line(self.piece.unit.start)

    @property
    def codes(self) -> str:
        return ", ".join(sorted({f.hit.code or f.rule.code for f in self.outcomes if f.applied}))

    def visit(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node, or what takes its place."""
        kind = node.__class__
        if kind in _CHAIN and id(node) not in self._inner:
            self._mention(node)
        changed: dict[str, Any] = {}
        if kind is cst.FormattedString:
            self._quotes.append(cast("cst.FormattedString", node).quote)
        for name in _children(kind):
            value = getattr(node, name)
            value_kind = value.__class__
            if value_kind in (list, tuple):
                inner = [self.visit(item) if item.__class__ not in _TRIVIA else item for item in value]
                if any(map(is_not, inner, value)):
                    changed[name] = inner
            elif value_kind not in _TRIVIA and (new := self.visit(value)) is not value:
                changed[name] = new
        if kind is cst.FormattedString:
            self._quotes.pop()
        return self._leave(node, node.with_changes(**changed) if changed else node)

    def _mention(self, node: Node) -> None:
        """Notes which rules to ask about a chain. Only the longest counts, not `torch.cuda` in `torch.cuda.synchronize`."""
        chain = [node]
        while chain[-1].__class__ is cst.Attribute:
            self._inner.add(id(chain[-1].attr))
            chain.append(chain[-1].value)
            self._inner.add(id(chain[-1]))
        name = full = self.file.name(node)
        if name is None or full is None:
            return
        for part in chain:
            if rules := self.keys.references.get(name):
                self._mentions[id(part)] = rules
                return
            if part.__class__ is not cst.Attribute:
                break
            name = name.rpartition(".")[0]
        for prefix, rules in self.keys.prefixes.items():
            if full == prefix or full.startswith(prefix + "."):
                self._mentions[id(node)] = rules

    def _leave(self, original: Any, updated: cst.CSTNode) -> cst.CSTNode:
        """Asks all rules with a key for a node. `updated`: the node with the edits of inner nodes."""
        keys, kind = self.keys, original.__class__
        of_kind = self.nodes.get(kind.__name__, ())
        if not of_kind and kind not in _NAMED:
            return updated
        asked: Iterable[Rule] = ()
        if kind is cst.Call:
            name = self.file.name(original.func)
            asked = keys.calls.get(name, ()) if name else ()
            if not asked and original.func.__class__ is cst.Attribute and original.func.attr.value in keys.methods:
                if self.file.is_object(original.func.value):
                    asked = keys.methods[original.func.attr.value]
            elif not name and original.func.__class__ is cst.Name and original.func.value in keys.builtins:
                if self.file.meaning.is_builtin(original.func):
                    asked = keys.builtins[original.func.value]
        elif kind in _CHAIN and id(original) in self._mentions:
            asked = self._mentions[id(original)]
        elif kind is cst.Attribute:
            if original.attr.value in keys.attributes and self.file.is_object(original.value):
                asked = keys.attributes[original.attr.value]
        elif kind in _STRINGS:
            literal = self.file.literal(original)
            asked = keys.literals.get(literal.kind, ()) if literal else ()
        elif kind in _IMPORTS:
            packages = {name.partition(".")[0]: None for name in imported(original)}
            asked = dict.fromkeys(rule for name in packages for rule in keys.imports.get(name, ()))
        asked = dict.fromkeys((*asked, *of_kind)) if asked and of_kind else asked or of_kind
        if self.patterns and kind is cst.Call and self.piece.knows(original):
            for match in self.patterns.get(self.piece.span(original), ())[:1]:
                asked = (*asked, *keys.patterns[match.kind])
        if asked and self.file.awareness.covers(self.piece.span(original)[0]):
            return updated
        for rule in asked:
            updated = self._ask(rule, original, updated)
        return updated

    def _ask(self, rule: Rule, original: cst.CSTNode, updated: cst.CSTNode) -> cst.CSTNode:
        for hit in self._answers(rule, original, updated):
            hit = self._with_others(rule, fitting(hit, self._quotes) if self._quotes else hit)
            hit = settled(hit, original, self.file) if self.file.target.shims else hit
            edits = bool(hit.new is not None or hit.after or hit.more)
            if edits and not (rule.edits and self._fits(rule, hit, original) and self._keeps(hit, original, updated)):
                hit, edits = replace(hit, new=None, after=(), more=()), False
            outcome = Outcome(rule, hit, original, self.piece, edit=hit.more, edits=edits)
            self.outcomes.append(outcome)
            if edits and self.wanted(rule, hit, self.piece):
                outcome.applied = True
                if hit.new is not None:
                    updated = hit.new
                    self.replaced[original] = (updated, outcome)
        return updated

    def _fits(self, rule: Rule, hit: Hit, original: cst.CSTNode) -> bool:
        """Whether the style of the port allows the edits of a hit."""
        style, code = self.file.style, hit.code or rule.code
        if style.one_world or hit.optional:
            return True
        new = (self.piece.module.code_for_node(hit.new),) if hit.new is not None else ()
        texts = (*new, *hit.after, *(change.new.decode() for change in hit.more))
        return style.fits(code, self.file.text(original), texts)

    def _keeps(self, hit: Hit, original: cst.CSTNode, updated: cst.CSTNode) -> bool:
        """Whether the edit of a hit keeps all comments."""
        return hit.new is None or "#" not in self.file.text(original) or not loses_comment(hit, updated)

    def _with_others(self, rule: Rule, hit: Hit) -> Hit:
        """The hit, without the edit or only for review, if other places with the same value cannot be edited as well."""
        code, held = hit.code or rule.code, None
        if self.held and code in DECIDED:
            held = self.held.get(self.piece.span(hit.at)[0])
        asks = dict(hit.values).get("name") in QUESTIONS
        if self.held and not held and code.startswith("PRT1"):
            held = in_the_test(self.file, self.piece.span(hit.at)[0], self.held)
        if self.held and not held and code not in SHARED and (asks or hit.safe):
            held = waits_for(self.file.link(hit.at), self.held, self.file.source)
            if held is not None and not asks:
                return self._under(hit, held)
        if held is None:
            line = opened_by(self.file, self.file.link(hit.at)) if asks and hit.safe else ""
            return replace(hit, safe=False, values=(*hit.values, ("opened_in", line))) if line else hit
        values = (*hit.values, *held.values())
        if held.status == "review":
            return replace(hit, safe=False, values=values)
        return replace(hit, new=None, after=(), more=(), safe=False, values=values)

    def _under(self, hit: Hit, held: Held) -> Hit:
        """The hit in a branch that a held comparison opens. It waits for review with it; in a branch that no port opens, the edit
        does no harm."""
        if held.status != "review":
            return hit
        return replace(hit, safe=False, values=(*hit.values, ("opened_by", held.partner)))

    def _answers(self, rule: Rule, original: cst.CSTNode, updated: cst.CSTNode) -> tuple[Hit, ...]:
        """The hits of a rule. If the rule raises, or names a message that does not exist, only this answer is lost."""
        try:
            answer = rule.visit(original, updated, self.file)
            if answer is None:
                return ()
            hits = (answer,) if isinstance(answer, Hit) else tuple(answer)
            for hit in hits:
                self.piece.span(hit.at)
                self.file.rules.weights(hit.code or rule.code, hit.why)
            return hits
        except RecursionError:
            raise
        except Exception as error:
            self.file.failures.note(rule.code, self.file.source.line(self.piece.span(original)[0]), error)
            return ()


def rewrite(
    file: File, piece: Piece, wanted: Callable[[Rule, Hit, Piece], bool]
) -> tuple[list[Outcome], tuple[Change, ...]]:
    """All hits in the piece, and the edits of those that `wanted` lets through, in offsets of the UTF-8 text."""
    walk = _Walk(file, piece, wanted)
    try:
        module: Any = walk.visit(piece.module)
        if not walk.replaced:
            return walk.outcomes, ()
        text, reach = piece.render(module)
    except RecursionError:
        raise
    except Exception as error:
        if not walk.replaced:
            raise
        raise Broken("reparse", walk.line, error=failure(error), codes=walk.codes) from None  # no valid tree
    old = file.source.utf8
    changes, end = [], -1
    for original, (new, outcome) in sorted(
        walk.replaced.items(), key=lambda item: (piece.reach(item[0])[0], -piece.reach(item[0])[1])
    ):
        start, stop = piece.reach(original)
        if id(new) not in reach:  # part of a larger replacement, which has the edit
            continue
        low, high = reach[id(new)]  # in the new text
        if (
            start < piece.unit.start or stop > piece.unit.end
        ):  # the prefix and suffix of the piece are no part of the file
            low, high = low + piece.unit.start - min(start, piece.unit.start), high - max(stop - piece.unit.end, 0)
            start, stop = max(start, piece.unit.start), min(stop, piece.unit.end)
        change = trimmed(old, Change(start, stop, text[low:high].encode("utf-8")))
        outcome.edit = (change, *outcome.hit.more)
        if stop <= end or change.start == change.end and not change.new:
            continue
        changes.append(change)
        end = stop
    _hold(walk, changes, text)
    return walk.outcomes, tuple(changes)


def _hold(walk: _Walk, changes: list[Change], text: str) -> None:
    """Raises Broken unless LibCST can parse the new text, and the byte edits make the same text as the new tree."""
    unit, old = walk.piece.unit, walk.file.source.utf8
    line, codes = walk.line, walk.codes
    try:
        if text not in SPARE:  # a text in there has been parsed
            SPARE.keep(text, cst.parse_module(text))
    except cst.ParserSyntaxError:
        raise Broken("reparse", line, error="LibCST", codes=codes) from None
    moved = tuple(Change(c.start - unit.start, c.end - unit.start, c.new) for c in changes)
    if unit.prefix + apply(old[unit.start : unit.end], moved).decode("utf-8") + unit.suffix != text:
        raise Broken("overlap", line, codes=codes)
