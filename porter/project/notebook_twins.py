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
        wanted = set(map(str.strip, _code(read(path))))
        wanted = {line for line in wanted if _LOADER in line}
        if wanted and wanted <= set(map(str.strip, program.decode("utf-8", "replace").splitlines())):
            yield path


def _code(data: bytes | None) -> Iterator[str]:
    """The lines of the code of a notebook; none where it cannot be read."""
    try:
        cells = json.loads(data or b"{}").get("cells", [])
        for cell in cells:
            if cell.get("cell_type") == "code":
                source = cell.get("source", "")
                yield from (source if isinstance(source, str) else "".join(source)).splitlines()
    except (ValueError, AttributeError, TypeError, RecursionError):
        return
