"""A comparison for people and for programs: one document, of which the text and the page are views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from porter import __version__
from porter.checklist.judge import EQUAL, MISSING, PATH, RENAMED, SILENT, UNTOLD, Comparison, Row
from porter.checklist.rules import checklist
from porter.checklist.schema import CHAPTERS
from porter.checklist.setting import Setting
from porter.checklist.side import DEFAULT, DERIVED, SAID, Fact, Side, place
from porter.files.documents import Json
from porter.files.errors import printable
from porter.report.sanitise import line
from porter.rulebook.words import speaker
from porter.terminal import wrapped

if TYPE_CHECKING:
    from porter.terminal import Line

say = speaker("checklist")

SCHEMA = 1
ROLES = ("baseline", "candidate")
_FIRST = 3  # culprits that the verdict names
_OTHERS = 12  # other keys without --all
_LEAST = 20  # the weight from which a row has lines of its own
_LONG = 60  # characters of a value
_WIDTH = 112


def document(made: Comparison, lang: str) -> Json:
    rows = [_row(row, lang) for row in made.rows]
    return {
        "schema": SCHEMA,
        "porter": __version__,
        "language": lang,
        "outcome": "difference" if made.culprits else "none" if _compared(made) else "nothing",
        "sentence": _sentence(made, lang),
        "sides": [_side(role, side, lang) for role, side in zip(ROLES, made.sides)],
        "rows": rows,
        "others": [
            {"key": key, "baseline": _plain(one), "candidate": _plain(other)} for key, one, other in made.others
        ],
        "aside": made.aside,
        "sources": _sources(made, lang),
    }


def _compared(made: Comparison) -> int:
    return sum(row.one is not None and row.other is not None for row in made.rows)


def _sentence(made: Comparison, lang: str) -> str:
    if not made.culprits:
        equal = sum(row.state in (EQUAL, RENAMED) for row in made.rows)
        return say("verdict.none", lang, equal=equal) if _compared(made) else say("verdict.nothing", lang)
    joint = "、" if lang == "zh" else ", "
    first = joint.join(_title(row.item, lang) for row in made.culprits[:_FIRST])
    return say("verdict.differ", lang, n=len(made.culprits), first=first)


def _side(role: str, side: Side, lang: str) -> Json:
    titles = {dialect["name"]: dialect["title"][lang] for dialect in checklist().dialects}
    files = [
        {
            "name": source.name,
            "kind": source.kind,
            "dialects": [titles[name] for name in source.dialects],
            "settings": len(source.settings),
        }
        for source in side.sources
    ]
    notes = [
        say(
            f"note.{key}", lang, **{**values, "item": _title(str(values["item"]), lang)} if "item" in values else values
        )
        for key, values in side.notes
    ]
    return {"role": role, "name": side.name, "files": files, "notes": notes}


def _row(row: Row, lang: str) -> Json:
    item = checklist().items[row.item]
    advice = ""
    if row.recommended:
        about, guide = item["recommended"], checklist().sources[item["evidence"][0]]["title"][lang]
        advice = say(f"recommend.{about['when']}", lang, value=about["value"], source=guide)
    return {
        "item": row.item,
        "chapter": item["chapter"],
        "title": _title(row.item, lang),
        "state": row.state,
        "matters": row.matters,
        "score": row.score,
        "baseline": _fact(row.one, lang),
        "candidate": _fact(row.other, lang),
        "changes": item["changes"][lang],
        "recommended": advice or None,
        "evidence": list(item["evidence"]),
    }


def _fact(fact: Fact | None, lang: str) -> Json | None:
    if fact is None:
        return None
    how = ""
    if fact.how == DEFAULT:
        titles = {dialect["name"]: dialect["title"][lang] for dialect in checklist().dialects}
        how = say("how.default", lang, of=titles[fact.of])
    elif fact.how == DERIVED:
        terms = " ".join(
            _title(term.rstrip("?"), lang) if term not in "*/" else "×÷"["*/".index(term)] for term in fact.of.split()
        )
        how = say("how.derived", lang, of=terms)
    setting = fact.setting
    return {
        "value": _shown(fact.shown),
        "means": _shown(fact.value),
        "how": fact.how,
        "of": how or None,
        "name": setting.name if setting else None,
        "place": place(fact) or None,
    }


def _title(item: str, lang: str) -> str:
    return str(checklist().items[item]["title"][lang])


def _sources(made: Comparison, lang: str) -> list[Json]:
    used = {name for row in made.rows for name in checklist().items[row.item]["evidence"]}
    used |= {
        name
        for dialect in checklist().dialects
        if any(
            fact and fact.how == DEFAULT and fact.of == dialect["name"]
            for row in made.rows
            for fact in (row.one, row.other)
        )
        for name in dialect["evidence"]
    }
    return [
        {"name": name, "title": source["title"][lang], "reference": source["reference"]}
        for name, source in checklist().sources.items()
        if name in used
    ]


def _plain(setting: Setting | None) -> str | None:
    return None if setting is None else _shown(setting.value)


def _shown(text: str) -> str:
    text = line(text.replace("\0", ""))
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def lines(found: Json, lang: str, everything: bool = False) -> list[Line]:
    rows: list[Line] = [[(text, "dim")] for side in found["sides"] for text in heads(side, lang)]
    style = {"difference": "bold red", "none": "bold green"}.get(found["outcome"], "bold yellow")
    rows += [[], [(say("verdict", lang), ""), (line(found["sentence"]), style)]]
    culprits, minor = parted(found)
    rows += _section(
        "culprits", [part for n, row in enumerate(culprits, 1) for part in _full(row, lang, f"{n:>3}  ")], lang
    )
    differ = [row for row in minor if row["state"] != MISSING]
    rows += _section("minor", [part for row in differ for part in _short(row, lang)], lang)
    alone = [row for row in minor if row["state"] == MISSING]
    rows += _section("alone", _alone(alone, lang), lang)
    advised = [row for row in found["rows"] if row["recommended"] and row["state"] in (EQUAL, RENAMED)]
    rows += _section("recommended", [part for row in advised for part in _advised(row)], lang)
    by_hand = [row for row in found["rows"] if row["state"] in (UNTOLD, PATH)]
    rows += _section("unknown", [part for row in by_hand for part in _short(row, lang)], lang)
    rows += _section("silent", [[("  " + text, "dim")] for text in silent(found, lang)], lang)
    if everything:
        alike = [row for row in found["rows"] if row["state"] in (EQUAL, RENAMED)]
        rows += _section("equal.all", [[(f"  {row['title']}{_values(row, lang)}", "")] for row in alike], lang)
    return rows + [[]] + _foot(found, lang, everything)


def heads(side: Json, lang: str) -> list[str]:
    texts = []
    for file in side["files"]:
        kinds = ", ".join(file["dialects"]) or say(f"kind.{file['kind']}", lang)
        values = {"name": printable(file["name"]), "kinds": kinds, "n": file["settings"]}
        texts.append(say("file", lang, role=say(side["role"], lang), **values))
    return texts


def parted(found: Json) -> tuple[list[Json], list[Json]]:
    """What matters, and what else differs or only one side says."""
    told = [row for row in found["rows"] if row["state"] in ("different", MISSING)]
    return [row for row in told if row["matters"]], [row for row in told if not row["matters"]]


def silent(found: Json, lang: str) -> list[str]:
    texts = []
    joint = "、" if lang == "zh" else ", "
    for chapter in CHAPTERS:
        for role in ROLES:
            rows = [
                r for r in found["rows"] if r["state"] == SILENT and r["chapter"] == chapter and r[role] is not None
            ]
            if rows:
                items = joint.join(f"{row['title']} {row[role]['value']}" for row in rows)
                texts.append(
                    say("silent.row", lang, chapter=say(f"chapter.{chapter}", lang), role=say(role, lang), items=items)
                )
    return texts


def equal_text(found: Json, lang: str) -> str:
    alike = [row for row in found["rows"] if row["state"] in (EQUAL, RENAMED)]
    renamed = sum(row["state"] == RENAMED for row in alike)
    default = sum(any(row[role] and row[role]["how"] == DEFAULT for role in ROLES) for row in alike)
    return say("equal", lang, n=len(alike), renamed=renamed, default=default)


def other_text(row: Json) -> str:
    sides = ["-" if row[role] is None else row[role] for role in ROLES]
    return f"{line(row['key'])}: {sides[0]} | {sides[1]}"


def _section(key: str, rows: list[Line], lang: str) -> list[Line]:
    return [[], [(say(key, lang), "bold")], *rows] if rows else []


def _full(row: Json, lang: str, lead: str) -> list[Line]:
    indent = " " * len(lead)
    texts = [row["changes"], said_where(row, lang), *([row["recommended"]] if row["recommended"] else [])]
    first: Line = [(lead, ""), (f"{row['title']}{_values(row, lang)}", "bold")]
    return [first, *([(indent + part, "")] for text in texts for part in wrapped(line(text), _WIDTH - len(indent)))]


def _short(row: Json, lang: str) -> list[Line]:
    texts = wrapped(f"{row['title']}{_values(row, lang)} - {line(row['changes'])}", _WIDTH - 4)
    return [[(("  " if not n else "    ") + text, "")] for n, text in enumerate(texts)]


def _alone(rows: list[Json], lang: str) -> list[Line]:
    """What weighs least, in one paragraph."""
    told = [part for row in rows if row["score"] >= _LEAST for part in _short(row, lang)]
    rest = ("；" if lang == "zh" else "; ").join(
        f"{row['title']}{_values(row, lang)}" for row in rows if row["score"] < _LEAST
    )
    return told + [[("  " + part, "dim")] for part in wrapped(rest, _WIDTH - 2) if rest]


def _advised(row: Json) -> list[Line]:
    return [[(f"  {row['title']} {row['baseline']['value']}; {row['recommended']}", "")]]


def _values(row: Json, lang: str) -> str:
    colon = "：" if lang == "zh" else ": "
    sides = [say("how.absent", lang) if row[role] is None else row[role]["value"] for role in ROLES]
    return f"{colon}{sides[0]} | {sides[1]}"


def said_where(row: Json, lang: str) -> str:
    return " | ".join(where(row[role], lang) for role in ROLES)


def where(fact: Json | None, lang: str) -> str:
    if fact is None:
        return say("how.absent", lang)
    if fact["how"] != SAID:
        return str(fact["of"])
    return f"{fact['name']} {printable(fact['place'])}"


def _foot(found: Json, lang: str, everything: bool) -> list[Line]:
    rows: list[Line] = [[(equal_text(found, lang), "")]]
    others: Sequence[Json] = found["others"]
    if others:
        rows.append([(say("others", lang, n=len(others)), "")])
        most = len(others) if everything else _OTHERS
        rows += [[("  " + other_text(row), "dim")] for row in others[:most]]
        if len(others) > most:
            rows.append([("  " + say("others.more", lang, n=len(others) - most), "dim")])
    if found["aside"]:
        rows.append([(say("aside", lang, n=found["aside"]), "dim")])
    return rows + [[(line(note), "dim")] for side in found["sides"] for note in side["notes"]]
