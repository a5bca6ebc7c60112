"""`porter explain` and `porter rules`: what rules/*.toml says, for people and for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.commands.explain_others import other_page
from porter.commands.named_place import place_of
from porter.commands.settings import settings_here
from porter.errors import UserError, check_choice
from porter.exits import OK
from porter.finding import SEVERITIES
from porter.report import support
from porter.report.rule_page import Page
from porter.report.verdicts import codes_of, elsewhere, moved, verdict, worst
from porter.rulebook.texts import Texts
from porter.rulebook.words import speaker
from porter.target import SOCS, Target
from porter.terminal import STYLES, Line, columns, pad, show, width

say, phrase = speaker("report"), speaker("page")

if TYPE_CHECKING:
    from porter.catalog.read.verdict import Support, Verdict
    from porter.rulebook.texts import ApiText, PackageText, RuleText

WIDEST = 100  # columns of prose
OFF = {"en": " (off by default)", "zh": "（默认关闭）"}


def explain(name: str, target: str | None, lang: str | None) -> int:
    room = min(width(sys.stdout), WIDEST)
    if place := place_of(name):
        from porter.commands.explain_place import explain_place  # the analysis is loaded for it alone

        return explain_place(place, target, lang, room)
    settings, aim = settings_here(target, lang)
    texts, page = Texts(), Page(settings.lang, room)
    try:
        rows = _known(name, texts, aim, page) or other_page(name, texts, page) or _rule(texts.rule(name), page)
    except KeyError:
        if os.path.isfile(name):
            raise UserError(
                f"{name} is a file: name a line of it, as in {name}:1", f"{name} 是文件：请指明行号，如 {name}:1"
            ) from None
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
    texts = Texts()
    rules = [texts.rule(code) for code in texts.codes()]
    if format == "json":
        keys = ("code", "slug", "severity", "effort", "default", "title", "explain", "symptom")
        listed = [{**{key: getattr(rule, key) for key in keys}, "reference": rule.sources.reference} for rule in rules]
        document = {"schema": 1, "rules": listed}
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


def _known(name: str, texts: Texts, target: Target, page: Page) -> list[Line]:
    """An API of torch, a variable that is moved, or a package; nothing of any other name."""
    if name.partition(".")[0] in ("torch", "torch_npu"):
        return _of_torch(name, texts, target, page)
    if api := texts.api(name, target):
        return _stays(api, page) if api.stays else _api(api, texts.rule(api.code), False, page)
    if package := texts.package(name):
        return _package(package, texts, page)
    if "." not in name:
        return []
    from porter.checks.registry import load  # what a rule asks for, its class knows

    return _rules_of(name, codes_of(load(target.soc), name), target, texts, page)[1:]


def _of_torch(name: str, texts: Texts, target: Target, page: Page) -> list[Line]:
    """What becomes of it, what wheel, documents and limits know of it, and the rules that look at it."""
    from porter.catalog.read.verdict import MISSING, UNKNOWN, support_on
    from porter.checks.registry import load

    known = support_on(target)
    api = moved(known, texts, name, target)
    standing = verdict(known, load(target.soc), name, api)
    if standing is None or standing.kind == UNKNOWN and not _is_gone(name, known):
        package = texts.package(name)  # torch_npu itself, torch_scatter
        return _package(package, texts, page) if package else []
    if api is None and standing.kind == MISSING and not standing.operators and not known.catalogue.surface.has(name):
        return []
    others = [code for code in standing.rules if api is None or api.stays or code != api.code]  # its own is told above
    facts = _facts(standing, known, target, page.lang) + _rules_of(name, others, target, texts, page)
    facts += [[(support.notice(support.sources(known), page.lang), "dim")]]
    if api is None:
        return facts
    about = _stays(api, page) if api.stays else _api(api, texts.rule(api.code), standing.kind != MISSING, page)
    return [*about, [], *facts]


def _is_gone(name: str, known: Support) -> bool:
    return known.catalogue.surface.gone(name)


def _facts(standing: Verdict, known: Support, target: Target, lang: str) -> list[Line]:
    document = support.verdict_document(standing)
    on = say("explain.on", lang, torch_npu=target.torch_npu, soc=target.soc, kind=support.kind(document, lang))
    rows: list[Line] = [[(standing.api, "bold"), (on, STYLES[standing.severity])]]
    rows += [[(f"  {text}", "")] for text in support.basis(document, lang)]
    if not standing.status and not standing.api.startswith(("torch_npu", "torch.npu")):
        rows.append([("  " + say("documents.none", lang), "")])
    return rows


def _rules_of(name: str, codes: Iterable[str], target: Target, texts: Texts, page: Page) -> list[Line]:
    """The worst first; of other chips those that do not look at it here."""
    from porter.checks.registry import load

    others = elsewhere(load, name, target.soc, SOCS)
    weights = {code: worst(load(target.soc), code) for code in (*codes, *others)}
    rows: list[Line] = []
    for code in sorted(weights, key=lambda code: (code in others, SEVERITIES.index(weights[code]), code)):
        rule, severity = texts.rule(code), weights[code]
        on = say("explain.rules.socs", page.lang, socs=", ".join(others[code])) if code in others else ""
        head = (f"  {code} {rule.slug}", "bold")
        rows.append([head, (f"  {say(severity, page.lang)}{on}", STYLES[severity]), (f"  {rule.title[page.lang]}", "")])
    if not rows:
        return []
    title: Line = [(say("explain.rules", page.lang, api=name), "bold")]
    return [[], title, *rows, [(say("explain.more", page.lang), "dim")], []]


def _rule(rule: RuleText, page: Page) -> list[Line]:
    rows = page.head(rule, rule.severity, rule.effort) + page.prose(rule.explain[page.lang])
    rows += page.code("explain.symptom", rule.symptom)
    if rule.before and rule.before != rule.after:
        rows += page.code("explain.before", rule.before) + page.code("explain.after", rule.after)
    elif rule.before:
        rows += page.code("explain.example", rule.before)
    rows += page.code("explain.by_hand", rule.by_hand) + page.messages(rule)
    if rule.default == "off":
        rows += [[], [(say("explain.off", page.lang, code=rule.code), "")]]
    return rows + page.foot(rule.code, *rule.sources)


def _stays(api: ApiText, page: Page) -> list[Line]:
    rows: list[Line] = [[(say("explain.stays", page.lang, api=api.name), "bold")]]
    return rows + page.message(api.message, api.details) + page.code("explain.example", api.before)


def _api(api: ApiText, rule: RuleText, exists: bool, page: Page) -> list[Line]:
    key = "becomes" if api.to else "old" if api.name.startswith("torch_npu.") else "differs" if exists else "none"
    head = say(f"explain.{key}", page.lang, api=api.name, to=api.to)
    rows: list[Line] = [[(head, "bold"), ("  ", ""), (say(api.status, page.lang), STYLES[api.status])]]
    rows += page.message(api.message, api.details)
    rows += page.code("explain.symptom", api.symptom)
    if api.name.rpartition(".")[2] in api.before:  # rows of several names have the example of the first
        rows += page.code("explain.before" if api.after else "explain.example", api.before)
        rows += page.code("explain.after", api.after)
    rows += [[], *page.head(rule, api.severity, api.effort), *page.prose(rule.explain[page.lang])]
    if api.name in rule.before:  # the port by hand is that of the rule's example
        rows += page.code("explain.by_hand", rule.by_hand)
    return rows + page.foot(rule.code, api.reference, api.known)


def _package(package: PackageText, texts: Texts, page: Page) -> list[Line]:
    row, lang, rule = package.row, page.lang, texts.rule(package.row.code)
    rows: list[Line] = [[(package.name, "bold"), ("  ", ""), (phrase(f"state.{row.status}", lang), "")]]
    rows += page.message(package.message, package.details)
    if row.since:
        rows.append([(say("explain.since", lang, version=row.since), "")])
    if row.replacement:
        rows += page.prose(say("explain.instead", lang, names=", ".join(row.replacement)))
    if steps := texts.npu.steps(package.name):
        rows += [[], [(say("explain.steps", lang), "bold")], *page.prose(steps[lang])]
    if not row.why and row.status in ("native", "plugin"):  # an import of it is no finding
        return rows
    rows += page.code("explain.symptom", package.symptom)
    effort = texts.effort(row.code, row.why) if row.why else rule.effort
    rows += [[], *page.head(rule, row.severity, effort), *page.prose(rule.explain[lang])]
    return rows + page.foot(rule.code, package.reference)
