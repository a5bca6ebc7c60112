"""The report as a folder: the page of `html`, and beside it a page for each file, with its source and what was found."""

from __future__ import annotations

import hashlib
import re
from base64 import b32encode
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from jinja2 import Template
from markupsafe import Markup

from porter.files.documents import Json
from porter.report import document_of
from porter.report.excerpt import Excerpts
from porter.report.html import index, templates, with_words
from porter.report.links import Links
from porter.report.model import Report
from porter.report.page import state, unmarked
from porter.report.sanitise import line
from porter.report.sheet import WIDEST, Part, neighbours, sheet, window
from porter.rulebook.table import LANGUAGES
from porter.rulebook.words import both, speaker

say = speaker("pages")

INDEX = "index.html"
_STEM = 40  # characters of a path in the name of its page


class Site:
    def __init__(self, report: Report):
        self.report, self.document = report, document_of(report)
        shown = {f["path"] for f in self.document["findings"]}
        edited = {file.path for file in report.scan.files if file.auto or file.review}
        self.paths = sorted(shown | edited)
        self.links = Links(self.document, {path: page_name(path) for path in self.paths})

    @property
    def names(self) -> list[str]:
        return [INDEX, *self.links.pages.values()]

    def pages(self) -> Iterator[tuple[str, str]]:
        """The name of each page, and its text, one by one: all together may be large."""
        yield INDEX, index(self.document, self.links)
        by_path: dict[str, list[Json]] = {path: [] for path in self.paths}
        for finding in self.document["findings"]:
            by_path[finding["path"]].append(finding)
        around = ["", *self.paths, ""]
        for n, path in enumerate(self.paths):
            page = self._page(path, by_path[path], around[n], around[n + 2])
            yield self.links.pages[path], self._template.render(page) + "\n"

    @cached_property
    def _template(self) -> Template:
        world = templates(self.document, self.links)
        with_words(world, say)
        return world.get_template("file.html.j2")

    @cached_property
    def _excerpts(self) -> Excerpts:
        return Excerpts(self.document["sources"])

    def _page(self, path: str, findings: list[Json], before: str, after: str) -> Json:
        """By key, what the template shows."""
        data = self.report.scan.data(path) if self.report.scan.data else None
        hits = self._hits(findings, data)
        parts = [Part(Markup(), False, 0, hits)] if data is None else sheet(path, data, hits, self.report.session)
        return {
            "path": path,
            "hits": hits,
            "parts": parts,
            "has_source": data is not None,
            "is_notebook": any(part.cell for part in parts),
            "counts": Counter(state(f) for f in findings),
            "before": self.links.pages.get(before, ""),
            "after": self.links.pages.get(after, ""),
            "web": Links(self.document).of_file(path),
            "data": Markup(unmarked(self._data(path))),
        }

    def _hits(self, findings: list[Json], data: bytes | None) -> list[Json]:
        """The findings in the order of the file, with what the page says beside them."""
        rules = {rule["code"]: rule for rule in self.document["rules"]}
        first: dict[str, Json] = {}
        hits = []
        for f in neighbours(findings):
            by_hand = rules[f["code"]]["by_hand"] if f["status"] == "manual" else ""
            earlier = first.setdefault(f["code"], f) if by_hand else f
            hits.append(
                {
                    **f,
                    "state": state(f),
                    "change": self._change(f, data),
                    "by_hand": by_hand if earlier is f else "",
                    "earlier": None if earlier is f else earlier,
                }
            )
        return hits

    def _change(self, finding: Json, data: bytes | None) -> list[Json]:
        """The lines that an edit takes away and puts there; of a line that is cut, what stands around the place."""
        if data is not None and finding["column"] > WIDEST:
            sides = window(finding, data)
            tags = "-" + "+" * (len(sides) - 1) if sides[1:] else "*"
            rows = [(tag, finding["line"] * (tag != "+"), (side, "")) for tag, side in zip(tags, sides)]
        else:
            found = [row for row in self._excerpts.rows(finding) if row[0] != " "]
            is_edited = any(row[0] != "*" for row in found)
            rows = [(tag, number, self._excerpts.pool[at]) for tag, number, at, *_ in found if is_edited]
        return [{"tag": tag, "line": number, "rows": [row]} for tag, number, row in rows]

    def _data(self, path: str) -> Json:
        """For the script: porter/report/page.py, embedded."""
        keys = ("js.copy", "js.copied", "js.copied.not")
        words = {key: [*both("page", key).values()] for key in keys}
        about = self.document.get("project", {})
        return {
            "findings": [], "values": [], "words": words, "title": [line(path)] * len(LANGUAGES), "project": line(about.get("name", "")),
        }  # fmt: skip


def page_name(path: str) -> str:
    """A name that any file system takes, and that no other path has: letters that differ in case only are others."""
    mark = hashlib.sha256(path.encode("utf-8", "surrogatepass")).digest()[:15]
    stem = re.sub(r"[^a-z0-9]+", "_", path.lower()).strip("_")[-_STEM:]
    return f"{stem or 'file'}-{b32encode(mark).decode().lower()}.html"
