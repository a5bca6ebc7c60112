"""The root, the settings and the target of a command, before anything is analysed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from porter.errors import UserError, suggestion
from porter.files.errors import FilesError
from porter.files.root import find_root
from porter.run import config
from porter.run.config import Settings, Table
from porter.target import DEFAULT_SOC, DEFAULT_TORCH_NPU, SOCS, Target


def root_of(paths: Sequence[str]) -> tuple[Path, Table | None]:
    root = find_root(paths)
    table = config.find(root)
    # a configuration names paths from where it stands
    return (table.file.parent if table else root), table


def settings_here(target: str | None, lang: str | None) -> tuple[Settings, Target]:
    """Of the current folder, for commands that analyse nothing."""
    root, table = root_of(["."])
    settings = config.read(table).overridden(target=target, lang=lang)
    return settings, choose_target(settings, root, table)


def relative(root: Path, path: str) -> str:
    real = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(path))), os.path.basename(path))
    inside = os.path.relpath(real, os.path.realpath(root))
    if inside.startswith(".."):
        raise FilesError("outside", path=path, root=root.name)
    return inside.replace(os.sep, "/")


def choose_target(settings: Settings, root: Path, table: Table | None) -> Target:
    """Command line, else configuration, else the repository's own torch pin, else the default; never the machine."""
    from porter.catalog.read.load import versions

    place = "--target: " if settings.origin == "command-line" else _place(table, "target")
    chosen = _parts(settings.target, place)
    known = versions()
    version, soc = chosen.get("torch_npu", ""), chosen.get("soc") or settings.soc
    if version and known:
        version = known_version(version, place)
    if soc and soc not in SOCS:
        place = place if "soc" in chosen else _place(table, "soc")
        names = ", ".join(SOCS)
        raise UserError(f"{place}soc {soc!r} is none of {names}", f"{place}soc {soc!r} 不在可选值之内：{names}")
    origin = settings.origin
    beside: tuple[int, ...] = ()
    if not version:
        from porter.project.pins import choose, installed

        version, pin_origin = DEFAULT_TORCH_NPU, "default"
        on_gpus = installed(root, version) if settings.style == "portable" else []
        if known:
            version, pin_origin = choose(root, version, on_gpus)
            beside = next((pin.exact for pin in on_gpus if pin.place == pin_origin), ())
        origin = pin_origin if pin_origin != "default" or not soc else origin
    return Target(version, soc or DEFAULT_SOC, settings.style, origin, beside)


def known_version(version: str, place: str = "") -> str:
    """A version there is a catalogue of; `2.7` and `2.7.1` are the newest of theirs."""
    from porter.catalog.read.load import nearby, newest, versions

    catalogued = newest(version)
    if catalogued is None:
        near = nearby(version)
        en, zh = (f"; the nearest are {' and '.join(near)}", f"；最接近的是 {'、'.join(near)}") if near else ("", "")
        known = ", ".join(versions())
        raise UserError(
            f"{place}no catalogue of torch_npu {version!r}{en}; there are {known}",
            f"{place}没有 torch_npu {version!r} 的目录数据{zh}；现有：{known}",
        )
    return catalogued


def _parts(text: str, place: str) -> dict[str, str]:
    parts = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in ("torch_npu", "soc") or not value:
            en, zh = suggestion(key, ("torch_npu", "soc")) if equals else ("", "")
            example = f"torch_npu={DEFAULT_TORCH_NPU},soc=A2"
            raise UserError(
                f"{place}{part!r} is not understood{en}; write {example}",
                f"{place}无法理解 {part!r}{zh}；请写作 {example}",
            )
        parts[key] = re.sub(r"^v(?=\d)", "", value) if key == "torch_npu" else value.upper()
    return parts


def _place(table: Table | None, key: str) -> str:
    return f"{table.file.name}:{table.line(key)}: " if table and key in table.values else f"--{key}: "
