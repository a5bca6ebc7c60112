"""In which function of its file a place stands, read from the lines above it: what is asked of few files needs no tree."""

from __future__ import annotations

from collections.abc import Callable

from porter.regex import lazy

_DEF = lazy(rb"(?:async\s+)?def\s")


class Functions:
    def __init__(self, data: Callable[[str], bytes | None] | None):
        self._data = data
        self._lines: dict[str, list[bytes]] = {}

    def around(self, path: str, line: int) -> int:
        """The line of the innermost `def`; 0 outside of every function, and in what is not Python."""
        if self._data is None or not path.endswith(".py"):
            return 0
        if path not in self._lines:
            self._lines[path] = (self._data(path) or b"").splitlines()
        lines = self._lines[path][:line]
        indent = len(lines[-1]) if lines else 0
        for number in range(len(lines), 0, -1):
            text = lines[number - 1].lstrip()
            # the end of a call or of a signature stands as far left as its beginning
            if not text or text.startswith((b"#", b")", b"]", b"}")):
                continue
            depth = len(lines[number - 1]) - len(text)
            if depth < indent:
                indent = depth
                if _DEF.match(text) and number < line:
                    return number
        return 0
