"""`porter doctor`: what of python, torch, torch_npu and CANN is here, whether it fits together, and what to do."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from porter.catalog.read.load import versions
from porter.checks.registry import load
from porter.commands.settings import settings_here
from porter.doctor.judge import Check, Release, fits, judge
from porter.doctor.machine import Machine, look
from porter.errors import check_choice
from porter.exits import FOUND, OK
from porter.rulebook.words import speaker, words
from porter.terminal import Line, columns, pad, show

say = speaker("doctor")

STYLES = {"ok": "green", "absent": "dim", "note": "yellow", "wrong": "bold red"}


def doctor(format: str | None, lang: str | None) -> int:
    check_choice("--format", format, ("text", "json"))
    settings, _ = settings_here(None, lang)
    machine = look(os.environ, Path(os.sep))
    releases = [
        Release(row["name"], tuple(row["torch"]), row["cann"]) for row in load().texts.named("releases").values()
    ]
    checks = judge(machine, releases, versions())
    if format == "json":
        rows = [
            {"name": c.name, "status": c.status, **_texts(c, settings.lang), "values": dict(c.values)} for c in checks
        ]
        document = {"schema": 1, "fits": fits(checks), "checks": rows, "releases": [r._asdict() for r in releases]}
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        _show(checks, releases, machine, settings.lang)
    return FOUND if fits(checks) is False else OK


def _texts(check: Check, lang: str) -> dict[str, str]:
    """KEY.cure is what to do about KEY: nothing where there is no such text."""
    values, cure = dict(check.values), f"{check.key}.cure"
    known = cure in words("doctor", lang)
    return {"message": say(check.key, lang, **values), "cure": say(cure, lang, **values) if known else ""}


def _show(checks: Sequence[Check], releases: Sequence[Release], machine: Machine, lang: str) -> None:
    names = {check: (say(f"name.{check.name}", lang), say(f"status.{check.status}", lang)) for check in checks}
    widths = [max(columns(pair[n]) for pair in names.values()) for n in (0, 1)]
    rows: list[Line] = []
    for check in checks:
        texts, (name, status) = _texts(check, lang), names[check]
        head = (pad(name, widths[0], False) + "  ", "bold")
        rows.append([head, (pad(status, widths[1], False) + "  ", STYLES[check.status]), (texts["message"], "")])
        if texts["cure"]:
            rows.append([(" " * (sum(widths) + 4) + texts["cure"], "")])
    ends = {
        True: "fits",
        False: "fits.not",
        None: "fits.unknown" if machine.torch_npu or machine.cann else "fits.nothing",
    }
    end = ends[fits(checks)]
    rows += [[], [(say(end, lang), "bold")]]
    if fits(checks) is None or not (machine.torch_npu and machine.cann):
        rows += [[], [(say("pairs", lang), "dim")]]
        rows += [[(f"  torch_npu {r.name}: torch {', '.join(r.torch)}; CANN {r.cann}", "dim")] for r in releases]
    show(rows, sys.stdout)
