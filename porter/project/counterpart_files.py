"""Files that have counterparts for other devices beside them, by their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_TWINS = (("cuda", "npu"), ("nccl", "hccl"), ("gpu", "npu"))
_OTHERS = ("mps", "xpu", "xla", "hpu", "mlu", "musa")


def twins_among(files: Sequence[str]) -> Iterable[str]:
    """Files with a counterpart for NPUs beside them: cuda_worker.py and npu_worker.py."""
    known = frozenset(files)
    for path in known:
        if any(path.replace(old, new) in known for old, new in _TWINS if old in path):
            yield path


def rivals_among(files: Sequence[str]) -> Iterable[str]:
    """Files with counterparts for other accelerators beside them: cuda.py and mps.py."""
    known = frozenset(files)
    for path in known:
        folder, _, name = path.rpartition("/")
        if "cuda" in name and any(f"{folder}/{name.replace('cuda', other)}".lstrip("/") in known for other in _OTHERS):
            yield path
