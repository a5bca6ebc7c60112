"""Where a shell script names environment variables: by what sets, reads or hands them on, and in words that some program reads."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from porter.regex import lazy
from porter.rulebook.table import hints
from porter.text.shells.script import Script, Word

TOKEN = lazy(r"(?<![\w$.{/-])(?:[A-Z][A-Z0-9]*_[A-Z0-9_]+|CUDACXX|CUDAARCHS|CUDAHOSTCXX)(?![\w.-])")
_GIVEN = lazy(r"=([\w.,:+-]*)(?![^\s\"';|&)])")
_NAMED = frozenset({"export", "declare", "typeset", "readonly", "local", "unset", "read", "printenv"})
_PASSED_ON = frozenset({"-x", "-e", "--env", "-env", "-genv", "--export-env"})
_LAUNCHERS = frozenset("env mpirun mpiexec orterun horovodrun docker podman nvidia-docker sudo srun".split())
QUIET = hints("says-a-text")  # they look for the name as a text, or show it
_LOOKS = frozenset({"grep", "egrep", "fgrep", "sed", "awk", "gawk", "perl"})
_SAYS = frozenset({"echo", "printf"})


@dataclass(frozen=True)
class Place:
    start: int
    end: int
    role: str  # set | read | named | text
    value: Word | None
    exported: bool
    prefix: bool = False
    joint: str = ""  # see Name in text/shells/script.py
    labels: tuple[int, ...] = ()  # where its name stands beside a value that is shown: `echo "NAME is $NAME"`


def stays_inside(place: Place) -> bool:
    """Whether a line sets a variable for the script alone: `NAME=1`, and no `export`."""
    return place.role == "set" and not place.exported and not place.prefix


def places_of(script: Script) -> Iterator[tuple[str, Place]]:
    labels, known = dict(_labels(script)), {name.start for name in script.names}
    for n in script.names:
        yield n.name, Place(n.start, n.end, n.role, n.value, n.exported, n.prefix, n.joint, labels.get(n.start, ()))
    for command in script.commands:
        names = [word.name for word in command.words]
        if names[0] in QUIET:
            continue
        for before, word in zip(("", *names), command.words):
            if word.text.startswith(("'", '"', "$")) or not (match := TOKEN.search(word.text)):
                continue
            start, end = word.start + match.start(), word.start + match.end()
            if start in known:  # of `export NAME`, which the grammar knows
                continue
            tail = word.text[match.end() :]
            passed = names[0] in _LAUNCHERS and (before in _PASSED_ON or names[0] in ("env", "sudo"))
            joint = f" {before} " if before in _PASSED_ON else " "
            if tail[:1] == "=" and match.start() == 0 and passed:
                value = Word(end + 1, word.end, tail[1:])
                yield match[0], Place(start, end, "set", value, True, joint=joint)
            elif not tail and match.start() == 0 and (names[0] in _NAMED or before == "-v" or passed):
                yield match[0], Place(start, end, "named", None, False, joint=joint if passed else "")
            else:
                yield from _mentioned(word.start, word.text)
    for text in script.texts:
        if text.command not in QUIET:
            yield from _mentioned(text.word.start, text.word.text)


def _labels(script: Script) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Of the first read of a variable in what is shown, where the same words name it, too, and nobody looks for them."""
    starts = [name.start for name in script.names]
    looks = (c for c in script.commands if c.words[0].name in _LOOKS)
    sought = {m[0] for command in looks for m in TOKEN.finditer(script.text, command.start, command.end)}
    for command in script.commands:
        if command.words[0].name not in _SAYS:
            continue
        shown = script.names[bisect_left(starts, command.start) : bisect_left(starts, command.end)]
        read = {name.name: name.start for name in reversed(shown) if name.role == "read"}
        shown_names: dict[str, list[int]] = {}
        for match in TOKEN.finditer(script.text, command.start, command.end) if read else ():
            if match[0] in read and match[0] not in sought:
                shown_names.setdefault(match[0], []).append(match.start())
        yield from ((read[name], tuple(places)) for name, places in shown_names.items())


def _mentioned(start: int, text: str) -> Iterator[tuple[str, Place]]:
    """Names in words and strings that some program reads: `--env NAME=23`, with the value where it stands there."""
    for match in TOKEN.finditer(text):
        given = _GIVEN.match(text, match.end())
        value = Word(start + given.start(1), start + given.end(1), given[1]) if given else None
        yield match[0], Place(start + match.start(), start + match.end(), "text", value, False)
