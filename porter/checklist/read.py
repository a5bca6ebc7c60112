"""What was given for one side, read: files, or a folder with them; of each, what it sets. Its content says what it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from porter.checklist import options, printed, script
from porter.checklist.rules import checklist
from porter.checklist.schema import key_of
from porter.checklist.setting import Lines, Setting, Source
from porter.checklist.side import bare
from porter.errors import Unreadable, UserError
from porter.files import read as files
from porter.files.errors import FilesError
from porter.regex import lazy
from porter.text.formats import json as json_format
from porter.text.formats import yaml as yaml_format
from porter.text.settings.entries import ITEM, Settings

SUFFIXES = (".sh", ".bash", ".json", ".yaml", ".yml", ".log", ".txt", ".out", ".args")
MOST = 64  # files of a folder
_UP = 8  # folders above a file in which what it mentions is looked for
_UNREAD = frozenset({"model", "weight_map", "vocab", "merges"})  # of tokenizer.json and its kin: megabytes of words
_ADDED = "added_tokens_decoder"
_HEAD = 4_000_000
_LOGS = (".log", ".txt", ".out")
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".safetensors")
_SHELL = lazy(
    r"(?m)\A#!.*\b(?:ba|z|da)?sh\b|^\s*(?:export \w+=|(?:torchrun|python3?|deepspeed|accelerate|msrun|swift)\b.*(?:\\$|--))|^\s*--[a-z][\w-]+.*\\$|^\w+=[\"(]?\s*\n?\s*--[a-z]"
)


def read_side(given: str) -> list[Source]:
    """`given`: a file, a folder, or several with commas. Raises UserError and FilesError."""
    names = [given] if os.path.lexists(given) or "," not in given else [part for part in given.split(",") if part]
    found: list[Source] = []
    for name in names:
        found += _folder(name) if os.path.isdir(name) else [_file(name)]
    known = {os.path.realpath(source.name) for source in found}
    for source in [*found]:
        for path in _mentioned(source):
            if os.path.realpath(path) not in known:
                known.add(os.path.realpath(path))
                found.append(_file(path))
    return found


def _folder(folder: str) -> list[Source]:
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file() and entry.name.endswith(SUFFIXES))
    except OSError as error:
        raise FilesError("unreadable", path=folder, error=error.strerror or "OSError") from None
    found = []
    for name in names[:MOST]:
        try:
            source = _file(os.path.join(folder, name))
        except (UserError, FilesError):  # of a folder, what is no configuration is passed over
            continue
        if source.dialects:
            found.append(source)
    runs = [source for source in found if source.kind == "script"]
    if len(runs) > 1:
        shown = ", ".join(os.path.basename(source.name) for source in runs[:3])
        raise UserError(
            f"{folder}: {len(runs)} launch scripts lie here ({shown}, ...); name the one that is meant",
            f"{folder}：其中有 {len(runs)} 个启动脚本（{shown} 等）；请指定其中一个",
        )
    if not found:
        raise UserError(
            f"{folder}: no launch script or configuration lies here; name the files, with commas between them",
            f"{folder}：其中没有启动脚本或配置；请直接给出文件，多个文件以逗号分隔",
        )
    return found


def _file(name: str) -> Source:
    if name.endswith(_PICKLES):
        raise UserError(
            f"{name}: weights or a pickle, which porter does not open; print it as JSON where it was made, and give that",
            f"{name}：权重或 pickle 文件，porter 不会打开；请在生成它的环境中打印为 JSON 后再给出",
        )
    text = _bytes(name).decode("utf-8", "replace").lstrip("\ufeff")
    source = _read(name, text)
    if not source.settings:
        raise UserError(
            f"{name}: sets nothing that can be compared; give a launch script, a configuration (JSON, YAML) or a log"
            " that prints its arguments",
            f"{name}：没有可比较的设置；请给出启动脚本、配置文件（JSON、YAML）或打印了参数的日志",
        )
    source.dialects = _dialects(source.settings)
    return source


def _bytes(name: str) -> bytes:
    """Of a log, which may be of any size, the beginning: a run prints its arguments first."""
    if name.endswith(_LOGS):
        head = files.beginning(name, _HEAD)
        if head is not None and len(head) == _HEAD:
            return head
    return files.read(name)


def _read(name: str, text: str) -> Source:
    suffix = os.path.splitext(name)[1].lower()
    if suffix == ".json" or suffix not in SUFFIXES[:2] and text.lstrip().startswith("{"):
        return _parsed(name, "json", text, lambda text: json_format.values(text, _UNREAD), "JSON")
    if suffix in (".yaml", ".yml"):
        return _parsed(name, "yaml", text, yaml_format.values, "YAML")
    if suffix not in (".sh", ".bash"):
        source = _log(name, text)
        if source.settings:
            return source
    if suffix in (".sh", ".bash") or _SHELL.search(text):
        return _script(name, text)
    return _parsed(name, "yaml", text, yaml_format.values, "YAML") if ":" in text else Source(name, "log", [])


def _parsed(name: str, kind: str, text: str, values: Callable[[str], Settings], title: str) -> Source:
    try:
        return Source(name, kind, _as_table(list(_flat(values(text), text))))
    except Unreadable as error:
        raise UserError(
            f"{name}:{error.line}: not {title}: {error.error.removeprefix(title + ': ')}; correct the file, or give another",
            f"{name}:{error.line}：不是合法的 {title}：{error.error.removeprefix(title + ': ')}；请修正后重试，或给出其他文件",
        ) from None
    except RecursionError:
        raise UserError(f"{name}: nested too deep; give another", f"{name}：嵌套过深；请给出其他文件") from None


def _flat(settings: Settings, text: str) -> Iterator[Setting]:
    """One setting for each value; a list of values is one."""
    lists: dict[int, tuple[tuple[str, ...], list[str], int]] = {}
    lines = Lines(text)
    for entry in settings.entries:
        line = lines.of(entry.start)
        if entry.path and entry.path[-1] == ITEM:
            lists.setdefault(entry.owner, (entry.path[:-1], [], line))[1].append(entry.value)
        elif entry.path:
            yield _setting(entry.path, entry.value, line)
    for path, values, line in lists.values():
        if path:
            yield _setting(path, f"[{', '.join(values)}]", line)


def _as_table(settings: list[Setting]) -> list[Setting]:
    """added_tokens.json, which has a token for a key and its id for a value, as settings of a tokeniser have them."""
    if not settings or not all(
        len(s.path) == 1 and s.value.isdecimal() and s.name.startswith(("<", "[")) for s in settings
    ):
        return settings
    return [Setting((_ADDED, s.value, "content"), s.name, s.name, s.line) for s in settings]


def _setting(path: tuple[str, ...], value: str, line: int) -> Setting:
    return Setting(tuple(map(key_of, path)), value, ".".join(path), line)


def _script(name: str, text: str) -> Source:
    try:
        walked = script.read(text)
    except Unreadable as error:
        raise UserError(
            f"{name}:{error.line}: not a shell script that can be read; correct it, or give the arguments that the log prints",
            f"{name}:{error.line}：无法按 shell 脚本解析；请修正，或改为给出日志中打印的参数",
        ) from None
    run = walked.main
    environment = {**walked.exported, **(run.environment if run else {})}
    source = Source(name, "script", options.settings_of(walked.words, environment, text))
    for body, line in walked.embedded:
        try:
            inner = list(_flat(json_format.values(body), body))
        except (Unreadable, RecursionError):
            continue
        source.settings += [Setting(s.path, s.value, s.name, s.line + line - 1) for s in inner]
    if run is None:
        source.notes.append(("fragment", {}))
    if walked.doubtful:
        source.notes.append(("condition", {"lines": ", ".join(map(str, sorted({*walked.doubtful})[:5]))}))
    others = [
        other for other in walked.runs if run is not None and other is not run and other.options * 2 > run.options
    ]
    if run is not None and others:
        source.notes.append(("runs", {"line": run.line, "n": len(others) + 1}))
    source.mentioned = options.mentioned(run.words) if run else []
    return source


def _log(name: str, text: str) -> Source:
    settings = printed.settings_of(text)
    for body, line in printed.objects(text):
        try:
            inner = list(_flat(json_format.values(body), body))
        except (Unreadable, RecursionError):
            continue
        settings += [Setting(s.path, s.value, s.name, s.line + line) for s in inner]
    return Source(name, "log", settings)


def _dialects(settings: list[Setting]) -> tuple[str, ...]:
    keys = {".".join(bare(setting.path)) for setting in settings}
    keys |= {".".join(setting.path[at:]) for setting in settings for at in range(len(setting.path) - 1)}
    keys |= {setting.path[0] for setting in settings if setting.path[0] == _ADDED}
    found = []
    for dialect in checklist().dialects:
        hits = sum(key_of(key) in keys for key in dialect["keys"])
        if hits >= dialect.get("least", 1) and not any(key_of(key) in keys for key in dialect.get("not", ())):
            found.append(dialect["name"])
    return tuple(found)


def _mentioned(source: Source) -> Iterator[str]:
    """Settings files that a file hands on, where they lie beside it or below a folder above it."""
    wanted = [*source.mentioned]
    if source.kind in ("json", "yaml"):
        wanted += [
            s.value for s in source.settings if s.path[-1] in ("deepspeed", "deepspeed_config", "deepspeed_config_file")
        ]
    folder = os.path.dirname(os.path.realpath(source.name))
    for name in wanted:
        if os.path.isabs(name) or not name.endswith((".json", ".yaml", ".yml")):
            continue
        place = folder
        for _ in range(_UP):
            path = os.path.join(place, name)
            if os.path.isfile(path):
                yield os.path.relpath(path) if not os.path.isabs(source.name) else path
                break
            place = os.path.dirname(place)
