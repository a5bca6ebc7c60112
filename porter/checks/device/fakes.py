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
    """What is said where `setattr(torch.cuda, "name", fake)` replaces a name that stays in the port."""
    place = file.around.argument(original)
    call: Any = place[0][0] if place is not None else None
    if call is None or getattr(call.func, "attr", "") not in ("setattr", "object") or len(call.args) < 2:
        return None
    name = f"torch.cuda.{constant(call.args[1])}"
    move = moves.get(name)
    stays = move is not None and move.tail is None and not move.stays
    return Hit(original, "left", values=(("name", name),), code="PRT108") if stays else None
