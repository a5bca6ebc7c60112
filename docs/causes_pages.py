"""docs/causes.md, written from rules/diagnose.toml: `python docs/causes_pages.py`."""

from __future__ import annotations

from pathlib import Path

from porter.rulebook.texts import Texts
from porter.rulebook.words import speaker

say = speaker("diagnose")
HEADS = {"cause": "page.cause", "effect": "page.effect", "hint": "page.hint"}


def document(lang: str = "en") -> str:
    lines = [f"# {say('page.title', lang)}", "", say("page.lead", lang), ""]
    causes = Texts().named("causes").values()
    colon = {"en": ": ", "zh": "："}[lang]
    for kind in HEADS:
        lines += [f"## {say(HEADS[kind], lang)}", ""]
        for cause in sorted((cause for cause in causes if cause["kind"] == kind), key=lambda cause: cause["name"]):
            known = f"{cause['evidence']} ({say('page.grade', lang, grade=cause['grade'])})"
            lines += [f'### <a id="{cause["name"]}"></a>{cause["title"][lang]}', "", cause["why"][lang], ""]
            lines += [
                f"- {say('page.do', lang)}{colon}{cause['cure'][lang]}",
                f"- {say('page.known', lang)}{colon}{known}",
                "",
            ]
    return "\n".join(lines)


if __name__ == "__main__":
    for name, lang in (("causes.md", "en"), ("causes.zh.md", "zh")):
        Path(__file__).with_name(name).write_text(document(lang), encoding="utf-8", newline="\n")
