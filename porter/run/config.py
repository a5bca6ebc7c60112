"""Reads the settings of a run from the nearest porter.toml or from `[tool.porter]` in pyproject.toml. Options of the command
line win."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from porter.errors import UserError, check_choice, suggestion
from porter.files.read import read as read_file
from porter.finding import SEVERITIES
from porter.regex import lazy
from porter.rulebook.effort import NAMES, Rate, amount
from porter.target import STYLES

LANGUAGES = ("en", "zh")
# the values of settings that are a choice
CHOICES = {"fail_on": SEVERITIES, "lang": LANGUAGES, "style": STYLES}
PREFIX = lazy(r"PRT\d{0,3}$")  # a code, or the begin of codes


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run."""

    select: tuple[str, ...] = ()  # codes, code prefixes or slugs; () = all
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    target: str = ""  # "torch_npu=2.7.1.post11,soc=A2"; "" = not chosen
    soc: str = ""
    style: str = "rename"
    fail_on: str = "wrong"
    lang: str = "en"
    baseline: str = ""
    facts: tuple[str, ...] = ()  # files that `porter analyze --library` wrote
    jobs: int = 0  # 0 = as many as there are cores
    effort: tuple[Rate, ...] = ()  # replace those of rules/effort.toml
    origin: str = "default"  # where the target comes from: command-line | configuration | default

    def overridden(self, **given: Any) -> Settings:
        """The settings with the options of the command line. An option that is None or () was not given."""
        given = {key: value for key, value in given.items() if value not in (None, ())}
        if "target" in given or "soc" in given:
            given["origin"] = "command-line"
        for key in CHOICES.keys() & given.keys():
            check_choice(f"--{key.replace('_', '-')}", given[key], CHOICES[key])
        return replace(self, **given)


# by setting; the type of a default is the type that a configuration must give
DEFAULTS = {field.name: field.default for field in fields(Settings)}


@dataclass(frozen=True, slots=True)
class Table:
    """The table of a configuration file, with the text of the file, so that error messages can name the line."""

    file: Path
    text: str
    values: Mapping[str, Any]
    header: str  # "[tool.porter]", "[porter]" or ""

    def line(self, key: str, word: str = "") -> int:
        """The line of a key; with `word`, the first line from there on that contains it."""
        lines = self.text.splitlines()
        start = next((n for n, line in enumerate(lines) if self.header and line.strip().startswith(self.header)), 0)
        named = re.compile(rf"""(^|[.\s\[{{,])["']?{re.escape(key)}["']?\s*[\].=]""")
        index = next((n for n in range(start, len(lines)) if named.search(lines[n])), start)
        if word:
            index = next((n for n in range(index, len(lines)) if word in lines[n]), index)
        return index + 1

    def complain(self, key: str, en: str, zh: str, word: str = "") -> UserError:
        """An error about a key, which names file and line."""
        place = f"{self.file.name}:{self.line(key, word)}"
        return UserError(f"{place}: {en}", f"{place}：{zh}")


def find(start: Path) -> Table | None:
    """The nearest configuration in `start` or a folder above, up to the root of its repository."""
    for folder in (start, *start.parents):
        for name, header in (("porter.toml", "[porter]"), ("pyproject.toml", "[tool.porter]")):
            table = _table(folder / name, header)
            if table is not None:
                return table
        if (folder / ".git").exists():
            return None
    return None


def _table(file: Path, header: str) -> Table | None:
    """The table with porter's settings in a file; None if there is none."""
    if not os.path.lexists(file) or os.path.isdir(file):
        return None
    data = read_file(file, file.name)
    if file.name == "pyproject.toml" and b"porter" not in data:
        return None
    import tomli

    try:
        text = data.decode("utf-8")
        document = tomli.loads(text)
    except (RecursionError, MemoryError):
        raise UserError(f"{file.name}: nested too deeply", f"{file.name}：嵌套过深") from None
    except (tomli.TOMLDecodeError, UnicodeDecodeError) as error:
        match = re.search(r"at line (\d+)", str(error))
        place = f"{file.name}:{match[1] if match else 1}"
        raise UserError(f"{place}: not valid TOML: {error}", f"{place}：不是有效的 TOML：{error}") from None
    if file.name == "pyproject.toml":
        tool = document.get("tool", {})
        values = tool.get("porter") if isinstance(tool, dict) else None
        return Table(file, text, values, header) if isinstance(values, dict) else None
    if isinstance(document.get("porter"), dict):
        table = Table(file, text, document["porter"], header)
        for key in document.keys() - {"porter"}:
            raise Table(file, text, document, "").complain(
                key, f"{key!r} stands outside [porter]; move it there", f"{key!r} 写在 [porter] 之外，请移入其中"
            )
        return table
    return Table(file, text, document, "")


def read(table: Table | None) -> Settings:
    """The settings in a table. Raises UserError for a key or a value that is wrong."""
    if table is None:
        return Settings()
    known = {field.name.replace("_", "-"): field for field in fields(Settings) if field.name != "origin"}
    given: dict[str, Any] = {}
    for key, value in table.values.items():
        if key not in known:
            en, zh = suggestion(key, known)
            names = ", ".join(known)
            raise table.complain(
                key,
                f"unknown key {key!r}{en or f'; known keys: {names}'}",
                f"未知的键 {key!r}{zh or f'；可用的键：{names}'}",
            )
        name = known[key].name
        given[name] = _checked(table, key, name, value)
    if "target" in given or "soc" in given:
        given["origin"] = "configuration"
    return Settings(**given)


