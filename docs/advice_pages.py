"""docs/advice.md, written from rules/advice: `python docs/advice_pages.py`."""

from __future__ import annotations

from pathlib import Path

from porter.advice import load
from porter.advice.schema import CHAPTERS
from porter.rulebook.words import words


def document(lang: str = "en") -> str:
    say = words("advice", lang).__getitem__
    index, rows = load.index(), {row["id"]: row for row in load.advice()["advice"]}
    lines = [f"# {say('title')}", "", say("lead"), ""]
    for guide in index["guide"]:
        lines += [f"## {_source(guide, lang)}", ""]
        lines += [f"| {say('guide')} | | {say('answer')} |", "|---|---|---|"]
        for entry in index["entry"]:
            if entry["guide"] == guide["name"]:
                lines.append(_line(entry, lang, say))
        lines.append("")
    lines += [f"## {say('advice')}", "", say("grades"), ""]
    sources = {source["name"]: source for source in load.advice()["source"]}
    for chapter in CHAPTERS:
        lines += [f"### {say(chapter)}", "", f"| id | | {say('known')} | {say('grade')} |", "|---|---|---|---|"]
        for row in sorted(rows.values(), key=lambda row: (-row["priority"], row["id"])):
            if row["chapter"] == chapter:
                known = "; ".join(_source(sources[name], lang) for name in row["evidence"])
                title = row["title"][lang].replace("{value}", "…").replace("|", chr(92) + "|")
                lines.append(f'| <a id="{row["id"]}"></a>{row["id"]} | {title} | {known} | {row["grade"]} |')
        lines.append("")
    return "\n".join(lines)


def _line(entry: dict, lang: str, say) -> str:
    strong = "**" if entry["kind"] == "heading" else ""
    if "none" in entry:
        answer = f"{say('not')}{say('colon')}{entry['none'][lang]}"
    else:
        answer = say("comma").join(_answer(name, say) for name in entry["answer"])
    return f"| {strong}{entry['text'][lang]}{strong} | {say(entry['kind'])} | {answer} |"


def _answer(text: str, say) -> str:
    kind, colon, name = text.partition(":")
    if not colon:
        return f"`{text}`"
    return f"[{name}](#{name})" if kind == "advice" else say(kind).format(name=name)


def _source(source: dict, lang: str) -> str:
    title = source["title"][lang]
    return f"[{title}]({source['reference']})" if "reference" in source else title


if __name__ == "__main__":
    for name, lang in (("advice.md", "en"), ("advice.zh.md", "zh")):
        Path(__file__).with_name(name).write_text(document(lang), encoding="utf-8", newline="\n")
