"""Finds programs that read the arguments of transformers' Trainer from their command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from porter.engine.launch import Trainers
from porter.files.paths import is_test
from porter.regex import lazy

_FIELD = lazy(rb"\n[ \t]+([a-z]\w+)[ \t]*:")
_READS = (b"HfArgumentParser", b"TrainingArguments")


def trainer_programs(texts: Mapping[str, bytes], files: Callable[[str], set[str]]) -> Trainers:
    """Files that parse TrainingArguments, and those that import one. `files`: what one imports."""
    parsing = {path for path, data in texts.items() if all(word in data for word in _READS) and not is_test(path)}
    if not parsing:
        return Trainers()
    importing = {p for p, data in texts.items() if b"train" in data and not parsing.isdisjoint(files(p))}
    names = {path.rpartition("/")[2].removesuffix(".py") for path in parsing | importing}
    fields = {field.decode() for path in parsing for field in _FIELD.findall(texts[path])}
    return Trainers(tuple(sorted(names - {"__init__"})), tuple(sorted(fields)))
