"""Which lines say what: the patterns of rules/diagnose.toml and the symptoms of all rules, found by letters first."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from porter.files.documents import Json
from porter.regex import lazy
from porter.rulebook.log_patterns import LEAST, needle

if TYPE_CHECKING:
    from porter.rulebook.table import Package
    from porter.rulebook.texts import Texts

_WORD = lazy(r"E[A-Z]\d{4}|[A-Za-z_]{4,}|\d{6}")
_LETTER = lazy(r"[A-Za-z_0-9]")
_ALTERNATIVES = lazy(r";\s+or[:,]?\s+|;\s+|,\s+or\s+(?=[A-Z])")
_HEAD = lazy(r"^(?:[A-Za-z_][\w.]*)?(?:Error|Exception|Warning|Exit): ")
_GAP = lazy(r"\.\.\.|\bN\b|\{[a-z_]+\}")
# a message without one of these may be anybody's: it counts only where the repository has the finding
_OWN = lazy(
    r"cuda|npu|nccl|hccl|\bnv|nvidia|ascend|torch\.|apex|amp_C|flash|xformers"
    r"|triton|cudnn|deepspeed|_C'|gpu\b|process group",
    re.IGNORECASE,
)
_ERROR_LIKE = lazy(r"\b\w*(?:Error|Warning|Exception)\b|\b(?:ERR|E[A-Z])\d{4,5}\b|[a-z_]+\(\)")


class Meaning(NamedTuple):
    """What a line that holds `needle` and fits `pattern` stands for."""

    needle: str
    pattern: re.Pattern[str]
    cause: str  # name of a [[cause]], or ""
    code: str  # of the rule whose symptom it is, or ""
    is_of_port: bool  # nobody but a port in progress writes it
    spoken: bool = False  # words of people, which no program writes
    package: str = ""  # that is not there


class Matcher:
    """A line has twenty words and there are four hundred needles: they are looked up by a word that they hold."""

    def __init__(self, meanings: list[Meaning]) -> None:
        self._by_word: dict[str, list[Meaning]] = {}
        self._by_needle: dict[str, list[Meaning]] = {}
        for meaning in meanings:
            word = _word(meaning)
            if word:
                self._by_word.setdefault(word, []).append(meaning)
            else:
                self._by_needle.setdefault(meaning.needle, []).append(meaning)

    def meanings(self, text: str) -> list[Meaning]:
        known = self._by_word
        near = [row for word in dict.fromkeys(_WORD.findall(text)) if word in known for row in known[word]]
        near += [row for needle, rows in self._by_needle.items() if needle in text for row in rows]
        return [row for row in near if row.needle in text and row.pattern.search(text)] if near else near


class Matchers(NamedTuple):
    """Of one list of meanings: made once for as many logs as are read."""

    of_programs: Matcher
    of_people: Matcher  # what is said about a program


def matchers(meanings: Collection[Meaning]) -> Matchers:
    return Matchers(
        Matcher([meaning for meaning in meanings if not meaning.spoken]),
        Matcher([meaning for meaning in meanings if meaning.spoken]),
    )


def _word(meaning: Meaning) -> str:
    """A word of the needle that is a word of the line as well: one with its edges inside of the needle."""
    needle, pattern = meaning.needle, meaning.pattern.pattern
    whole = pattern.startswith(r"\b") and pattern.endswith(r"\b") or needle.isdigit()
    word = ""
    for match in _WORD.finditer(needle):
        start, end = match.span()
        inside = start > 0 and end < len(needle)
        apart = not _LETTER.match(needle[start - 1 : start]) and not _LETTER.match(needle[end : end + 1])
        if (inside or whole) and apart and len(match[0]) > len(word):
            word = match[0]
    return word


def meanings_of(texts: Texts, packages: dict[str, Package]) -> list[Meaning]:
    """All that a line of a log may mean."""
    causes = texts.named("causes").values()
    return [*of_causes(causes), *of_packages(causes, packages), *of_symptoms(texts)]


def of_causes(causes: Collection[Json]) -> list[Meaning]:
    meanings = []
    for cause in causes:
        for line in cause.get("lines", ()):
            meanings.append(Meaning(needle(line), re.compile(line), cause["name"], "", True))
        for number in cause.get("numbers", ()):
            pattern = re.compile(
                rf"(?:code|Code|errno|result|failed|reason|ret)\W{{0,3}}(?:is )?\W{{0,2}}(?<!\d){number}(?!\d)"
            )
            meanings.append(Meaning(str(number), pattern, cause["name"], "", True))
    return meanings


def of_packages(causes: Collection[Json], packages: dict[str, Package]) -> list[Meaning]:
    """Packages that only run on GPUs and are not there: of those that no cause speaks of itself."""
    name = next(cause["name"] for cause in causes if "packages" in cause)
    known = of_causes(causes)
    meanings = []
    for package, row in sorted(packages.items()):
        line = f"No module named '{package}"
        if row.status in ("replace", "none") and not any(meaning.pattern.search(f"{line}'") for meaning in known):
            meanings.append(Meaning(line, re.compile(re.escape(line) + "['.]"), name, "", True, package=package))
    return meanings


def of_symptoms(texts: Texts) -> list[Meaning]:
    """Every alternative of every rule's symptom: "A: ...; or B: ..." are two."""
    meanings: dict[tuple[str, str], Meaning] = {}
    for code in texts.codes():
        rule = texts.rule(code)
        for text in dict.fromkeys(
            [rule.symptom, *(texts.about(code, why, "symptom") for why in sorted(rule.messages))]
        ):
            for part in alternatives(text):
                meaning = _meaning(part, code)
                if meaning:
                    meanings.setdefault((meaning.pattern.pattern, code), meaning)
    return list(meanings.values())


def alternatives(symptom: str) -> list[str]:
    return [part.strip(" .") for part in _ALTERNATIVES.split(symptom or "") if part.strip(" .")]


def _meaning(text: str, code: str) -> Meaning | None:
    spoken = not _ERROR_LIKE.search(text) and not _OWN.search(text)
    bare = _HEAD.sub("", text)
    pieces = [piece.strip() for piece in _GAP.split(bare)]
    pieces = [piece for piece in pieces if piece]
    longest = max(pieces, key=len, default="")
    if len(longest) < LEAST:
        return None
    pattern = r".{0,200}".join(re.escape(piece) for piece in pieces)
    return Meaning(longest, re.compile(pattern), "", code, bool(_OWN.search(bare)), spoken)
