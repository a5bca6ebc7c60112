"""The rule table of README.md, written from rules/*.toml: `python -m porter.rulebook.explained README.md` renews it."""

from __future__ import annotations

from porter.rulebook.texts import Texts

OFF = {"en": " (off by default)", "zh": "（默认关闭）"}
START, END = "<!-- rules:start -->", "<!-- rules:end -->"


def rule_table(texts: Texts, lang: str = "en") -> str:
    """One line for each code: severities that its messages can have, worst first."""
    from porter.finding import SEVERITIES

    lines = ["| code | name | severity | finds |", "|---|---|---|---|"]
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


def main(path: str) -> None:
    with open(path, encoding="utf-8", newline="") as file:
        before = file.read()
    after = renew(before, rule_table(Texts()))
    if after != before:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(after)


if __name__ == "__main__":
    import sys

    main(sys.argv[1])
