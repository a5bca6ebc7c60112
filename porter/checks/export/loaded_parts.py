"""What is asked of a checkpoint that `torch.load` answers with: its keys, and whether a scheduler alone gets it."""

from __future__ import annotations

from porter.checks.export import loaded_uses
from porter.engine.rule_file import Link, RuleFile
from porter.python.evidence import constant
from porter.regex import lazy

PART = lazy(r"(?i)state_?dict|^(?:ema_?)?(?:model|module|net(?:work)?|weights?|optim(?:izer)?)(?:$|_)")
SCHEDULER = lazy(r"(?i)(?:^|[\s_.\"'/])(?:lr_?)?sched(?:uler)?s?\b")


def is_of_schedulers(about: str, value: Link, file: RuleFile) -> bool:
    """Whether its names say it, or `scheduler.load_state_dict(loaded["state"])` and nobody else gets any of it."""
    if SCHEDULER.search(about):
        return True
    takers = loaded_uses.takers(value, file)
    return bool(takers) and all(SCHEDULER.search(taker) for taker in takers)


def keys(value: Link, file: RuleFile) -> list[str]:
    """Of `loaded = torch.load(path)`, what is asked of it: `loaded["model"]`."""
    uses = [use for found in loaded_uses.named(value, file) for use in found]
    return [*filter(PART.search, (str(constant(getattr(use[1][0], "slice", None))) for use in uses))]
