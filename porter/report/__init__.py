"""What a run found, shown: every format is a pure function of a Report."""

from __future__ import annotations

from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING

from porter.errors import UserError

if TYPE_CHECKING:
    from porter.report.model import Report

FORMATS = {"text": "porter.report.console", "json": "porter.report.json"}  # each module has `render(report) -> str`
SUFFIXES = {".txt": "text", ".json": "json"}


def render(report: Report, name: str) -> str:
    return import_module(FORMATS[name]).render(report)


def format_of(file: str) -> str:
    """The format that the suffix of `file` chooses."""
    suffix = PurePath(file).suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(f"--output {file}: the suffix chooses the format; it is one of {', '.join(sorted(SUFFIXES))}")
    return SUFFIXES[suffix]
