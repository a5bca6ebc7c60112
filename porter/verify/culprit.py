"""Whose fault it is that a run was not verified: the port's, the program's own, that of what it needs, or the device's."""

from __future__ import annotations

import re
import signal
from collections.abc import Collection
from typing import NamedTuple

from porter.verify.launch import Outcome
from porter.verify.records import Error

PORT, ORIGINAL, ENVIRONMENT, VIRTUAL, TORCH_NPU = "port", "original", "environment", "virtual", "torch-npu"
UNSTEADY = "unsteady"  # two runs of the original part as well
LIMIT = "limit"  # it was stopped by the time limit; whether it hangs or is slow here, nobody knows

_NAMES = re.compile(
    r"module '([\w.]+)' has no attribute|No module named '([\w.]+)'|"
    r"cannot import name '\w+' from (?:partially initialized module )?'([\w.]+)'"
)
_ABSENT = frozenset(
    """ImportError ModuleNotFoundError FileNotFoundError NotADirectoryError PermissionError ConnectionError
    ConnectionRefusedError URLError HTTPError MaxRetryError gaierror SSLError OfflineModeIsEnabled LocalEntryNotFoundError HFValidationError RepositoryNotFoundError
    MemoryError""".split()
)
_DEVICE = ("torch_npu", "torch.npu")
# no kernel of the device stands behind an operator: torch's own words
_NO_KERNEL = re.compile(
    r"(?:from|for|with) (?:the )?'?PrivateUse1'?|not currently (?:supported|implemented) (?:on|for) the NPU"
)
# what the collectives of torch_npu do not offer, by torch's words
_NO_COLLECTIVE = re.compile(r"its backend does not support splitting")
_COMPILER = frozenset("InductorError BackendCompilerFailed LoweringException TritonMissing".split())
_VIRTUAL = "virtual NPU:"
# the original met torch's own CUDA, or what stands in for it, behind a name that is not translated
_OF_CUDA = re.compile(r"module 'torch\._C' has no attribute '_cu|Torch not compiled with CUDA enabled")
_STANDIN = "virtual_npu "
# a library's own words about an earlier version of itself, and about what it needs and does not find
_OTHER_VERSION = re.compile(r"\b(?:is|was|has been|have been) removed\b|\bno longer (?:supported|available|exists)\b")
# DeepSpeed's words about an operator of its own that could not be compiled
_NOT_BUILT = re.compile(r"\bop, which failed to build/load")
# windows, where there is no screen
_NO_SCREEN = re.compile(
    r"no display name|(?:connect to|open) (?:the )?(?:X server |any )?display|highgui", re.IGNORECASE
)
_NUMBERS = re.compile(r"\d+|0x[0-9a-f]+")


class Culprit(NamedTuple):
    name: str
    what: str = ""  # the error's first line, where it is not the port's
    beside: str = ""  # how the port fared where the original failed: alike | ran; or UNSTEADY, LIMIT


def blamed(original: Outcome | None, port: Outcome | None, verdict: str, own: Collection[str]) -> Culprit | None:
    """None where the run is verified. `own`: the top-level names that the tree defines."""
    if verdict in ("equal", "close", "smoke"):
        return None
    if original is not None and original.code is None:
        return Culprit(ENVIRONMENT, beside=LIMIT)
    if original is not None and not original.ran:
        error = _first(original)
        found = _of_translation(error) or _of_device(error) or _of_environment(error, own) or _of_memory(original)
        found = found or Culprit(ORIGINAL)
        if port is None:
            return found
        return found._replace(beside="ran" if port.ran else "alike" if _is_alike(error, _first(port)) else "")
    if port is None or port.ran:
        return Culprit(ORIGINAL if verdict == "silent" else PORT)
    alone = _of_environment(_first(port), own) if original is None else None  # else the original would have met it, too
    return _of_device(_first(port)) or alone or Culprit(PORT)


def stops_early(original: Outcome) -> bool:
    """Whether there is no use in running the port: the original ended before it came to the device, or at the limit."""
    return original.code is None or not original.ran and not original.records.operators


def _first(outcome: Outcome) -> Error | None:
    return outcome.records.errors[0] if outcome.records.errors else None


def _of_translation(error: Error | None) -> Culprit | None:
    """What a real GPU would have had: the translation of its names has not, or torch_npu, which they lead to, failed."""
    if error is None:
        return None
    if _OF_CUDA.search(error.text) or error.about.startswith(_STANDIN):
        return Culprit(VIRTUAL, _first_line(error.text))
    if error.about.startswith("torch_npu "):
        return Culprit(TORCH_NPU, f"{error.about.strip()}: {_first_line(error.text)}")
    return None


def _of_device(error: Error | None) -> Culprit | None:
    if error is None:
        return None
    if _VIRTUAL in error.text:
        return Culprit(VIRTUAL, _first_line(error.text.partition(_VIRTUAL)[2]))
    if error.kind in _COMPILER:
        return Culprit(VIRTUAL, f"it has no compiler for torch.compile ({error.kind})")
    if _module(error.text).startswith(_DEVICE) or _NO_KERNEL.search(error.text) or _NO_COLLECTIVE.search(error.text):
        return Culprit(TORCH_NPU, _first_line(error.text))
    return None


def _of_environment(error: Error | None, own: Collection[str]) -> Culprit | None:
    if error is None:
        return None
    module = _module(error.text)
    if module:
        absent = module.partition(".")[0] not in own
    else:
        absent = error.kind in _ABSENT and "relative import" not in error.text
        absent = absent or "[Errno" in error.text
        absent = absent or any(words.search(error.text) for words in (_OTHER_VERSION, _NO_SCREEN, _NOT_BUILT))
    if absent or error.about:
        said = _first_line(error.text) or error.kind
        return Culprit(ENVIRONMENT, f"{error.about.strip()}: {said}" if error.about else said)
    return None


def _of_memory(outcome: Outcome) -> Culprit | None:
    """A machine without memory kills; a program that kills itself, or that porter stops, ends in another way."""
    return Culprit(ENVIRONMENT, "SIGKILL") if outcome.code == -signal.SIGKILL else None


def _module(text: str) -> str:
    """What a name was looked for in, and was not there."""
    match = _NAMES.search(text)
    return next(filter(None, match.groups()), "") if match else ""


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return re.sub(r"^(?:\[Errno \d+\]|CAUTION:) ", "", line).rstrip(".")


def _is_alike(one: Error | None, other: Error | None) -> bool:
    """The same error; line numbers and devices differ between the two."""
    if one is None or other is None:
        return one is other
    return one.kind == other.kind and _plain(one.text) == _plain(other.text)


def _plain(text: str) -> str:
    return _NUMBERS.sub("#", text.partition("\n")[0].replace("npu", "cuda"))
