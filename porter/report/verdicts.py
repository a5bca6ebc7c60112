"""What a name of torch is on the target, where a rule may know more of it than wheel and documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from porter.catalog.read.verdict import DEPRECATED, MISSING, SUPPORTED, Support, Verdict

if TYPE_CHECKING:
    from porter.rulebook.texts import ApiText


def verdict(known: Support, name: str, rule: ApiText | None) -> Verdict | None:
    """A rule that moves a name elsewhere, or says that it stays or is out of date, knows more than the names alone."""
    answer = known.of(name)
    if answer is None or rule is None:
        return answer
    if answer.kind == MISSING and (rule.to or rule.stays):
        return replace(answer, kind=SUPPORTED, to=(rule.to,) if rule.to else ())
    if answer.kind == SUPPORTED and not rule.to and name.startswith("torch_npu."):
        return replace(answer, kind=DEPRECATED)
    return answer
