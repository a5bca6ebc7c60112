"""The tables of docs/rules*.md, written from rules/*.toml: `tests/checks/test_rules.py -k page_of_rules --accept` renews them."""

from __future__ import annotations

from porter.commands.explain import OFF
from porter.finding import SEVERITIES
from porter.rulebook.texts import Texts

START, END = "<!-- rules:start -->", "<!-- rules:end -->"


TITLES = {"en": "| code | name | severity | finds |", "zh": "| 编号 | 名称 | 严重程度 | 查找 |"}


def rule_table(texts: Texts, lang: str) -> str:
    """One line for each code: severities that its messages can have, worst first."""
    lines = [TITLES[lang], "|---|---|---|---|"]
    for code in texts.codes():
        rule = texts.rule(code)
        severities = {texts.severity(code, why) for why in rule.messages}
        worst_first = ", ".join(severity for severity in SEVERITIES if severity in severities)
        title = rule.title[lang].replace("|", chr(92) + "|") + (OFF[lang] if rule.default == "off" else "")
        lines.append(f"| {code} | {rule.slug} | {worst_first} | {title} |")
    return "\n".join(lines)


def renew(document: str, table: str) -> str:
    """`document` with `table` between its markers."""
    head, start, rest = document.partition(START)
    _, end, tail = rest.partition(END)
    if not start or not end:
        raise ValueError(f"no {START} followed by {END}")
    return f"{head}{START}\n\n{table}\n\n{END}{tail}"
