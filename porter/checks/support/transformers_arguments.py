"""`TrainingArguments(evaluation_strategy="steps")`, `from_pretrained(name, use_auth_token=True)`: transformers 5 takes no such keyword."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.checks.support.fresh_environment import is_chosen
from porter.checks.support.trainer_arguments import ARGUMENTS, Renamed, brings_the_fifth, knows, told
from porter.engine.rule import Answer, Hit, Rule, cst, named
from porter.engine.rule_file import Link, RuleFile
from porter.regex import lazy
from porter.rulebook.table import hints

if TYPE_CHECKING:
    from porter.training.scene import Scene

_ARGUMENTS = hints("training-arguments")
_OF_LOADING: dict[str, Renamed | str] = {"use_auth_token": Renamed("token", "4.31")}
_WORDS = frozenset(word.encode() for word in (*ARGUMENTS, *_OF_LOADING))
_LOADS = lazy(r"transformers\.(?:\w+\.)*\w+\.from_pretrained")


def _gives(scene: Scene, link: Link) -> bool:
    if _WORDS.isdisjoint(scene.file.source.words):
        return False
    return any(k.arg in ARGUMENTS or k.arg in _OF_LOADING for k in link[1][0].keywords)


class TransformersArguments(Rule):
    code = "PRT718"
    calls = _ARGUMENTS
    methods = {"from_pretrained"}
    only = staticmethod(_gives)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        name, link = file.name(original.func) or "", file.scene.link(original)
        known = ARGUMENTS if name in _ARGUMENTS else _OF_LOADING if _LOADS.fullmatch(name) else {}
        given = {a.keyword.value for a in original.args if a.keyword}
        if link is None or known.keys().isdisjoint(given) or is_chosen(link) or not brings_the_fifth(file):
            return None
        found = [
            (a, a.keyword.value, known[a.keyword.value])
            for a in original.args
            if a.keyword and a.keyword.value in known
        ]
        renamed = {a: (old, now) for a, old, now in found if isinstance(now, Renamed) and now.new not in given}
        safe = all(knows(file, now) for _, now in renamed.values())
        args = [
            new.with_changes(keyword=cst.ensure_type(new.keyword, cst.Name).with_changes(value=renamed[arg][1].new))
            if arg in renamed
            else new
            for new, arg in zip(updated.args, original.args, strict=True)
        ]
        call = updated.with_changes(args=args)
        return [
            Hit(a.keyword or a, "renamed", new=call, safe=safe, values=named(name=old, new=now.new, version=now.least))
            if a in renamed and isinstance(now, Renamed)
            else Hit(a, *told(old, now))
            for a, old, now in found
        ]
