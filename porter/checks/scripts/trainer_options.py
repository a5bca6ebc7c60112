"""Scripts that hand a program options of TrainingArguments that transformers 5 no longer takes: `--evaluation_strategy no`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.checks.support.trainer_arguments import ARGUMENTS, Renamed, brings_the_fifth, knows, told
from porter.engine.rule import Hit, TextRule, named
from porter.regex import lazy
from porter.text.document import Document
from porter.text.shells.lines import command_at
from porter.text.shells.script import Script

_OPTION = lazy(rf"(?<![\w-])--({'|'.join(ARGUMENTS)})(?=[=\s\\]|$)")


class TrainerOptions(TextRule):
    code = "PRT718"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        programs, own = document.session.facts.launch.trainers
        if not programs or not _OPTION.search(script.text) or not brings_the_fifth(document):
            return
        started = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, programs))})(?:\.py)?(?![\w-])")
        for match in _OPTION.finditer(script.text):
            if match[1] in own or any(start <= match.start() < end for start, end in script.comments):
                continue
            start, end = command_at(script.text, match.start())
            if started.search(script.text, start, match.start()):
                yield _hit(match, script.text[start:end], document, script.may_edit(document))


def _hit(match: re.Match[str], command: str, document: Document, may_edit: bool) -> Hit:
    name, now = match[1], ARGUMENTS[match[1]]
    if not isinstance(now, Renamed) or re.search(rf"(?<![\w-])--{now.new}(?![\w-])", command):
        why, _, _, values = told(name, now)
        return Hit(match.span(), why, values=values)
    values = named(name=name, new=now.new, version=now.least)
    edits = ((*match.span(1), now.new),)
    return Hit(match.span(), "renamed", edits=edits, safe=may_edit and knows(document, now), values=values)
