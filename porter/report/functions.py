"""In which function of its file a place stands, read from the lines above it: what is asked of few files needs no tree."""

from __future__ import annotations

from collections.abc import Callable

from porter.regex import lazy

_DEF = lazy(rb"(?:async\s+)?def\s")


class Functions:
    def __init__(self, data: Callable[[str], bytes | None] | None):
        self._data = data
        self._owners: dict[str, list[int]] = {}

    def around(self, path: str, line: int) -> int:
        """The line of the innermost `def`; 0 outside of every function, and in what is not Python."""
        if self._data is None or not path.endswith(".py"):
            return 0
        if path not in self._owners:
            self._owners[path] = _owners((self._data(path) or b"").splitlines())
        owners = self._owners[path]
        return owners[min(line, len(owners)) - 1] if owners and line > 0 else 0


def _owners(lines: list[bytes]) -> list[int]:
    """For each line, that of the `def` around it."""
    # of the lines that are open: how far right they stand, and the `def` that they are or are in
    around: list[tuple[int, int]] = []
    owners = []
    for number, line in enumerate(lines, 1):
        text = line.lstrip()
        # the end of a call or of a signature stands as far left as its beginning
        if text and not text.startswith((b"#", b")", b"]", b"}")):
            depth = len(line) - len(text)
            while around and around[-1][0] >= depth:
                around.pop()
            owners.append(around[-1][1] if around else 0)
            around.append((depth, number if _DEF.match(text) else owners[-1]))
        else:
            owners.append(around[-1][1] if around else 0)
    return owners
