"""Comparisons with a device that stay as they are, by what they decide about or where they run."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.array_switches import decides_for
from porter.python.cuda_versions import asked_beside
from porter.python.evidence import call_name
from porter.python.index import ancestors
from porter.python.library_builds import built_for_cuda
from porter.python.lightning_choices import of_comparison
from porter.python.other_systems import other_system
from porter.python.parallel_choices import one_device
from porter.python.provider_choices import provider
from porter.regex import lazy

_TYPE = lazy(r"torch\.(?:float16|bfloat16|half|float32|float)")
_ASKS_GENERATION = frozenset({"get_device_properties", "get_device_capability"})


def _type_for_others(file: RuleFile, link: Link) -> str:
    """`torch.float32` of `torch.float16 if "cuda" in device and torch.cuda.get_device_properties(device).major >= 6 else torch.float32`."""
    asked, choice = link[0], link[1]
    while choice is not None and isinstance(choice[0], (ast.Compare, ast.BoolOp)):
        asked, choice = choice[0], choice[1]
    if choice is None or not isinstance(choice[0], ast.IfExp) or choice[0].test is not asked:
        return ""
    sides = [ast.unparse(side) for side in (choice[0].body, choice[0].orelse)]
    of_types = all(map(_TYPE.fullmatch, sides)) and not _ASKS_GENERATION.isdisjoint(
        call_name(node.func) for node in ast.walk(asked) if isinstance(node, ast.Call)
    )
    return sides[1] if of_types else ""


# what to say, the name of a value for it, and what finds the value
_KEPT = (
    ("for-arrays", "library", decides_for),
    ("for-arrays", "library", built_for_cuda),
    ("for-a-provider", "library", provider),
    ("one-device", "what", one_device),
    ("together", "what", of_comparison),
    ("on-another-system", "what", other_system),
    ("versioned", "what", asked_beside),
    ("of-a-generation", "what", _type_for_others),
)


def kept_as_it_is(file: RuleFile, link: Link) -> tuple[str, str, str] | None:
    """What to say of a comparison that stays, and the name and the value of what it says."""
    found = ((why, name, ask(file, link)) for why, name, ask in _KEPT)
    kept = next(((why, name, value) for why, name, value in found if value), None)
    return ("refused", *kept[1:]) if kept and kept[0] == "for-arrays" and _refuses_others(link) else kept


def _refuses_others(link: Link) -> bool:
    """`if device == "cuda": ... elif device == "cpu": ... else: raise ValueError(device)`"""
    branch: Node = next((above[0] for above in ancestors(link) if isinstance(above[0], ast.stmt)), None)
    while isinstance(branch, ast.If) and len(branch.orelse) == 1 and isinstance(branch.orelse[0], ast.If):
        branch = branch.orelse[0]
    return isinstance(branch, ast.If) and bool(branch.orelse) and isinstance(branch.orelse[-1], ast.Raise)


def is_compared_device(link: Link) -> bool:
    """`device == torch.device("cuda")`"""
    return link[1][0].__class__ is ast.Call and link[1][1] is not None and link[1][1][0].__class__ is ast.Compare
