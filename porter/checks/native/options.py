"""Which [[option]] of rules/*.toml an argument or an entry of a mapping is, and what porter says and writes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from porter.checks.native.attention_choices import other_works
from porter.checks.native.flash_flags import is_behind_flag, is_taken_where_there
from porter.engine.facts import Lists, OwnCode
from porter.engine.nodes import last_word
from porter.engine.rule import Hit, cst
from porter.engine.rule_file import RuleFile
from porter.rulebook.table import Option

_COMPUTED = "..."  # stands for every value that is no constant
_CONSTANTS = frozenset({"True", "False", "None"})
_TRANSFORMERS = ("transformers.", "trl.", "peft.", "unsloth.", "sentence_transformers.", "optimum.")


def row_of(
    options: Mapping[str, Iterable[Option]],
    word: str,
    value: cst.BaseExpression,
    file: RuleFile,
    func: cst.BaseExpression | None = None,
) -> Option | None:
    """`word`: the name of the argument, or the key; `func`: what is called, where it is an argument of a call.

    Where the value names an attention that the project has itself, nothing is written: `why` is "own".
    """
    if isinstance(value, cst.IfExp):  # one of two values: said of the one that is for GPUs, and nothing is written
        rows = (row_of(options, word, way, file, func) for way in (value.body, value.orelse))
        chosen = next(filter(None, rows), None)
        if "flash" in file.text(value.body) and is_taken_where_there(value, file):
            return None
        return chosen and chosen._replace(to=None)
    spelled = f"'{value.raw_value}'" if isinstance(value, cst.SimpleString) else file.text(value)
    for row in options[word]:
        if (spelled in row.values or _COMPUTED in row.values and _is_computed(value)) and (
            not row.calls or func is not None and _calls(func, row.calls, file)
        ):
            if row.to is None and "flash" in spelled and is_behind_flag(file):
                return None
            theirs = func is not None and (file.name(func) or "").startswith(_TRANSFORMERS)
            own = file.facts.own.attends(word, file.path) and not theirs
            if own:
                return row._replace(to=None, why="own")
            return as_asked(row, file.facts.lists, file.path)
    return None


def _is_computed(value: cst.BaseExpression) -> bool:
    """`args.load_in_4bit`, `bits == 4`: not True, 4 or "4"."""
    constant = isinstance(value, (cst.SimpleString, cst.BaseNumber)) or getattr(value, "value", "") in _CONSTANTS
    return not constant


def as_asked(row: Option, lists: Lists, path: str) -> Option | None:
    """What there is to say of a value that waits for a version of its package, by what the project asks to have installed."""
    if row.met is None:
        return row
    if row.unmet and lists.below(row.met, path):
        return row._replace(why=row.unmet, severity="", effort="")
    return None if lists.has_least(row.met, path, frozen=True) else row


def of_setting(row: Option, key: str, own: OwnCode, lists: Lists, path: str) -> tuple[Option | None, dict[str, str]]:
    """The same of a key in a settings file, and what its message names besides."""
    if place := own.attends(key, path):
        return row._replace(to=None, why="own", severity="wrong"), {"place": place}
    asked = as_asked(row, lists, path)
    return asked, {} if asked is None or asked is row else {"asked": lists.below(asked.met or "", path)}


def _calls(func: cst.BaseExpression, calls: tuple[str, ...], file: RuleFile) -> bool:
    callee = last_word(func)
    return callee in calls or file.name(func) in calls


def hits_of(matches: Iterable[tuple[Any, Option, str]], new: cst.CSTNode | None, file: RuleFile) -> Iterator[Hit]:
    for node, row, word in matches:
        old = "" if _COMPUTED in row.values else file.text(node.value)  # whatever it is, the sentence is the same
        values: tuple[tuple[str, str], ...] = (("name", word), ("old", old), ("new", row.to or ""))
        if row.met and row.why == row.unmet:
            values = (*values, ("asked", file.facts.lists.below(row.met, file.path)))
        if row.why == "own":
            values = (*values, ("place", file.facts.own.attends(word, file.path)))
        one_of_two = isinstance(node.value, cst.IfExp)
        chosen = "flash" in values[1][1] + word and (
            one_of_two or other_works(file.scene.link_to(file.statement), file)
        )
        severity = "note" if chosen else None
        yield Hit(node, row.why, new=new if row.to else None, values=values, code=row.code, severity=severity)


def flag(call: cst.Call) -> str | None:
    """`optim` of `add_argument("--optim", default="adamw_8bit")`."""
    func = call.func
    if not call.args or not isinstance(func, cst.Attribute) or func.attr.value != "add_argument":
        return None
    texts = (getattr(a.value, "raw_value", "") for a in call.args if a.keyword is None)
    return next((t.lstrip("-").replace("-", "_") for t in texts if t.startswith("--")), None)


def written(old: cst.BaseExpression, new: str) -> cst.BaseExpression:
    """The new value, a string in the author's quotes."""
    if isinstance(old, cst.SimpleString) and new.startswith("'"):
        new = f"{old.prefix}{old.quote}{new[1:-1]}{old.quote}"
    return cst.parse_expression(new)
