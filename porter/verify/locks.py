"""Locks of torch's C++ extensions. Who is stopped while it compiles one leaves its lock behind, and every later run, of verify
or not, waits for it without end."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def held_by(run: str) -> list[Path]:
    """Those that processes hold which have `run` in their environment: ranks are in process groups of their own."""
    found = _locks()
    return [found[name] for name in sorted(_open(run).intersection(found))] if found else []


def left_behind() -> Path | None:
    """One that no process holds: what waits for it waits for nobody."""
    found = _locks()
    held = _open() if found else set()
    forgotten = found.keys() - held if held else set()  # porter has something open itself, where it can be asked
    return found[min(forgotten)] if forgotten else None


def _locks() -> dict[str, Path]:
    """Where torch.utils.cpp_extension puts them."""
    asked = os.environ.get("TORCH_EXTENSIONS_DIR")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    root = Path(asked or os.path.join(cache, "torch_extensions"))
    return {str(lock.resolve()): lock for lock in root.glob("*/lock" if asked else "*/*/lock")}


def _open(run: str = "") -> set[str]:
    """What the processes that one may look at have open, or those of a run."""
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # another one's, or gone
            if run.encode() not in (process / "environ").read_bytes():
                continue
            for each in os.scandir(process / "fd"):
                with suppress(OSError):  # closed meanwhile
                    found.add(os.readlink(each.path))
    return found
