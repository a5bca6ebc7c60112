"""Whether a project uses names of torch.cuda that torch.mps, the module of Macs, does not have.

In the portable style they would be asked of the accelerator's module. On a Mac, which ran such a program on its CPU, that is
torch.mps, and the program would stop. There the whole program stays on the CPU: one file alone could not, as tensors meet.
"""

from __future__ import annotations

from collections.abc import Iterable

from porter.regex import lazy
from porter.rulebook.table import any_of

_ELSEWHERE = "current_device|current_stream|nvtx|set_device|set_stream"  # which the style does not ask of a module
_USED = lazy(
    rb"(?m)^[^#\n]*?\b(?:from[ \t]+torch\.cuda[ \t]+import\b|(?:torch\.cuda|accelerator_module)\.(?!(?:%s)\b)[A-Za-z])"
    % f"{any_of('of-macs')}|{_ELSEWHERE}".encode()
)


def lacks_names_on_macs(texts: Iterable[bytes]) -> bool:
    return any((b"torch.cuda" in data or b"accelerator_module" in data) and _USED.search(data) for data in texts)
