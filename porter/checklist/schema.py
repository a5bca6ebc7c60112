"""rules/checklist/*.toml read and checked: items and how they are spelled, kinds of files, defaults, what follows from what."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from porter.regex import lazy
from porter.rulebook.compiled import Section
from porter.rulebook.errors import RuleError
from porter.rulebook.schema import languages
from porter.rulebook.table import Stanza
from porter.rulebook.toml_stanzas import placed

CHAPTERS = (
    "structure", "moe", "optimiser", "weights", "precision", "parallel", "data", "tokeniser", "environment", "generation",
)  # fmt: skip
VALUES = ("number", "switch", "word", "dtype", "shares", "set", "text", "table", "path", "present", "model")
WHEN = ("always", "comparing")
# stanza -> (required keys, other keys)
STANZAS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "source": (("name", "title", "reference"), ()),
    "dialect": (("name", "title", "keys", "chapters", "evidence"), ("least", "not")),
    "item": (
        ("id", "chapter", "weight", "value", "names", "title", "changes", "evidence"),
        ("same", "default", "recommended", "eased", "needs", "only", "quiet", "result", "alone", "instead"),
    ),
    "derived": (("item", "of"), ("unless",)),
    "inside": (("names",), ()),
    "aside": (("names",), ()),
}
_NAME = lazy(r"(?:([a-z]+):)?(!?)(#?)([a-z0-9_]+(?:\.[a-z0-9_]+)*)(?:\[(\d)\])?(?:(\?)?=([\w.]+))?")
_TERM = lazy(r"[a-z0-9-]+\??(?: [*/] [a-z0-9-]+\??)*")


def key_of(name: str) -> str:
    """How a key is looked for: `--hidden-size`, `hidden_size` and `Hidden_Size` are one."""
    return name.strip().lstrip("-+").lower().replace("-", "_")


def build(files: Iterable[tuple[str, bytes]]) -> dict[str, Section]:
    stanzas: dict[str, list[Stanza]] = {kind: [] for kind in STANZAS}
    for name, data in files:
        for kind, where, stanza in placed(name, data, STANZAS):
            _check(kind, where, stanza)
            stanzas[kind].append({**stanza, "where": where})
    items = {item["id"]: item for item in stanzas["item"]}
    sources = {source["name"]: source for source in stanzas["source"]}
    dialects = {dialect["name"]: dialect for dialect in stanzas["dialect"]}
    for stanza in stanzas["dialect"] + stanzas["item"]:
        _known(stanza["evidence"], sources, stanza["where"], "evidence")
        _known(stanza.get("default", ()), dialects, stanza["where"], "default")
    for item in stanzas["item"]:
        _refers(item, items)
    names: dict[str, list[tuple[Any, ...]]] = {}
    for item in stanzas["item"]:
        for text in item["names"]:
            dialect, opposite, count, key, index, implied, value = _NAME.fullmatch(text).groups()  # type: ignore[union-attr]
            if dialect and dialect not in dialects:
                raise RuleError(f"{item['where']}: {text!r} names no dialect")
            row = (item["id"], dialect or "", bool(opposite), bool(count), index and int(index), bool(implied), value)
            names.setdefault(key, []).append(row)
    for stanza in stanzas["derived"]:
        names_of = re.findall(r"[a-z][a-z0-9-]*", f"{stanza['of']} {stanza.get('unless', '').partition('=')[0]}")
        _known([stanza["item"], *names_of], items, stanza["where"], "of")
    plain = {kind: [{k: v for k, v in s.items() if k != "where"} for s in rows] for kind, rows in stanzas.items()}
    return {
        "checklist": {
            "items": {item["id"]: item for item in plain["item"]},
            "sources": {source["name"]: source for source in plain["source"]},
            "dialects": plain["dialect"],
            "names": names,
            "derived": [(d["item"], d["of"].split(" "), d.get("unless", "")) for d in plain["derived"]],
            "inside": sorted({name for stanza in plain["inside"] for name in stanza["names"]}),
            "aside": "|".join(name for stanza in plain["aside"] for name in stanza["names"]),
        }
    }


def _check(kind: str, where: str, stanza: Stanza) -> None:
    required, more = STANZAS[kind]
    for key in required:
        if key not in stanza:
            raise RuleError(f"{where}: {key!r} is missing")
    for key, value in stanza.items():
        if key not in required + more:
            raise RuleError(f"{where}: unknown key {key!r}; known: {', '.join(required + more)}")
        if key in ("title", "changes") and (wrong := languages(value)):
            raise RuleError(f"{where}: {key} {wrong}")
    if kind == "item":
        _item(where, stanza)
    if kind == "dialect":
        _known(stanza["chapters"], CHAPTERS, where, "chapters")
    if kind == "derived" and not _TERM.fullmatch(stanza["of"]):
        raise RuleError(f"{where}: 'of' is not items with * and / between them")
    if kind == "aside":
        for name in stanza["names"]:
            try:
                re.compile(name)
            except re.error as error:
                raise RuleError(f"{where}: {name!r} is no regular expression: {error}") from None


def _item(where: str, item: Stanza) -> None:
    _known([item["chapter"]], CHAPTERS, where, "chapter")
    _known([item["value"]], VALUES, where, "value")
    if type(item["weight"]) is not int or not 0 <= item["weight"] <= 100:
        raise RuleError(f"{where}: 'weight' is a number from 0 to 100")
    for name in item["names"]:
        if not _NAME.fullmatch(name):
            raise RuleError(
                f"{where}: {name!r} is no name such as hidden_size, megatron:load, !no_x, bf16=bfloat16, x[0]"
            )
    if "recommended" in item and (
        not isinstance(item["recommended"].get("value"), str) or item["recommended"].get("when") not in WHEN
    ):
        raise RuleError(f"{where}: 'recommended' has a value, and when: {', '.join(WHEN)}")


def _refers(item: Stanza, items: dict[str, Stanza]) -> None:
    others = [value[1:] for value in item.get("default", {}).values() if value.startswith("@")]
    others += item.get("instead", [])
    others += item["eased"]["by"] if "eased" in item else []
    others += [item["needs"]] if "needs" in item else []
    others += [item["only"].partition("=")[0]] if "only" in item else []
    _known(others, items, item["where"], "another item")


def _known(names: Iterable[str], known: Iterable[str], where: str, what: str) -> None:
    for name in names:
        if name not in known:
            raise RuleError(f"{where}: {what}: {name!r} is not known")
