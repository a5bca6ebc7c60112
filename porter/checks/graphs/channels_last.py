"""`memory_format=torch.channels_last`: an NPU tensor has no such layout."""

from __future__ import annotations

import ast
import re
from typing import Any

from porter.engine.nodes import dotted
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import once
from porter.python.evidence import call_name
from porter.python.half_guards import FORMATS
from porter.python.index import FUNCTIONS, ancestors, chain_of, walk

CONTIGUOUS = "contiguous_format"
# what a test expects of one of two
_REFUSING = frozenset({"assertFalse", "assertRaises", "assertRaisesRegex", "raises"})


class ChannelsLast(Rule):
    code = "PRT502"
    references = FORMATS

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        new = self._contiguous(original, updated, file)
        if isinstance(original, cst.Name) and original.value not in file.names.imports:
            return None  # a name of the program's own, ported where it is given its value
        values = (("old", file.text(original)),)
        test = self._chosen_by(original, file) if new is not None else None
        # the edit would leave two equal values, for an option that nobody sets
        if test is not None and (switch := _switched_off(test, file)):
            return Hit(original, "chosen", values=(*values, (TOGETHER, switch)), severity="note")
        argument = file.around.argument(original)
        if argument is None:
            if self._compared(original, file):
                return Hit(original, "asked", values=values)
            return Hit(original, "handed-on", new=new, values=values)
        link, place = argument
        callee = call_name(link[0].func)
        if callee == "is_contiguous":  # as it stands the answer is no, which is right
            return Hit(original, "asked", values=values)
        if place == "memory_format" and _is_contrasted(link):
            return Hit(original, "contrasted", values=values)
        if place == "memory_format" or callee in ("to", "contiguous", "clone", "type"):
            return Hit(original, "argument", new=new, safe=True, values=values)
        return Hit(original, "handed-on", new=new, values=values)

    @staticmethod
    def _contiguous(original: cst.Attribute | cst.Name, updated: Any, file: RuleFile) -> Any:
        """What stands there instead; nothing where the name was imported by itself and torch was not."""
        if isinstance(original, cst.Attribute):
            return updated.with_changes(attr=updated.attr.with_changes(value=CONTIGUOUS))
        torch = file.meaning.module_name(original, "torch")
        return dotted(f"{torch}.{CONTIGUOUS}") if torch else None

    @staticmethod
    def _chosen_by(original: cst.Attribute | cst.Name, file: RuleFile) -> ast.expr | None:
        """The condition of `torch.channels_last if self.channels_last else torch.contiguous_format`, which asks for this format."""
        link = file.link(original)
        link = chain_of(link) if link is not None else None
        choice: Node = link[1][0] if link is not None and link[1] is not None else None
        if link is None or choice.__class__ is not ast.IfExp or link[0] is not choice.body:
            return None
        is_other = file.names.resolve(choice.orelse, link[1]) == f"torch.{CONTIGUOUS}"
        test: ast.expr | None = choice.test if is_other else None
        return test

    @staticmethod
    def _compared(original: cst.Attribute | cst.Name, file: RuleFile) -> bool:
        link = file.link(original)
        while link is not None and link[0].__class__ in (ast.Name, ast.Attribute):
            link = link[1]
        return link is not None and link[0].__class__ is ast.Compare


def _switched_off(test: ast.expr, file: RuleFile) -> str:
    """The option that decides, if it is off where this file sets it: `fp16_channels_last=False`; "" for none."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return next(filter(None, (_switched_off(part, file) for part in test.values)), "")
    name = getattr(test, "attr", "") or getattr(test, "id", "")
    sets = rb"\b\w*%s[ \t]*(?::[^=\n,)]*)?=[ \t]*" % re.escape(name.encode())
    says = file.source.says
    off = bool(name) and says(re.compile(sets + b"False")) and not says(re.compile(sets + b"True"))
    return name if off else ""


def _is_contrasted(call: Link) -> bool:
    """Whether a test makes the same tensor in the other layout, too, and expects another answer for it."""
    around = next((up[0] for up in ancestors(call) if up[0].__class__ in FUNCTIONS[:2]), None)
    return around is not None and around.name.startswith("test") and _without_layout(call[0]) in _plain(around)


@once
def _plain(test: Node) -> frozenset[tuple[str, ...]]:
    """The calls without a layout of a test that expects something to be refused."""
    calls = [node for statement in test.body for node in walk(statement) if node.__class__ is ast.Call]
    if not any(call_name(node.func) in _REFUSING for node in calls):
        return frozenset()
    plain = (node for node in calls if not any(k.arg == "memory_format" for k in node.keywords))
    return frozenset(map(_without_layout, plain))


def _without_layout(call: Node) -> tuple[str, ...]:
    parts = (call.func, *call.args, *(k for k in call.keywords if k.arg != "memory_format"))
    return tuple(map(ast.dump, parts))