def _checked(table: Table, key: str, name: str, value: Any) -> Any:
    """The value for the field `name` of Settings. Raises UserError if the value has the wrong type or is no choice."""
    if name == "effort":
        return _effort(table, value)
    if name == "per_file_ignores":
        if isinstance(value, dict) and all(_is_words(codes) for codes in value.values()):
            return tuple((pattern, tuple(codes)) for pattern, codes in value.items())
        example = f'{key} = {{ "tests/*" = ["PRT101"] }}'
        raise table.complain(key, f"{key} is a table of lists: {example}", f"{key} 应为由列表组成的表：{example}")
    default = DEFAULTS[name]
    if isinstance(default, tuple):
        if _is_words(value):
            return tuple(value)
        word = "mmcv.json" if name == "facts" else "PRT101"
        example = f'{key} = ["{word}"]'
        raise table.complain(key, f"{key} is a list of strings: {example}", f"{key} 应为字符串列表：{example}")
    if isinstance(default, int):
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        raise table.complain(key, f"{key} is a number, 0 or more", f"{key} 应为不小于 0 的整数")
    if not isinstance(value, str):
        example = f'{key} = "{default or "..."}"'
        raise table.complain(key, f"{key} is a string: {example}", f"{key} 应为字符串：{example}")
    if name in CHOICES and value not in CHOICES[name]:
        en, zh = suggestion(value, CHOICES[name])
        names = ", ".join(CHOICES[name])
        raise table.complain(
            key,
            f"{key}: {value!r} is not known{en or f'; one of {names}'}",
            f"{key}：{value!r} 不在可选值之内{zh or f'：{names}'}",
            value,
        )
    return value


def _effort(table: Table, value: Any) -> tuple[Rate, ...]:
    """The rates in the setting `effort`: `kernel-written = "3 to 9 days"`, or a table of `first` and `further`."""
    example = 'kernel-written = "3 to 9 days"'
    if not isinstance(value, dict):
        raise table.complain("effort", f"effort is a table: {example}", f"effort 应为表：{example}")
    rates = []
    for name, said in value.items():
        if name not in NAMES:
            en, zh = suggestion(name, NAMES)
            names = ", ".join(NAMES)
            raise table.complain(
                "effort",
                f"effort: unknown key {name!r}{en or f'; known keys: {names}'}",
                f"effort：未知的键 {name!r}{zh or f'；可用的键：{names}'}",
                name,
            )
        parts = said if isinstance(said, dict) else {"first": said}
        amounts = {part: amount(text) for part, text in parts.items()}
        if not amounts or amounts.keys() - {"first", "further"} or None in amounts.values():
            both = f'{name} = {{ first = "2 to 8 hours", further = "5 minutes" }}'
            raise table.complain(
                "effort",
                f"effort: {name} is an amount of work, or two: {example}; {both}",
                f"effort：{name} 应为一个或两个工作量：{example}；{both}",
                name,
            )
        rates.append(Rate(name, amounts.get("first"), amounts.get("further")))
    return tuple(rates)


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def codes(words: Iterable[str], slugs: Mapping[str, str]) -> frozenset[str]:
    """The codes that `words` name: codes, code prefixes or slugs. `slugs`: code -> slug. Raises KeyError(word)."""
    chosen: set[str] = set()
    for word in words:
        named = {code for code, slug in slugs.items() if word == slug}
        if PREFIX.match(word):
            named |= {code for code in slugs if code.startswith(word)}
        if not named:
            raise KeyError(word)
        chosen |= named
    return frozenset(chosen)


def quiet(settings: Settings, slugs: Mapping[str, str], optional: frozenset[str] = frozenset()) -> frozenset[str]:
    """Codes that are off everywhere. `select` never switches off PRT0xx, findings about porter's own work; only `ignore` does.
    Codes in `optional` are off unless `select` has the whole code or the slug; a prefix does not select them."""
    chosen = codes(settings.select, slugs) if settings.select else frozenset(slugs)
    chosen -= {code for code in optional if not {code, slugs[code]} & {*settings.select}}
    off = {code for code in slugs if code not in chosen and not code.startswith("PRT0")}
    return frozenset(off | codes(settings.ignore, slugs))


def quiet_in(settings: Settings, slugs: Mapping[str, str]) -> tuple[tuple[str, frozenset[str]], ...]:
    """(pattern of paths, codes that are off there)."""
    return tuple((pattern, codes(words, slugs)) for pattern, words in settings.per_file_ignores)


def unknown_code(word: str, table: Table | None, slugs: Mapping[str, str]) -> UserError:
    """The error for a code that no rule has. It names the place of the code, and the code that was probably meant."""
    en, zh = suggestion(word, [*slugs, *slugs.values()])
    en = f"no rule is called {word!r}{en or '; `porter rules` lists all'}"
    zh = f"没有名为 {word!r} 的规则{zh or '；用 `porter rules` 列出全部'}"
    for key in ("select", "ignore", "per-file-ignores"):
        value = table.values.get(key, ()) if table else ()
        named = [w for words in value.values() for w in words] if isinstance(value, dict) else value
        if table and word in named:
            return table.complain(key, f"{key}: {en}", f"{key}：{zh}", word)
    return UserError(en, zh)
