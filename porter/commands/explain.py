"""`porter explain` and `porter rules`: what rules/*.toml says, for people and for programs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from porter.checks.registry import load
from porter.commands.job import settings_here
from porter.errors import UserError, check_choice
from porter.exits import OK
from porter.rulebook.words import speaker
from porter.target import Target
from porter.terminal import STYLES, Line, columns, pad, show

say, phrase = speaker("report"), speaker("page")

if TYPE_CHECKING:
    from porter.rulebook.texts import ApiText, PackageText, RuleText

OFF = {"en": " (off by default)", "zh": "（默认关闭）"}


def explain(name: str, target: str | None, lang: str | None) -> int:
    settings, aim = settings_here(target, lang)
    texts = load().texts
    try:
        api = texts.api(name, aim)
        exists, facts = _support(name, api, aim, settings.lang)
        if api and api.stays:
            rows = _stays(api, settings.lang) + ([[], *facts] if facts else [])
        elif api:
            rows = _api(api, texts.rule(api.code), exists, settings.lang) + ([[], *facts] if facts else [])
        elif package := texts.package(name):
            rows = _package(package, texts.rule(package.row.code), settings.lang)
        else:
            rows = facts or _rule(texts.rule(name), settings.lang)
    except KeyError:
        suggestions = texts.suggest(name)
        names = ", ".join(suggestions)
        raise UserError(
            f"nothing is known about {name!r}"
            + (f"; did you mean {names}?" if suggestions else "; `porter rules` lists the codes"),
            f"没有关于 {name!r} 的信息"
            + (f"；是否想查 {names}？" if suggestions else "；用 `porter rules` 列出全部编号"),
        ) from None
    show(rows, sys.stdout)
    return OK


def rules(format: str | None, lang: str | None) -> int:
    check_choice("--format", format, ("text", "json"))
    settings, _ = settings_here(None, lang)
    texts = load().texts
    rules = [texts.rule(code) for code in texts.codes()]
    if format == "json":
        keys = ("code", "slug", "severity", "effort", "default", "title", "explain", "symptom", "reference")
        document = {"schema": 1, "rules": [{key: getattr(rule, key) for key in keys} for rule in rules]}
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
        return OK
    wide = max(len(rule.slug) for rule in rules)
    names = {rule.severity: say(rule.severity, settings.lang) for rule in rules}
    pads = max(map(columns, names.values()))
    rows: list[Line] = [
        [
            (f"{rule.code}  ", "bold"),
            (f"{rule.slug:<{wide}}  ", ""),
            (pad(names[rule.severity], pads, False) + "  ", STYLES[rule.severity]),
            (rule.title[settings.lang] + (OFF[settings.lang] if rule.default == "off" else ""), ""),
        ]
        for rule in rules
    ]
    show(rows, sys.stdout)
    return OK


def _support(name: str, api: ApiText | None, target: Target, lang: str) -> tuple[bool, list[Line]]:
    """Whether the target has an API of torch, and what wheel and documents know of it; nothing for what its torch lacks."""
    if name.partition(".")[0] not in ("torch", "torch_npu"):
        return False, []
    from porter.analysis.session import open_session
    from porter.catalog.read.verdict import MISSING, UNKNOWN
    from porter.report import model, support

    known = open_session(target).support
    verdict = model.verdict(known, name, api)
    if verdict is None or verdict.kind == UNKNOWN or verdict.kind == MISSING and not known.catalogue.surface.has(name):
        return False, []
    document = support.verdict_document(verdict)
    on = say("explain.on", lang, torch_npu=target.torch_npu, soc=target.soc, kind=support.kind(document, lang))
    rows: list[Line] = [[(name, "bold"), (on, STYLES[verdict.severity])]]
    rows += [[(f"  {text}", "")] for text in support.basis(document, lang)]
    if not verdict.status and not name.startswith(("torch_npu", "torch.npu")):
        rows.append([("  " + say("documents.none", lang), "")])
    return verdict.kind != MISSING, [*rows, [(support.notice(support.sources(known), lang), "dim")]]


def _rule(rule: RuleText, lang: str) -> list[Line]:
    rows = _head(rule, lang, rule.severity, rule.effort)
    rows += _prose(rule.explain[lang])
    rows += _code("explain.symptom", rule.symptom, lang)
    if rule.before and rule.before != rule.after:
        rows += _code("explain.before", rule.before, lang) + _code("explain.after", rule.after, lang)
    elif rule.before:
        rows += _code("explain.example", rule.before, lang)
    rows += _code("explain.by_hand", rule.by_hand, lang)
    if len(rule.messages) > 1:
        rows += [[], [(say("explain.messages", lang), "bold")]]
        texts = dict.fromkeys(text[lang] for _, text in sorted(rule.messages.items()))  # rows may share their words
        rows += [[(f"  {text}", "")] for text in texts]
    if rule.default == "off":
        rows += [[], [(say("explain.off", lang, code=rule.code), "")]]
    return rows + _foot(rule.code, rule.reference, lang)


def _stays(api: ApiText, lang: str) -> list[Line]:
    rows: list[Line] = [[(say("explain.stays", lang, api=api.name), "bold")], [(api.message[lang], "")]]
    return rows + _code("explain.example", api.before, lang)


def _api(api: ApiText, rule: RuleText, exists: bool, lang: str) -> list[Line]:
    key = "becomes" if api.to else "old" if api.name.startswith("torch_npu.") else "differs" if exists else "none"
    head = say(f"explain.{key}", lang, api=api.name, to=api.to)
    rows: list[Line] = [[(head, "bold"), ("  ", ""), (say(api.status, lang), STYLES[api.status])]]
    rows += [[(api.message[lang], "")]] if api.message.get(lang) else []
    rows += _code("explain.symptom", api.symptom, lang)
    if api.name.rpartition(".")[2] in api.before:  # rows of several names have the example of the first
        rows += _code("explain.before" if api.after else "explain.example", api.before, lang)
        rows += _code("explain.after", api.after, lang)
    rows.append([])
    rows += _head(rule, lang, api.severity, api.effort)
    rows += _prose(rule.explain[lang])
    if api.name in rule.before:  # the port by hand is that of the rule's example
        rows += _code("explain.by_hand", rule.by_hand, lang)
    return rows + _foot(rule.code, api.reference, lang)


def _package(package: PackageText, rule: RuleText, lang: str) -> list[Line]:
    row = package.row
    rows: list[Line] = [[(package.name, "bold"), ("  ", ""), (phrase(f"state.{row.status}", lang), "")]]
    rows += [[(package.message[lang], "")]] if package.message else []
    if row.since:
        rows.append([(say("explain.since", lang, version=row.since), "")])
    if row.replacement:
        rows.append([(say("explain.instead", lang, names=", ".join(row.replacement)), "")])
    if row.status == "native":
        return rows
    rows += _code("explain.symptom", package.symptom, lang)
    rows.append([])
    rows += _head(rule, lang, row.severity, row.effort)
    rows += _prose(rule.explain[lang])
    return rows + _foot(rule.code, package.reference, lang)


def _head(rule: RuleText, lang: str, severity: str, effort: str) -> list[Line]:
    weight = say("explain.severity", lang, severity=say(severity, lang), effort=say(effort, lang))
    return [[(f"{rule.code} {rule.slug}", "bold"), (f": {rule.title[lang]}", "")], [(weight, STYLES[severity])], []]


def _code(key: str, text: str, lang: str) -> list[Line]:
    rows: list[Line] = [[(f"    {line}", "")] for line in text.strip("\n").splitlines()]
    return [[], [(say(key, lang), "bold")], *rows] if text else []


def _foot(code: str, reference: str, lang: str) -> list[Line]:
    rows: list[Line] = [[]]
    if reference:
        rows.append([(say("explain.reference", lang, text=reference), "")])
    return [*rows, [(say("explain.suppress", lang, code=code), "dim")]]


def _prose(text: str) -> list[Line]:
    """The lines as they stand in the data; a terminal wraps what is longer."""
    return [[(line, "")] for line in text.strip("\n").splitlines()]
