"""Which versions there are files of, in the order of versions: 2.9 before 2.13."""

from __future__ import annotations

import os
from pathlib import Path

from porter.resources import rules_dir
from porter.versions import parse, sure


def shipped(prefix: str, suffix: str = "", directory: Path | None = None) -> list[str]:
    """Versions between `prefix` and `suffix` in the names below `directory`, oldest first."""
    try:
        names = os.listdir(directory or rules_dir() / "catalog")
    except OSError:
        return []
    versions = (n[len(prefix) : len(n) - len(suffix)] for n in names if n.startswith(prefix) and n.endswith(suffix))
    return sorted(filter(parse, versions), key=sure)
