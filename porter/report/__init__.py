"""What a run found, shown: every format is a pure function of a Report."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING

from porter.errors import UserError
from porter.files.documents import Json

if TYPE_CHECKING:
    from porter.report.model import Report

SHAPES = ("text", "full", "concise", "grouped")  # of the terminal's text: porter/report/model.py, View.kind
FORMATS = {  # each module has `render`: of the report's document, but for the terminal's
    "text": "porter.report.console",
    "json": "porter.report.json",
    "html": "porter.report.html",
    "sarif": "porter.report.sarif",
    "markdown": "porter.report.markdown",
    "github": "porter.report.github",
    "csv": "porter.report.csv",
}
PAGES = "pages"  # what a folder gets: porter.report.pages
SUFFIXES = {
    ".txt": "text",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".sarif": "sarif",
    ".md": "markdown",
    ".csv": "csv",
}


def render(report: Report, name: str) -> str:
    text: str = import_module(FORMATS[name]).render(report if name == "text" else document_of(report))
    return text


def render_document(document: Json, name: str) -> str:
    """The same of what `json` wrote, here or elsewhere."""
    text: str = import_module(FORMATS[name]).render(document)
    return text


def format_of(file: str) -> str:
    """The format that the suffix of `file` chooses; pages where it is a folder, or ends like one."""
    if file.endswith(tuple(filter(None, (os.sep, os.altsep)))) or os.path.isdir(file):
        return PAGES
    suffix = PurePath(file).suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(sorted(SUFFIXES))
        raise UserError(
            f"--output {file}: the suffix chooses the format; it is one of {known}, or / for a folder of pages",
            f"--output {file}：格式由后缀决定，可用的后缀：{known}；以 / 结尾则写入一个目录",
        )
    return SUFFIXES[suffix]


def document_of(report: Report) -> Json:
    """Made once for a report, however many formats are asked for."""
    from porter.report.json import document

    attributes = vars(report)
    if "_document" not in attributes:
        attributes["_document"] = document(report)
    result: Json = attributes["_document"]
    return result
