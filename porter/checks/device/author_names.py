"""A name of torch_npu, written as the author wrote the one of torch.cuda: with the alias, dots and comments that stand there."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from porter.engine.nodes import chain, dotted
from porter.engine.rule import Hit, cst
from porter.engine.rule_file import RuleFile

Mention: TypeAlias = "cst.Attribute | cst.Name"


def spelled(
    original: Mention, updated: Mention, name: str, new: str, namespace: str
) -> cst.BaseExpression | Literal[False] | None:
    """With the author's alias; None where nothing is to be written, as its import is ported, False where nothing can."""
    words, old, parts = chain(original), name.split("."), new.split(".")
    hidden = len(old) - len(words) + 1  # how many words of the full name the first word stands for
    if parts[0] != old[0]:  # below another root, which is bound by itself; an import that hides it is replaced
        return None if hidden > 1 else dotted(new).with_changes(lpar=updated.lpar, rpar=updated.rpar)
    if hidden > 1:  # bound by an import or alias that is ported itself
        if not new.startswith(f"{namespace}."):
            return False
        if old[hidden:] == parts[hidden:] and len(old) == len(parts):
            return None
        if hidden > 2 and len(old) != len(parts):
            return False
        return dotted(".".join([words[0], *parts[hidden:]])).with_changes(lpar=updated.lpar, rpar=updated.rpar)
    node: cst.BaseExpression = updated
    steps: list[cst.Attribute] = []
    while isinstance(node, cst.Attribute):
        steps.append(node)
        node = node.value
    steps.reverse()
    if len(steps) != len(parts) - 1:
        return dotted(".".join([words[0], *parts[1:]])).with_changes(lpar=updated.lpar, rpar=updated.rpar)
    for step, word in zip(steps, parts[1:]):  # dots, whitespace and comments between the words stay
        node = step.with_changes(value=node, attr=step.attr.with_changes(value=word))
    return node


def module(original: Mention, updated: Any, waits: bool, file: RuleFile) -> Hit | None:
    """`torch.cuda` itself, handed on: `cuda = torch.cuda`, `getattr(torch.cuda, name)`."""
    if not isinstance(original, cst.Attribute) or len(chain(original)) != 2:
        return None
    return Hit(original, "module", new=file.style.module(updated, file), safe=not waits, code="PRT109", loads=True)
