"""`porter catalog`: what each torch_npu offers. Only `build` uses the network, through pip."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from porter.catalog.read.load import Catalogue, load, versions
from porter.errors import UserError, check_choice, suggestion
from porter.exits import OK
from porter.files.documents import Json
from porter.rulebook.words import speaker
from porter.target import Target
from porter.terminal import Line, columns, pad
from porter.terminal import show as write

say = speaker("catalog")

_FORMATS = ("text", "json")


def listing(format: str | None, lang: str | None) -> int:
    lang, _ = _settings(format, None, lang)
    rows: list[Json] = []
    for version in versions():
        catalogue = load(version)
        kernels = catalogue.operators.kernels()
        rows.append(
            {
                "torch_npu": version,
                "torch": catalogue.torch,
                "npu": len([n for n in catalogue.npu_names() if n.count(".") == 2]),
                "custom": len([n for n in catalogue.operators.names() if n[:3] == "npu"]),
                "native": kernels["native"],
                "cpu": kernels["cpu"],
                "sources": catalogue.sources,
            }
        )
    if format == "json":
        return _json({"versions": rows})
    wide = max((len(row["torch_npu"]) for row in rows), default=0)
    write([[(f"{r['torch_npu']:<{wide}}  ", "bold"), (say("counts", lang, **r), "")] for r in rows], sys.stdout)
    return OK


def show(api: str, target: str | None, format: str | None, lang: str | None) -> int:
    from porter.catalog.read.describe import about, documented, exists

    lang, aim = _settings(format, target, lang)
    present = {version: exists(api, load(version)) for version in versions()}
    if not any(present.values()) and not any(load(v).operators.transfer(api) for v in present):
        names = load(aim.torch_npu)
        en, zh = suggestion(api, {*names.npu_names(), *names.own_names(), *names.cuda_names()})
        if en or not api.startswith(("torch.", "torch_npu.", "aten::", "npu::")):
            raise UserError(f"no catalogue knows {api!r}{en}", f"各版本均没有 {api!r}{zh}")
    catalogue = load(aim.torch_npu)
    facts = about(api, catalogue) | {"documents": documented(api, catalogue, aim.soc)}
    if format == "json":
        goal = {"torch_npu": aim.torch_npu, "soc": aim.soc}
        return _json({"api": api, "target": goal, "versions": present, **facts})
    rows: list[tuple[str, str]] = [("exists", _exists(present, lang))]
    rows += [("signature", facts["signature"])] if facts["signature"] else []
    rows += _runs(facts, lang)
    if api.startswith("torch.cuda."):
        rows.append(("counterpart", facts["counterpart"] or say("none", lang)))
    if not api.startswith(("torch_npu", "torch.npu", "aten::", "npu::")):
        rows.append(("transfer", _transfer(facts["transfer"], catalogue, lang)))
    if old := facts["deprecated"]:
        text = say("deprecated.use", lang, to=", ".join(old["use"])) if old["use"] else say("deprecated.bare", lang)
        rows.append(("deprecated", text))
    rows.append(("documents", _documents(facts["documents"], lang)))
    wide = max(columns(say(key, lang)) for key, _ in rows if key)
    lines: list[Line] = [[(api, "bold"), (f"  torch_npu {aim.torch_npu}, {aim.soc}", "dim")]]
    lines += [[(f"  {pad(say(key, lang) if key else '', wide, False)}  ", "dim"), (text, "")] for key, text in rows]
    write(lines, sys.stdout)
    return OK


def diff(before: str, after: str, format: str | None, lang: str | None) -> int:
    from porter.catalog.read.describe import between
    from porter.commands.settings import known_version

    lang, _ = _settings(format, None, lang)
    old, new = (known_version(version) for version in (before, after))
    differences = between(load(old), load(new))
    if format == "json":
        return _json({"before": old, "after": new, **differences})
    lines: list[Line] = []
    for key, changes in differences.items():
        for kind, mark, style in (("removed", "-", "red"), ("added", "+", "green"), ("changed", "~", "yellow")):
            if rows := changes[kind]:
                lines.append([(f"{say('diff.' + key, lang)}, {say(kind, lang)}: {len(rows)}", "bold")])
                texts = (row if isinstance(row, str) else f"{row[0]}  {row[1]} -> {row[2]}" for row in rows)
                lines += [[(f"  {mark} {text}", style)] for text in texts]
    write(lines or [[(say("same", lang), "")]], sys.stdout)
    return OK


def rebuild(torch_npu: list[str], output: str | None, wheels: str | None, update_sources: bool) -> int:
    from porter.catalog.make import download
    from porter.catalog.make.build import build
    from porter.resources import rules_dir

    folder = Path(output) if output else rules_dir() / "catalog"
    sources = download.sources_file()
    for version in torch_npu:
        pair = download.pair(version, Path(wheels) if wheels else None)
        if update_sources:
            download.record(version, pair, sources)
        download.check(version, pair, sources)
        for name, data in build(*pair).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
            print(f"{folder / name}: {len(data)} bytes")
    return OK


def _settings(format: str | None, target: str | None, lang: str | None) -> tuple[str, Target]:
    from porter.commands.settings import settings_here

    check_choice("--format", format, _FORMATS)
    settings, aim = settings_here(target, lang)
    return settings.lang, aim


def _json(document: Json) -> int:
    sys.stdout.write(json.dumps({"schema": 1} | document, ensure_ascii=False, indent=2) + "\n")
    return OK


def _exists(present: dict[str, bool | None], lang: str) -> str:
    oldest, *_, newest = present
    if all(present.values()):
        return say("every", lang, first=oldest, last=newest)
    if None in present.values():
        return say("unknown", lang)
    names = ", ".join(version for version, is_present in present.items() if is_present)
    return say("some", lang, names=names) if names else say("never", lang, first=oldest, last=newest)


def _runs(facts: Json, lang: str) -> list[tuple[str, str]]:
    if facts["kernel"] is None:
        return []
    rows = [("runs", say(facts["kernel"], lang))]
    for op in facts["operators"]:
        words = [say(f"{op['kernel']}.one", lang), *op["implementations"]]
        words += [say("says_cpu", lang)] if op["says_cpu"] else []
        rows.append(("", f"{op['name']}{op['schema']}  [{', '.join(words)}]"))
    return rows


def _transfer(transfer: Json | None, catalogue: Catalogue, lang: str) -> str:
    if transfer is None:
        return say("transfer.none", lang)
    effect, to = transfer["effect"], transfer["to"]
    if effect != "replaced":
        return say(f"transfer.{effect}", lang)
    if not to:
        return say("transfer.wrapped", lang)
    gone = to.startswith("torch.npu.") and not catalogue.has(to)
    return say("transfer.replaced", lang, to=to) + ("; " + say("transfer.gone", lang, to=to) if gone else "")


def _documents(fact: Json | None, lang: str) -> str:
    if fact is None:
        return say("documents.silent", lang)
    words = [say(fact["status"], lang)]
    words += [say("dtypes", lang, names=", ".join(fact["dtypes"]))] if fact["dtypes"] else []
    words += [say(flag, lang) for flag in ("may_run_on_cpu", "inference_only") if fact[flag]]
    return "; ".join(words)
