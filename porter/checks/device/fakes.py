"""What tests put in the place of names of torch.cuda: `monkeypatch.setattr(torch.cuda, "is_available", fake)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from porter.checks.device.author_names import Mention
from porter.engine.rule import Hit
from porter.engine.rule_file import RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import constant
from porter.python.held_questions import QUESTIONS
from porter.regex import lazy
from porter.rulebook.table import Move

# what code asks or does that chooses between devices by hand; statistics of memory are ported wherever they stand
ASKED = frozenset({*QUESTIONS, "torch.cuda.empty_cache"})
_FAKED = lazy(rb"(?:patch|setattr)\s*\(\s*[\"']torch\.cuda\.")


@once_for_file
def stands_in(file: RuleFile) -> bool:
    """Whether a test puts something in the place of names of torch.cuda, in a project that chooses between GPUs and NPUs itself:
    what it tests may ask for CUDA by that name after the port, too."""
    return file.facts.accelerators.also_npu(file.path) and file.source.says(_FAKED)


def left(original: Mention, moves: Mapping[str, Move], file: RuleFile) -> Hit | None:
    """What is said where `monkeypatch.setattr(torch.cuda, "name", fake)` or `patch.object(torch.cuda, "name")` replaces a name that
    the port leaves as it is. It is not asked of the builtin `setattr(torch.cuda, "name", fake)`: dynamic_name.py answers that."""
    link, position = file.around.argument(original) or (None, None)
    call: Any = link and link[0]
    if call is None or position != 0 or len(call.args) < 2:
        return None
    if getattr(call.func, "attr", "") not in ("setattr", "object"):
        return None
    name = f"torch.cuda.{constant(call.args[1])}"
    told = has_no_counterpart(moves.get(name))
    return Hit(original, "left", values=(("name", name),), code="PRT108") if told else None


def has_no_counterpart(move: Move | None) -> bool:
    """Whether nothing on an NPU answers a name of torch.cuda. The port leaves it as it is."""
    return move is not None and move.tail is None and not move.stays  # `stays`: it works there under its own name
