"""Pages of `porter explain` for what is no API: variables of the NPU side, advice, and error codes of logs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from porter.regex import lazy
from porter.rulebook.words import speaker
from porter.terminal import Line

if TYPE_CHECKING:
    from porter.report.rule_page import Page
    from porter.rulebook.texts import Texts

say = speaker("report")
_PLACEHOLDER = lazy(r"\{\w+\}")
_ERROR_CODE = lazy(r"E[A-Z]\d{4}|ERR\d{5}|\d{6}")  # of CANN and HCCL, of torch_npu, and what their functions return


def other_page(name: str, texts: Texts, page: Page) -> list[Line]:
    """Nothing where the name is none of these."""
    if rows := _variable(name, texts, page):
        return rows
    if _ERROR_CODE.fullmatch(name.upper()):
        return _error_code(name.upper(), texts, page)
    return _advice(name.lower(), page)


def _variable(name: str, texts: Texts, page: Page) -> list[Line]:
    """What rules/npu_variables.toml says of it; of others, which variables of the GPU side become this one."""
    lang, row, export = page.lang, texts.npu.variable(name), texts.named("exports").get(name)
    others = [other for other in texts.apis() if texts.npu.becomes(other) == name]
    if row is None and not others:
        return []
    rows: list[Line] = [[(name, "bold"), ("  ", ""), (say("explain.npu_variable", lang), "")]]
    if row is not None and "value" in row:
        rows.append([(say("explain.unset", lang, value=row["value"]), "")])
    rows += page.prose(row["text"][lang]) if row is not None else []
    if export is not None:
        rows += [[], [(say("explain.export", lang, name=name, value=export["value"]), "")]]
    if others:
        rows += [[], [(say("explain.from", lang, names=", ".join(others)), "")]]
    if row is not None:
        rows += [[], [(say("explain.grade", lang, grade=row["grade"], evidence=row["evidence"]), "dim")]]
    return rows


def _error_code(code: str, texts: Texts, page: Page) -> list[Line]:
    """The causes that `porter diagnose` sees in a line with this code."""
    lang, rows = page.lang, list[Line]()
    for cause in texts.named("causes").values():
        if not _names(cause, code):
            continue
        rows += [[], [(f"{code}  ", "bold"), (cause["title"][lang], "bold")], *page.prose(cause["why"][lang])]
        rows += [[], [(say("explain.steps", lang), "bold")], *page.prose(cause["cure"][lang])]
        if codes := ", ".join(cause.get("codes", ())):
            rows += [[], [(say("explain.cause_rules", lang, codes=codes), "")]]
        rows += [[], [(say("explain.cause", lang, name=cause["name"], evidence=cause["evidence"]), "dim")]]
    return rows[1:]


def _names(cause: dict[str, Any], code: str) -> bool:
    if code.isdigit():
        return int(code) in cause.get("numbers", ())
    return any(re.search(line, f"{code}: ") for line in cause.get("lines", ()))


def _advice(name: str, page: Page) -> list[Line]:
    from porter.advice import load

    lang, stanzas = page.lang, load.advice()
    row = next((row for row in stanzas["advice"] if row["id"] == name), None)
    if row is None:
        return []
    sources = {source["name"]: source for source in stanzas["source"]}
    title, text = (row[key][lang].replace("{value}", "…") for key in ("title", "text"))  # no program calls for it here
    chapter = say(f"explain.advice.{row['chapter']}", lang)
    rows: list[Line] = [[(row["id"], "bold"), (f": {title}", "")], [(chapter, "dim")], [], *page.prose(text)]
    if "soc" in row:
        rows += [[], [(say("explain.advice.socs", lang, socs=", ".join(row["soc"])), "")]]
    snippet = row.get("snippet", "")
    rows += page.code("explain.example", _PLACEHOLDER.sub("…", snippet) if "computed" in row else snippet)
    if see := ", ".join(row.get("see", ())):
        rows += [[], [(say("explain.cause_rules", lang, codes=see), "")]]
    evidence = ("；" if lang == "zh" else "; ").join(sources[source]["title"][lang] for source in row["evidence"])
    return [*rows, [], [(say("explain.grade", lang, grade=row["grade"], evidence=evidence), "dim")]]
