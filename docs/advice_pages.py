"""docs/advice.md, written from rules/advice: `python docs/advice_pages.py`."""

from __future__ import annotations

from pathlib import Path

from porter.advice import load
from porter.advice.schema import CHAPTERS

WORDS = {
    "title": ("What the migration guides say, and where porter says it", "迁移指南的内容，以及 porter 在何处给出"),
    "lead": (
        (
            "Written from rules/advice by `python docs/advice_pages.py`. The guides are Ascend's and MindSpore's "
            "own; each of their headings, rows of tables and points stands here in our words. What does not carry over "
            "to PyTorch says why."
        ),
        (
            "由 `python docs/advice_pages.py` 依据 rules/advice 生成。指南来自昇腾与 MindSpore 官方，其中的标题、表格行和要点"
            "均以我们自己的表述列出；不适用于 PyTorch 的内容注明原因。"
        ),
    ),
    "guide": ("What the guide says", "指南内容"),
    "answer": ("Where porter says it", "porter 在何处给出"),
    "heading": ("heading", "标题"),
    "row": ("row", "表格行"),
    "point": ("point", "要点"),
    "not": ("not applicable", "不适用"),
    "advice": ("The advice", "建议列表"),
    "precision": ("Precision", "精度"),
    "performance": ("Performance", "性能"),
    "known": ("Known from", "依据"),
    "grade": ("grade", "等级"),
    "grades": (
        "Grades: V, the vendor's sources or documents say so; E, seen in public work; I, inferred, shown as a hint.",
        "等级：V 表示官方源码或文档；E 表示公开工作中见到；I 表示推断，仅作提示。",
    ),
    "command": ("`porter {name}`", "`porter {name}`"),
    "step": ("plan, step `{name}`", "迁移步骤 `{name}`"),
    "env": ("`porter env`: `{name}`", "`porter env`：`{name}`"),
    "diagnose": ("`porter diagnose`: {name}", "`porter diagnose`：{name}"),
    "colon": (": ", "："),
    "comma": (", ", "、"),
}


def document(lang: str = "en") -> str:
    def say(key: str) -> str:
        return WORDS[key][lang == "zh"]

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
