"""`optimizer = loaded["optimizer"]`: a whole optimizer out of a checkpoint, whose state nobody moves."""

from __future__ import annotations

import ast

from porter.checks.export import loaded_uses
from porter.engine.rule_file import RuleFile
from porter.python.index import Link
from porter.regex import lazy
from porter.training.value_uses import handed_to

_OPTIMIZER = lazy(r"(?i)(?:^|_)opt(?:im(?:izer)?)?s?(?:$|_(?:[a-z]|\d+)$|\d+$)")
_MEMBERS = frozenset({"step", "zero_grad", "param_groups", "add_param_group"})


def is_taken_whole(value: Link, file: RuleFile) -> bool:
    """Whether a part of what was loaded is used as an optimizer: `load_state_dict` would put its state beside the parameters,
    and it lies where it was loaded."""
    uses = [value, *(use for uses in loaded_uses.named(value, file) for use in uses)]
    parts = (loaded_uses.part(use) for use in uses)
    return any(_OPTIMIZER.search(key) and _works(whole, file) for whole, key in parts)


def _works(whole: Link, file: RuleFile) -> bool:
    """Whether it gets a name that is asked for a step or handed on, or stands as an attribute that nobody copies from."""
    above = whole[1] and whole[1][0]
    if above.__class__ is not ast.Assign or above.value is not whole[0]:
        return False
    target: ast.expr = above.targets[0]
    written = ast.unparse(target)
    if not _OPTIMIZER.search(written.rpartition(".")[2]):
        return False
    if target.__class__ is ast.Attribute:
        is_copied = file.source.says(f"load_state_dict({written})".encode())
        return not is_copied and file.source.says(f"{written}.step(".encode())
    uses = [use for several in loaded_uses.named(whole, file) for use in several]
    takers = {handed_to(use) for use in uses}
    members = {getattr(use[1] and use[1][0], "attr", "") for use in uses}
    return "load_state_dict" not in takers and (takers != {""} or not _MEMBERS.isdisjoint(members)) and bool(uses)
