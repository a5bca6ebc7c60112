"""Which repositories a fleet has: the lines of a list, the tables of a TOML file, or the folders of a folder.

A line that is nonsense is an entry with an error, which becomes a row: the others are analysed all the same.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote, urlsplit

from porter.errors import UserError, suggestion
from porter.files.read import read
from porter.regex import lazy
from porter.report.sanitise import line as shown

KINDS = FOLDER, GIT, ARCHIVE, PACKAGE = "folder", "git", "archive", "package"
SUFFIXES = (".zip", ".whl", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
SCHEMES = ("http", "https", "ssh", "git", "file")
KEYS = ("source", "revision", "name")
MOST = 100_000  # repositories
_PACKAGE = lazy(r"[A-Za-z0-9][\w.-]*==[A-Za-z0-9][\w.!+-]*")
_URL = lazy(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SCP = lazy(r"[\w.-]+@[\w.-]+:(?!//)[^\s:]+")
_REVISION = lazy(r"(?!-)[^\s~^:?*\[\\\x00-\x20\x7f]{1,200}")
_COMMENT = lazy(r"""("[^"]*"|'[^']*')|(?:^|\s)#.*""")  # none begins between quotes
_LOGIN = lazy(r"(?i)(?:(?<=http://)|(?<=https://))[^/?#]*@")
_PASSWORD = lazy(r"(?<=://)([^/?#:@]*):[^/?#]*@")
_TABLE = lazy(r"\s*\[\[\s*repository\s*\]\]")
_LONGEST = 40  # characters of a name in the name of a folder

Texts = dict[str, str]  # by language


@dataclass(frozen=True)
class Entry:
    place: str  # where it is named: repos.txt:3
    source: str  # as it is named, without a password
    id: str = ""  # the name of its folder
    name: str = ""
    kind: str = FOLDER
    where: str = ""  # what is fetched: an absolute path, a URL, NAME==VERSION
    revision: str = ""
    error: Texts | None = None  # why it is none

    def refused(self, en: str, zh: str) -> Entry:
        return replace(self, error={"en": en, "zh": zh})


def entries(listed: str, output: str) -> list[Entry]:
    """What LIST or DIR names. `output`: where results go, which is no repository. Raises UserError, FilesError."""
    if os.path.isdir(listed):
        found = list(_of_folder(listed, output))
    elif listed.endswith(".toml"):
        found = list(_of_toml(listed))
    else:
        found = list(_of_text(listed))
    if not found:
        raise UserError(f"{listed}: names no repository", f"{listed}：没有列出任何仓库")
    if len(found) > MOST:
        raise UserError(f"{listed}: more than {MOST:,} repositories", f"{listed}：仓库超过 {MOST:,} 个")
    return _told_apart(found)


def libraries(given: Iterable[str]) -> list[Entry]:
    """What `--library` names, each as a line of a list; a path may have spaces. Raises UserError."""
    base = os.getcwd()
    found = []
    for text in given:
        is_path = os.path.lexists(os.path.expanduser(text))
        found.append(_entry("--library", text, "", "", base) if is_path else _of_line(text, "--library", base))
    return _told_apart(found)


def _of_folder(folder: str, output: str) -> Iterator[Entry]:
    ours = os.path.realpath(output)
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be read: {error.strerror}", f"{folder}：无法读取：{error.strerror}"
        ) from None
    for name in names:
        path = os.path.join(folder, name)
        if not name.startswith(".") and os.path.isdir(path) and os.path.realpath(path) != ours:
            made = _named(name, name, "", name)
            yield made if made.error else _of_path(made, os.path.abspath(path))  # whatever else its name looks like


def _of_text(listed: str) -> Iterator[Entry]:
    base, name = os.path.dirname(os.path.abspath(listed)), os.path.basename(listed)
    for number, line in enumerate(_text(listed).splitlines(), 1):
        text = _COMMENT.sub(lambda found: found[1] or "", line).strip()
        if text:
            yield _of_line(text, f"{name}:{number}", base)


