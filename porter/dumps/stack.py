"""Where a call stands in the user's code: stack.json, of which only what is asked for is held."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from porter.errors import UserError
from porter.files.errors import FilesError
from porter.profiles.stream import Tape, members
from porter.regex import lazy

MOST = 60  # frames
_FRAME = lazy(r"\s{0,8}File \"?([^\"\n]{1,1000}?)\"?, line (\d{1,9}), in ([^,\n]{1,200}),?\s{0,8}(.{0,300})")
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3", "/torch/nn/modules/", "/msprobe/", "<")


class Line(NamedTuple):
    file: str
    line: int
    function: str
    source: str

    @property
    def is_library(self) -> bool:
        return any(part in self.file.replace("\\", "/") for part in _LIBRARIES)


def stacks(folder: str, names: set[str]) -> tuple[dict[str, list[Line]], UserError | FilesError | None]:
    """The frames of each call that is known, the innermost first; and why nothing could be read, where it could not."""
    file = os.path.join(folder, "stack.json")
    found: dict[str, list[Line]] = {}
    if not os.path.lexists(file):
        return found, None
    try:
        tape = Tape(file)
        if tape.peek() != "{":
            return found, None
        for keys, value in members(tape):
            for name, frames in _rows(keys[0], value):
                if name in names and name not in found:
                    found[name] = list(_lines(frames))
            if len(found) == len(names):
                break
    except (UserError, FilesError) as error:
        return found, error
    return found, None


def _rows(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A number with the calls of one stack and its frames; before that, a call with its frames."""
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, list) for part in value):
        for name in value[0]:
            if isinstance(name, str):
                yield name, value[1]
    elif isinstance(value, list):
        yield key, value


def _lines(frames: Any) -> Iterator[Line]:
    for text in frames[:MOST]:
        if isinstance(text, str) and (match := _FRAME.match(text[:2000])):
            yield Line(match[1], int(match[2]), match[3].strip(), match[4].strip())
