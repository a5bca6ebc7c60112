"""What rules/*.toml says of a rule, as lines of a terminal: its head, its prose, its examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from porter.rulebook.words import speaker
from porter.terminal import STYLES, Line, columns, reflowed, wrapped

say = speaker("report")

if TYPE_CHECKING:
    from porter.rulebook.texts import RuleText


class Page(NamedTuple):
    lang: str
    width: int

    def head(self, rule: RuleText, severity: str, effort: str) -> list[Line]:
        weight = say("explain.severity", self.lang, severity=say(severity, self.lang), effort=say(effort, self.lang))
        title = f": {rule.title[self.lang]}"
        return [[(f"{rule.code} {rule.slug}", "bold"), (title, "")], [(weight, STYLES[severity])], []]

    def prose(self, text: str) -> list[Line]:
        return [[(line, "")] for line in reflowed(text, self.width)]

    def message(self, message: dict[str, str], details: dict[str, str]) -> list[Line]:
        texts = (message.get(self.lang, ""), details.get(self.lang, ""))
        return [row for text in texts if text for row in self.prose(text)]

    def code(self, key: str, text: str) -> list[Line]:
        rows: list[Line] = [[(f"    {line}", "")] for line in text.strip("\n").splitlines()]
        return [[], [(say(key, self.lang), "bold")], *rows] if text else []

    def messages(self, rule: RuleText) -> list[Line]:
        """Where there are several. A kernel and what replaces it are a row of a table, below."""
        spare = {"known", *rule.cures} if rule.cures else set()
        texts = [
            (text[self.lang], rule.details.get(key, {}).get(self.lang, ""))
            for key, text in sorted(rule.messages.items())
            if key not in spare
        ]
        rows: list[Line] = []
        if len(rule.messages) > 1:
            rows += [[], [(say("explain.messages", self.lang), "bold")]]
        for text, details in dict.fromkeys(texts) if rows else ():  # rows may share their words
            first, *others = wrapped(text, self.width - 4)
            others += wrapped(details, self.width - 4) if details else []
            rows += [[(f"  {first}", "")], *([(f"    {line}", "")] for line in others)]
        return rows + self._cures(rule)

    def _cures(self, rule: RuleText) -> list[Line]:
        if not rule.cures:
            return []
        rows: list[Line] = [[], [(say("explain.cures", self.lang), "bold")]]
        wide = max(map(columns, rule.cures))
        for name, cure in sorted(rule.cures.items()):
            parts = cure[self.lang].split("\n")  # the cure, and what more there is to know
            for n, line in enumerate(line for part in parts for line in wrapped(part, self.width - wide - 4)):
                rows.append([(f"  {'' if n else name:<{wide}}  ", "bold"), (line, "")])
        return rows

    def foot(self, code: str, reference: str, known: tuple[str, str] = ("", "")) -> list[Line]:
        rows: list[Line] = [[]]
        if all(known):
            grade, evidence = known
            rows.append([(say("explain.grade", self.lang, grade=grade, evidence=evidence), "")])
        if reference:
            rows.append([(say("explain.reference", self.lang, text=reference), "")])
        return [*rows, [(say("explain.suppress", self.lang, code=code), "dim")]]
