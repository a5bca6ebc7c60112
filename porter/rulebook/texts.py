"""What porter says about findings, rules, APIs, variables and packages, in every language, from rules/*.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from porter.finding import Finding
from porter.regex import lazy
from porter.rulebook import table
from porter.rulebook.table import Variable
from porter.rulebook.words import words
from porter.target import Target

_PLACEHOLDER = lazy(r"\{([a-z_]+)\}")
DEFAULT = Target()
# which value of a message names what it is about
_SUBJECTS = ("name", "names", "old", "kernel", "option", "image", "tool", "what")
Languages = dict[str, str]


class Sources(NamedTuple):
    """Where a statement comes from."""

    reference: str
    known: tuple[str, str]  # grade and evidence


class RuleText(NamedTuple):
    code: str
    slug: str
    severity: str
    effort: str
    title: Languages
    explain: Languages
    symptom: str
    before: str
    after: str
    by_hand: str
    messages: dict[str, Languages]
    details: dict[str, Languages]  # what more there is to say of some of them
    default: str  # on | off
    cures: dict[str, Languages]  # what replaces a CUDA kernel, where the messages say that
    sources: Sources


class ApiText(NamedTuple):
    """What becomes of one API, or of one environment variable."""

    name: str
    code: str
    to: str | None  # as the target spells it; None where there is no counterpart
    status: str  # auto | review | manual
    severity: str
    effort: str
    message: Languages
    details: Languages  # "" where the message says all
    symptom: str
    reference: str
    before: str  # one line of example, "" where there is none
    after: str
    stays: bool  # works on NPUs as it is
    known: tuple[str, str] = ("", "")  # grade and evidence, of the message or of its rule


class PackageText(NamedTuple):
    """One package that is imported."""

    name: str
    row: table.Package
    message: Languages  # empty where no finding speaks of its imports
    details: Languages
    symptom: str
    reference: str


class NpuTexts:
    """What is known of the side of the NPU: limits of APIs, variables that are read there, steps of plugins."""

    def __init__(self, prose: dict[str, Any], moved: Mapping[str, Variable]) -> None:
        self._prose, self._moved = prose, moved

    def becomes(self, variable: str) -> str | None:
        """What an environment variable of the GPU side becomes."""
        row = self._moved.get(variable)
        return row.to if row else None

    def limits(self, name: str) -> list[dict[str, Any]]:
        """What rules/limits.toml says of an API."""
        rows: list[dict[str, Any]] = self._prose["limits"].get(name, [])
        return rows

    def limited(self) -> list[str]:
        """The APIs that it speaks of."""
        return sorted(self._prose["limits"])

    def variable(self, name: str) -> dict[str, Any] | None:
        """What rules/npu_variables.toml says of a variable that torch_npu, HCCL or CANN reads."""
        row: dict[str, Any] | None = self._prose["npu_variables"].get(name)
        return row

    def variables(self) -> list[str]:
        return sorted(self._prose["npu_variables"])

    def steps(self, package: str) -> Languages:
        """What it takes to use a package that needs a plugin; empty where its message says that."""
        steps: Languages = self._prose["steps_of"].get(package, {})
        return steps


class Texts:
    def __init__(self, directory: Path | None = None) -> None:
        self._tables = table.load(directory)
        self._prose = table.prose(directory)
        self._codes = sorted(self._tables.rules)
        self._by_slug = {rule["slug"]: code for code, rule in self._tables.rules.items()}

    def codes(self) -> list[str]:
        return self._codes

    def rule(self, code: str) -> RuleText:
        """Of a code or a slug; KeyError for neither."""
        code = self._by_slug.get(code.lower(), code.upper())
        rule, prose = self._tables.rules[code], self._prose["rules"][code]
        title, explain = prose["title"], prose["explain"]
        explain = {lang: text.strip() for lang, text in explain.items()}
        symptom, reference = prose["symptom"] or "", prose["reference"] or ""
        before, after, by_hand = (prose[key] or "" for key in ("before", "after", "by_hand"))
        unsaid = {row.why for row in self._tables.moves.values() if row.code == code and row.stays}
        return RuleText(
            code,
            rule["slug"],
            rule["severity"],
            rule["effort"],
            title,
            explain,
            symptom,
            before,
            after,
            by_hand,
            {why: _half(text, 0) for why, text in prose["messages"].items() if why not in unsaid},
            {why: more for why, text in prose["messages"].items() if any((more := _half(text, 1)).values())},
            rule["default"],
            self._cures(prose["messages"]),
            Sources(reference, prose["known"]),
        )

    def _cures(self, messages: dict[str, Languages]) -> dict[str, Languages]:
        """The messages of well-known kernels are one text with a cure in it: the cures, by the kernel's name."""
        known = messages.get("known", {})
        if not all("{cure}" in text for text in known.values()):
            return {}
        around = {lang: text.partition("{cure}") for lang, text in known.items()}
        return {
            kernel.why: {
                lang: messages[kernel.why][lang].removeprefix(a).removesuffix(b) for lang, (a, _, b) in around.items()
            }
            for kernel in self._tables.kernels
            if known
        }

    def message(self, finding: Finding, lang: str = "en", alone: bool = True) -> str:
        """`alone`: with what holds at this place and at no other of its cause."""
        messages = self._prose["rules"][finding.code]["messages"]
        values = dict(finding.values)
        more = (text for key, text in words("rulebook", lang).items() if key in values) if alone else ()
        text = _cut(messages[finding.why][lang])[0] + "".join(more)
        return fill(text, values, f"{finding.code} {finding.why}", strict=False)

    def details(self, finding: Finding, lang: str = "en") -> str:
        """What more there is to know than the message says; "" where that is all."""
        text = _cut(self._prose["rules"][finding.code]["messages"][finding.why][lang])[1]
        return fill(text, dict(finding.values), f"{finding.code} {finding.why}", strict=False)

    def symptom(self, finding: Finding) -> str:
        """What a user would see at run time; "" where nothing would be seen."""
        if finding.severity == "note" != self.severity(finding.code, finding.why):
            return ""  # at this place the program has another way
        return self.about(finding.code, finding.why, "symptom")

    def subject(self, finding: Finding) -> str:
        """The package, kernel, API or variable that a finding is about; "" where its rule says all."""
        if self._tables.rules[finding.code]["quotes"]:
            return ""
        values = dict(finding.values)
        return next((values[key] for key in _SUBJECTS if values.get(key)), "")

    def severity(self, code: str, why: str) -> str:
        severity: str = self._tables.rules[code]["messages"][why][0]
        return severity

    def effort(self, code: str, why: str) -> str:
        effort: str = self._tables.rules[code]["messages"][why][1]
        return effort

    def apis(self) -> list[str]:
        return sorted([*self._tables.moves, *self._tables.variables])

    def api(self, name: str, target: Target = DEFAULT) -> ApiText | None:
        moves, variables = self._tables.moves, self._tables.variables
        row: table.Move | table.Variable
        if name in moves:
            row = moves[name]
            to = row.tail and f"{target.namespace}.{row.tail}"
        elif name in variables:
            row = variables[name]
            to = row.to
        else:
            return None
        values = {"old": name, "name": name, "new": to or "", "to": to or ""}
        texts = self._prose["rules"][row.code]["messages"][row.why]
        message = {lang: fill(text, values, name, strict=False) for lang, text in texts.items()}
        before, *after = self._prose["examples"].get(name, [""])
        status = {"safe": "auto", "review": "review", None: "manual"}[row.fix]
        about = (self.about(row.code, row.why, key) for key in ("symptom", "reference"))
        stays, known = getattr(row, "stays", False), self._known(row.code, name)
        fields = (_half(message, 0), _half(message, 1), *about, before, "".join(after), stays, known)
        return ApiText(name, row.code, to, status, row.severity, row.effort, *fields)

    def package(self, name: str) -> PackageText | None:
        """Of what is imported, or of what it is called where packages are installed from; None of what is unknown."""
        packages = self._tables.packages
        wanted = name.strip().lower()
        imported = name if name in packages else next((key for key in packages if key.lower() == wanted), None)
        imported = imported or next((key for key, row in packages.items() if wanted in row.names), None)
        if imported is None:
            return None
        row = packages[imported]
        message = self._prose["rules"][row.code]["messages"][row.why] if row.why else {}
        about = (self.about(row.code, row.why, key) if row.why else "" for key in ("symptom", "reference"))
        return PackageText(imported, row, _half(message, 0), _half(message, 1), *about)

    def named(self, section: str) -> dict[str, dict[str, Any]]:
        """The stanzas of the report and of `porter diagnose`, by name: signals, routes, steps, efforts, releases, exports,
        causes."""
        stanzas: dict[str, dict[str, Any]] = self._prose[section]
        return stanzas

    @cached_property
    def npu(self) -> NpuTexts:
        return NpuTexts(self._prose, self._tables.variables)

    def suggest(self, word: str, most: int = 3) -> list[str]:
        """The codes, slugs and APIs nearest to what somebody typed."""
        import difflib

        known = [
            *self._codes,
            *sorted(self._by_slug),
            *self.apis(),
            *sorted(self._tables.packages),
            *self.npu.variables(),
        ]
        folded: dict[str, str] = {}
        for name in known:
            folded.setdefault(name.lower(), name)
        word = word.lower().strip()
        near = difflib.get_close_matches(word, list(folded), most, 0.6)
        tail = word.rpartition(".")[2]
        same_tail = [name for name in folded if tail and name.rpartition(".")[2] == tail]
        return [folded[name] for name in dict.fromkeys([*near, *same_tail])][:most]

    def _known(self, code: str, name: str) -> tuple[str, str]:
        prose = self._prose["rules"][code]
        known: tuple[str, str] = prose["knowns"].get(name) or prose["known"]
        return known

    def about(self, code: str, why: str, key: str) -> str:
        prose = self._prose["rules"][code]
        own_text = prose[f"{key}s"].get(why)
        return (prose[key] or "") if own_text is None else own_text


def _cut(text: str) -> tuple[str, str]:
    """A message is its first line; what more there is to know follows."""
    first, _, rest = text.partition("\n")
    return first, rest.strip()


def _half(text: Languages, number: int) -> Languages:
    return {lang: _cut(words)[number] for lang, words in text.items()}


def fill(text: str, values: dict[str, str], where: str, *, strict: bool = True) -> str:
    """`text` with its {placeholders} filled. A missing value is a mistake in a rule, not in what it looked at: if not `strict`, a
    reader gets the text as it stands, and all other findings."""

    def value(match: re.Match[str]) -> str:
        if match[1] in values:
            return values[match[1]]
        if strict:
            raise LookupError(f"{where}: no value for {match[0]} in {text!r}")
        return match[0]

    return _PLACEHOLDER.sub(value, text)