def _of_line(text: str, place: str, base: str) -> Entry:
    """`SOURCE [revision=REVISION] [name=NAME]`; quotes around what holds a space."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="")
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""
    try:
        source, *rest = list(lexer) or [""]
    except ValueError:
        return Entry(place, _shown(text)).refused("a quote is not closed", "引号没有闭合")
    given: dict[str, str] = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if not equals or key not in KEYS[1:] or not value:
            example = "SOURCE revision=v1.0 name=NAME"
            return Entry(place, _shown(text)).refused(
                f"{_shown(word)!r} is not understood; write {example}, with quotes around what holds a space",
                f"无法理解 {_shown(word)!r}；请写作 {example}，含空格处加引号",
            )
        given[key] = value
    return _entry(place, source, given.get("revision", ""), given.get("name", ""), base)


def _of_toml(listed: str) -> Iterator[Entry]:
    import tomli

    text, base, name = _text(listed), os.path.dirname(os.path.abspath(listed)), os.path.basename(listed)
    try:
        tables = tomli.loads(text).get("repository", [])
    except (tomli.TOMLDecodeError, RecursionError) as error:
        match = re.search(r"at line (\d+)", str(error))
        place = f"{name}:{match[1] if match else 1}"
        raise UserError(f"{place}: not valid TOML: {error}", f"{place}：不是有效的 TOML：{error}") from None
    lines = [n for n, line in enumerate(text.splitlines(), 1) if _TABLE.match(line)]
    for n, table in enumerate(tables if isinstance(tables, list) else []):
        yield _of_table(table, f"{name}:{lines[n]}" if len(lines) == len(tables) else f"{name}: {n + 1}", base)


def _of_table(table: Any, place: str, base: str) -> Entry:
    if not isinstance(table, dict) or not isinstance(table.get("source"), str):
        return Entry(place, "").refused('source = "..." is missing', '缺少 source = "..."')
    source = _shown(table["source"])
    for key, value in table.items():
        if key not in KEYS:
            en, zh = suggestion(key, KEYS)
            return Entry(place, source).refused(f"unknown key {shown(key)!r}{en}", f"未知的键 {shown(key)!r}{zh}")
        if not isinstance(value, str):
            return Entry(place, source).refused(f"{key} is a string", f"{key} 应为字符串")
    return _entry(place, table["source"], table.get("revision", ""), table.get("name", ""), base)


def _entry(place: str, source: str, revision: str, name: str, base: str) -> Entry:
    made = _named(place, source, revision, name)
    if made.error:
        return made
    if revision and not _REVISION.fullmatch(revision):
        return made.refused(f"{shown(revision)!r} is no revision of git", f"{shown(revision)!r} 不是有效的 git 版本")
    made = _of_kind(made, source, base)
    if revision and made.error is None and made.kind != GIT:
        return made.refused("only a git repository has a revision; leave it out", "只有 git 仓库才有 revision；请去掉")
    return made


def _named(place: str, source: str, revision: str, name: str) -> Entry:
    made = Entry(place, _shown(source), revision=shown(revision), name=shown(name or name_of(without_login(source))))
    if not source.strip() or shown(source) != source:
        return made.refused("no source, or one with invisible characters", "来源为空，或含有不可见字符")
    return made


def _of_kind(made: Entry, source: str, base: str) -> Entry:
    if _PACKAGE.fullmatch(source):
        return replace(made, kind=PACKAGE, where=source)
    if _URL.match(source):
        return _of_url(made, source)
    if _SCP.fullmatch(source):
        return replace(made, kind=GIT, where=source)
    path = os.path.normpath(os.path.join(base, os.path.expanduser(source)))
    return _of_path(made, path)


def _of_url(made: Entry, source: str) -> Entry:
    try:
        url = urlsplit(source)
        host = url.hostname
    except ValueError:
        return made.refused("not a URL", "不是有效的网址")
    if url.scheme.lower() not in SCHEMES:
        known = ", ".join(SCHEMES)
        return made.refused(f"{url.scheme}: URLs are of {known}", f"{url.scheme}：网址应为 {known} 之一")
    if url.scheme == "file":
        return _of_path(made, os.path.normpath(unquote(url.path)))  # as git reads it
    if not host:
        return made.refused("a URL without a host", "网址没有主机名")
    if url.scheme == "git" and url.username is not None:  # which git tells whole when it finds no such host
        return made.refused("git:// knows no user; use https:// or ssh://", "git:// 没有用户；请用 https:// 或 ssh://")
    is_archive = url.scheme in ("http", "https") and url.path.lower().endswith(SUFFIXES)
    return replace(made, kind=ARCHIVE if is_archive else GIT, where=source)


def _of_path(made: Entry, path: str) -> Entry:
    if os.path.isdir(path):
        is_bare = os.path.isfile(os.path.join(path, "HEAD")) and os.path.isdir(os.path.join(path, "objects"))
        return replace(made, kind=GIT if is_bare or made.revision else FOLDER, where=path)
    if os.path.isfile(path) and path.lower().endswith(SUFFIXES):
        return replace(made, kind=ARCHIVE, where=path)
    if os.path.lexists(path):
        known = ", ".join(SUFFIXES)
        return made.refused(f"neither a folder nor an archive ({known})", f"既不是目录，也不是归档文件（{known}）")
    return made.refused(
        "no such folder or archive, and no URL nor NAME==VERSION of a package",
        "没有这个目录或归档文件，也不是网址或包的 NAME==VERSION",
    )


def name_of(source: str) -> str:
    """The last part of a path or a URL, without what only says how it is packed."""
    path = re.sub(r"[?#].*", "", source) if _URL.match(source) else source
    name = re.split(r"[/\\:]", path.rstrip("/\\"))[-1]
    for suffix in sorted((*SUFFIXES, ".git"), key=len, reverse=True):
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


def without_login(text: str) -> str:
    """Also of a line that is nonsense: no password of a URL, and of http no user, who may be a token."""
    return _PASSWORD.sub(r"\1@", _LOGIN.sub("", text))


def _shown(text: str) -> str:
    return shown(without_login(text))


def _told_apart(found: Iterable[Entry]) -> list[Entry]:
    """Each with an id of its own, which does not depend on other entries: of one that is named again, it ends in how often."""
    seen: dict[str, Entry] = {}
    times: Counter[str] = Counter()
    rows: list[Entry] = []
    for entry in found:
        mark = hashlib.sha256("\0".join((entry.source, entry.revision, entry.name)).encode()).hexdigest()[:8]
        stem = re.sub(r"[^a-z0-9.]+", "-", entry.name.lower()).strip("-.")[:_LONGEST].rstrip("-.")
        entry = replace(entry, id=f"{stem or 'repository'}-{mark}")
        times[entry.id] += 1
        if entry.id in seen:
            first = seen[entry.id].place
            named = entry if entry.error else entry.refused(f"named before, in {first}", f"已在 {first} 中列出")
            entry = replace(named, id=f"{entry.id}-{times[entry.id]}")
        seen.setdefault(entry.id, entry)
        rows.append(entry)
    return rows


def _text(listed: str) -> str:
    try:
        return read(listed, os.path.basename(listed)).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{listed}: not UTF-8", f"{listed}：不是 UTF-8 编码") from None
