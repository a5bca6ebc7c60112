"""The seed of a run: what its log says, or what the program was given on its command line."""

from __future__ import annotations

from porter.files.documents import Json
from porter.regex import lazy

_GIVEN = lazy(r"(?:-{1,2}|\+{0,2})(?:[\w.-]*[._-])?seed(?:=(.+))?$")  # `--seed 7`, `--seed=7`, Hydra's `train.seed=7`


def seed_of(header: Json) -> object:
    """None where neither says one, or the command line names several."""
    if header.get("seed") is not None:
        return header["seed"]
    words = header.get("arguments")
    words = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    given = {match[1] or follower for word, follower in zip(words, [*words[1:], ""]) if (match := _GIVEN.match(word))}
    given = {value for value in given if value.lstrip("-").isdecimal()}
    return given.pop() if len(given) == 1 else None
