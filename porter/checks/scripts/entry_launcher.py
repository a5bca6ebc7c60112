"""Once for a repository: what its launcher has to set up before anything runs on an NPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule, named
from porter.files.paths import is_test
from porter.regex import lazy
from porter.text.document import Document
from porter.text.shells.script import Script

_STARTS = lazy(
    r"^(?![ \t]*(?:echo|printf)\b)[^#\n]*?("
    r"(?<![\w./=-])(?:torchrun|deepspeed|horovodrun|accelerate[ \t]+launch|python[\d.]*)(?![\w.\"'-]|[ \t]*\]))",
    re.M,
)
# a program in a string that a scheduler gets: `job="python train.py"`, `sbatch --wrap="python train.py"`
_HANDED_ON = lazy(r"^[ \t]*(?:(?:local|export|readonly|declare)[ \t]+)?\w+=[\"']|(?<![\w./-])(?:sbatch|qsub|bsub)[ \t]")
_SUBMITS = lazy(r"^(?![ \t]*(?:echo|printf|#))[^#\n]*?(?<![\w./-])(sbatch|qsub|bsub)[ \t]+[-$\w./<]", re.M)
_VALUE = lazy(r"(?:=[ \t]+|--[\w.-]+[ \t]+)$")  # `x == deepspeed`, `--engine deepspeed`: a word, and no program


_LAUNCHES = lazy(r"(?!python)|python[\d.]*[ \t]+-m[ \t]+(?:torch\.distributed|accelerate|deepspeed)|\S+[ \t].*train")


class EntryLauncher(TextRule):
    code = "PRT826"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        if document.session.facts.launch.script != document.path or "set_env.sh" in document.text:
            return
        if is_test(document.path):  # it runs in an environment that somebody has set up
            return
        starts = sorted(_STARTS.finditer(script.text), key=_rank)
        if not starts:
            return
        submitted = _SUBMITS.search(script.text)
        if submitted:  # without that, what a string holds runs here, too
            started_here = [m for m in starts if not _HANDED_ON.search(m[0][: m.start(1) - m.start()])]
            if not started_here:
                yield Hit(submitted.span(1), "submitted", values=named(program=submitted[1]), optional=True)
                return
            starts = started_here
        yield Hit(starts[0].span(1), "setup", optional=True)


def _rank(start: re.Match[str]) -> tuple[bool, bool]:
    """What is set up for: a launcher of ranks before a program that may only prepare the data. A word behind an option may
    be a program all the same, as of `xvfb-run --auto-servernum python`."""
    is_value = _VALUE.search(start[0][: start.start(1) - start.start()]) is not None
    goes_on = start.string[: start.start()].rstrip().endswith("\\")  # it is an argument of what stands above
    rest = start.string[start.start(1) :].partition("\n")[0]
    return is_value, goes_on or _LAUNCHES.match(rest) is None
