"""Finds notebooks that have the same code as a program beside them: `train.ipynb` and `train.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

_LOADER = "DataLoader("


def loaders_repeated(
    files: Iterable[str], sources: Mapping[str, bytes], read: Callable[[str], bytes | None]
) -> Iterator[str]:
    """The notebooks whose lines that make a loader all stand in the program of the same name beside them."""
    for path in files:
        program = sources.get(path.removesuffix(".ipynb") + ".py") if path.endswith(".ipynb") else None
        if program is None or _LOADER.encode() not in program:
            continue
        wanted = set(map(str.strip, code_of(read(path) or b"").splitlines()))
        wanted = {line for line in wanted if _LOADER in line}
        if wanted and wanted <= set(map(str.strip, program.decode("utf-8", "replace").splitlines())):
            yield path


def code_of(notebook: bytes) -> str:
    """The code of a notebook, without its other cells; "" where it cannot be read."""
    try:
        sources = [cell.get("source", "") for cell in json.loads(notebook)["cells"] if cell.get("cell_type") == "code"]
        return "\n".join(map("".join, sources))
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return ""
