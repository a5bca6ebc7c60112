"""Where the files of a project can be read on the web: what --source-url says, with a place filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter
from types import MappingProxyType
from urllib.parse import quote

from porter.errors import UserError, suggestion
from porter.files.documents import Json
from porter.regex import lazy

FIELDS = ("path", "line", "commit")
EXAMPLE = "https://github.com/OWNER/NAME/blob/{commit}/{path}#L{line}"
_ADDRESS = lazy(
    r"https?://[\w.:\[\]-]+/[\w.~:/?#\[\]@!$&'()*+,;=%{}-]*", re.ASCII
)  # no name of a file chooses the host


def check(template: str, commit: str) -> None:
    """Raises UserError where no link can be made of it; `commit` is that of the project, empty where it has none."""
    if problem := _problem(template, commit):
        en, zh = problem
        raise UserError(f"--source-url {template}: {en}", f"--source-url {template}：{zh}")


def _problem(template: str, commit: str) -> tuple[str, str] | None:
    if not _ADDRESS.fullmatch(template):
        return f"no web address; write {EXAMPLE}", f"不是网址；请写作 {EXAMPLE}"
    fields = _fields(template)
    if fields is None:
        return "braces stand around path, line or commit and nothing else", "花括号内只能是 path、line 或 commit"
    for field in fields:
        if field not in FIELDS:
            en, zh = suggestion(field, FIELDS)
            known = [f"{{{name}}}" for name in FIELDS]
            return (
                f"{{{field}}} is none of {', '.join(known)}{en}",
                f"{{{field}}} 不在可选值之内：{'、'.join(known)}{zh}",
            )
    if "path" not in fields:
        return f"{{path}} is missing; write {EXAMPLE}", f"缺少 {{path}}；请写作 {EXAMPLE}"
    if "commit" in fields and not commit:
        return (
            "the project is no git checkout with a commit: name a branch or a tag instead of {commit}",
            "项目不是带有提交的 git 检出：请用分支或标签名代替 {commit}",
        )
    return None


def _fields(template: str) -> list[str] | None:
    try:
        parts = list(Formatter().parse(template))
    except ValueError:
        return None
    if any("{" in text or "}" in text or spec or change for text, _, spec, change in parts):
        return None  # `{{`, `{path!r}`
    return [field for _, field, _, _ in parts if field is not None]


class Links:
    """Of the project of a report; without a template, or with one that was not checked, there are none but those to
    `pages`: by path, the name of a page beside the report."""

    def __init__(self, document: Json, pages: Mapping[str, str] = MappingProxyType({})):
        self.pages = pages
        about = document.get("project", {})
        template, commit = about.get("source_url", ""), about.get("commit", "")
        self.asked = "" if not template or _problem(template, commit) else template
        self.template = self.asked.replace("{commit}", quote(commit))

    @property
    def lead(self) -> bool:
        """Whether there are any."""
        return bool(self.template or self.pages)

    def of_file(self, path: str) -> str:
        """With {line} to be filled; no other brace is in it."""
        if path in self.pages:
            return self.pages[path] + "#L{line}"
        return self.template.replace("{path}", quote(path, safe="/", errors="surrogateescape"))

    def of(self, place: str) -> str:
        """`place`: a path, or path:line."""
        path, colon, line = place.rpartition(":")
        if not colon or not (line.isascii() and line.isdigit()):
            path, line = place, "1"
        return self.of_file(path).replace("{line}", line)
