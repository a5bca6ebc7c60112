"""Where a call stands in the user's code: stack.json, of which only what is asked for is held."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from porter.diagnose.repository import ELSEWHERE
from porter.diagnose.traces import Frame
from porter.errors import UserError
from porter.files.errors import FilesError
from porter.profiles.stream import Tape, members
from porter.regex import lazy

MOST = 60  # frames
_FRAME = lazy(r"\s{0,8}File \"?([^\"\n]{1,1000}?)\"?, line (\d{1,9}), in ([^,\n]{1,200}),?\s{0,8}(.{0,300})")
_LIBRARIES = (*ELSEWHERE, "/torch/nn/modules/", "/msprobe/")


def is_library(frame: Frame) -> bool:
    return any(part in frame.file.replace("\\", "/") for part in _LIBRARIES)


def stack(folder: str, name: str) -> tuple[list[Frame], UserError | FilesError | None]:
    """The frames of a call, the innermost first; and why nothing could be read, where it could not."""
    file = os.path.join(folder, "stack.json")
    if not os.path.lexists(file):
        return [], None
    try:
        tape = Tape(file)
        for keys, value in members(tape) if tape.peek() == "{" else ():
            for known, frames in _rows(keys[0], value):
                if known == name:
                    return list(_frames(frames)), None
    except (UserError, FilesError) as error:
        return [], error
    return [], None


def _rows(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A number with the calls of one stack and its frames; before that, a call with its frames."""
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, list) for part in value):
        for name in value[0]:
            if isinstance(name, str):
                yield name, value[1]
    elif isinstance(value, list):
        yield key, value


def _frames(frames: Any) -> Iterator[Frame]:
    for text in frames[:MOST]:
        if isinstance(text, str) and (match := _FRAME.match(text[:2000])):
            yield Frame(match[1], int(match[2]), match[3].strip(), match[4].strip())
