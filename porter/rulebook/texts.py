"""All that porter says about its findings, in every language, from rules/*.toml."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from porter.finding import Finding
from porter.rulebook import table
from porter.target import Target

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
DEFAULT = Target()
Languages = dict[str, str]


class RuleText(NamedTuple):
    code: str
    slug: str
    severity: str
    effort: str
    title: Languages
    explain: Languages
    symptom: str
    reference: str
    before: str
    after: str
    by_hand: str
    messages: dict[str, Languages]
    default: str  # on | off


class ApiText(NamedTuple):
    """What becomes of one API, or of one environment variable."""

    name: str
    code: str
    to: str | None  # as the target spells it; None where there is no counterpart
    status: str  # auto | review | manual
    severity: str
    effort: str
    message: Languages
    symptom: str
    reference: str
    before: str  # one line of example, "" where there is none
    after: str
    stays: bool  # works on NPUs as it is


# what is said behind a message where it is known
MORE = {
    "users": {"en": "; imported by {users}", "zh": "；导入它的文件：{users}"},
    "calls": {"en": "; called here: {calls}", "zh": "；此文件中的调用：{calls}"},
    "launches": {"en": "; launches: {launches}", "zh": "；启动处：{launches}"},
    "uses": {"en": "; uses {uses}", "zh": "；使用 {uses}"},
    "exports": {"en": "; known to Python as {exports}", "zh": "；在 Python 中的名称：{exports}"},
    "counterparts": {"en": "; there are {counterparts}", "zh": "；可替换为 {counterparts}"},
    "callers": {"en": "; the Python that stops with it: {callers}", "zh": "；随之失效的 Python：{callers}"},
    "into": {
        "en": "; operators that get it in this function: {reached} ({into})",
        "zh": "；本函数内受影响的算子：{reached} 个（{into}）",
    },
    "recompiles": {
        "en": "; {recompiles} compiles operators anew for each shape",
        "zh": "；{recompiles} 会为每个新形状重新编译算子",
    },
    "seen": {
        "en": "; seen in the verified run: {seen} shapes, new ones even after step 2",
        "zh": "；验证运行中实际出现：{seen} 种形状，第 2 步之后仍有新形状",
    },
    "loop": {"en": "; anew in each round of `{loop}`", "zh": "；`{loop}` 的每一轮都会重复"},
    "served_by": {"en": "; {served_by} calls it for every batch", "zh": "；{served_by} 对每个 batch 都会调用它"},
    "kept": {
        "en": "; not edited: this line holds a {kept} of IPython",
        "zh": "；未改动：该行含有 IPython 的 {kept} 命令",
    },
    "with_suppressed": {
        "en": "; stays as it is together with {with_suppressed}, which is suppressed",
        "zh": "；须与 {with_suppressed} 保持一致，暂不修改：后者已被注释忽略",
    },
    "with_skipped": {
        "en": "; stays as it is together with {with_skipped}, whose file is to be left alone (skip-file)",
        "zh": "；须与 {with_skipped} 保持一致，暂不修改：后者所在文件声明了 skip-file",
    },
    "with_quiet": {
        "en": "; stays as it is together with {with_quiet}, where the rule is switched off",
        "zh": "；须与 {with_quiet} 保持一致，暂不修改：后者的规则已被关闭",
    },
    "with_refused": {
        "en": "; stays as it is together with {with_refused}, which porter could not edit; see its file's findings",
        "zh": "；须与 {with_refused} 保持一致，暂不修改：porter 无法编辑后者，详见该文件的检查结果",
    },
    "with_read_only": {
        "en": "; stays as it is together with {with_read_only}, which is read-only: make it writable",
        "zh": "；须与 {with_read_only} 保持一致，暂不修改：后者是只读文件：请先改为可写",
    },
    "with_outside": {
        "en": "; stays as it is together with {with_outside}, which lies outside of the project: change both by hand",
        "zh": "；须与 {with_outside} 保持一致，暂不修改：后者位于工程之外：请手工同时修改",
    },
    "with_excluded": {
        "en": "; stays as it is together with {with_excluded}, which this run leaves out (exclude, .gitignore): name both files in one call",
        "zh": "；须与 {with_excluded} 保持一致，暂不修改：本次运行排除了后者（exclude 或 .gitignore）：请在同一次执行中指定两个文件",
    },
    "with_unnamed": {
        "en": "; stays as it is together with {with_unnamed}, which is not part of this run: name both files in one call",
        "zh": "；须与 {with_unnamed} 保持一致，暂不修改：后者不在本次运行之内：请在同一次执行中指定两个文件",
    },
    "with_manual": {
        "en": "; stays as it is together with {with_manual}, which only a person can change: change both together",
        "zh": "；须与 {with_manual} 保持一致，暂不修改：后者只能手工修改：请同时修改两处",
    },
    "with_review": {
        "en": "; to be reviewed together with {with_review}, which has the same value",
        "zh": "；须与取值相同的 {with_review} 一并复核",
    },
    # of a notebook: people count cells, and files lines
    "cell": {"en": " (cell {cell}, line {cell_line})", "zh": "（第 {cell} 个代码单元第 {cell_line} 行）"},
}


class PackageText(NamedTuple):
    """One package that is imported."""

    name: str
    row: table.Package
    message: Languages  # empty where no finding speaks of its imports
    symptom: str
    reference: str


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
        rest = (prose[key] or "" for key in ("symptom", "reference", "before", "after", "by_hand"))
        unsaid = {row.why for row in self._tables.moves.values() if row.code == code and row.stays}
        return RuleText(
            code,
            rule["slug"],
            rule["severity"],
            rule["effort"],
            title,
            explain,
            *rest,
            {why: text for why, text in prose["messages"].items() if why not in unsaid},
            rule["default"],
        )

    def message(self, finding: Finding, lang: str = "en") -> str:
        messages = self._prose["rules"][finding.code]["messages"]
        values = dict(finding.values)
        text = messages[finding.why][lang] + "".join(more[lang] for key, more in MORE.items() if key in values)
        return fill(text, values, f"{finding.code} {finding.why}")

    def symptom(self, finding: Finding) -> str:
        """What a user would see at run time; "" where nothing would be seen."""
        if finding.severity == "note" != self.severity(finding.code, finding.why):
            return ""  # at this place the program has another way
        return self.about(finding.code, finding.why, "symptom")

    def reference(self, finding: Finding) -> str:
        return self.about(finding.code, finding.why, "reference")

    def severity(self, code: str, why: str) -> str:
        return self._tables.rules[code]["messages"][why][0]

    def effort(self, code: str, why: str) -> str:
        return self._tables.rules[code]["messages"][why][1]

    def apis(self) -> list[str]:
        return sorted([*self._tables.moves, *self._tables.variables])

    def api(self, name: str, target: Target = DEFAULT) -> ApiText | None:
        moves, variables = self._tables.moves, self._tables.variables
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
        rest = (message, *about, before, "".join(after), getattr(row, "stays", False))
        return ApiText(name, row.code, to, status, row.severity, row.effort, *rest)

    def package(self, name: str) -> PackageText | None:
        """Of what is imported, or of what it is called where packages are installed from; None of what is unknown."""
        packages = self._tables.packages
        wanted = name.strip().lower()
        found = name if name in packages else next((key for key in packages if key.lower() == wanted), None)
        found = found or next((key for key, row in packages.items() if wanted in row.names), None)
        if found is None:
            return None
        row = packages[found]
        message = self._prose["rules"][row.code]["messages"][row.why] if row.why else {}
        about = (self.about(row.code, row.why, key) if row.why else "" for key in ("symptom", "reference"))
        return PackageText(found, row, message, *about)

    def named(self, section: str) -> dict[str, dict]:
        """The stanzas of the report and of `porter diagnose`, by name: signals, routes, steps, releases, exports, causes."""
        return self._prose[section]

    def suggest(self, word: str, most: int = 3) -> list[str]:
        """The codes, slugs and APIs nearest to what somebody typed."""
        import difflib

        known = [*self._codes, *sorted(self._by_slug), *self.apis(), *sorted(self._tables.packages)]
        folded: dict[str, str] = {}
        for name in known:
            folded.setdefault(name.lower(), name)
        word = word.lower().strip()
        near = difflib.get_close_matches(word, list(folded), most, 0.6)
        tail = word.rpartition(".")[2]
        same_tail = [name for name in folded if tail and name.rpartition(".")[2] == tail]
        return [folded[name] for name in dict.fromkeys([*near, *same_tail])][:most]

    def about(self, code: str, why: str, key: str) -> str:
        prose = self._prose["rules"][code]
        own = prose[f"{key}s"].get(why)
        return (prose[key] or "") if own is None else own


def fill(text: str, values: dict[str, str], where: str, *, strict: bool = True) -> str:
    """`text` with its {placeholders} filled. A missing value is a mistake in a rule, not in what it looked at."""

    def value(found: re.Match[str]) -> str:
        if found[1] in values:
            return values[found[1]]
        if strict:
            raise LookupError(f"{where}: no value for {found[0]} in {text!r}")
        return found[0]

    return _PLACEHOLDER.sub(value, text)
