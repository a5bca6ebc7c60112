"""Reads and writes baselines: files of known findings, which are not reported again. A line that moves keeps its fingerprint,
a line that is edited does not.

A finding with several places is known only if each of its places is.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from porter.engine.together import taken_apart
from porter.errors import UserError
from porter.files import read as files
from porter.files.errors import FilesError
from porter.finding import Finding

VERSION = 1  # goes up when fingerprints are made in another way
Data = Callable[[str], bytes]  # gives the bytes of a file of the run


def fingerprints(findings: Iterable[Finding], data: Data) -> dict[Finding, str]:
    """A unique name for each finding, which the report shows (`report/json.py`): the mark of its first place."""
    return {finding: marks[0] for finding, marks in _marks(findings, data).items()}


def _marks(findings: Iterable[Finding], data: Data) -> dict[Finding, list[str]]:
    """A mark for each place of each finding, the first place first.

    A mark is a hash of the path, the code, the key of the message, the text of the line without its spaces, and a number that
    counts places with all these alike. So a place keeps its mark if it is reported together with other places.
    """
    lines: dict[str, list[bytes]] = {}
    counts: Counter[tuple[str, str, str, bytes]] = Counter()
    by_finding = {finding: [""] * len([*taken_apart(finding)]) for finding in findings}
    places = [(place, n, finding) for finding in by_finding for n, place in enumerate(taken_apart(finding))]
    for place, n, finding in sorted(places):
        if place.path not in lines:
            lines[place.path] = _lines(data, place.path)
        file_lines = lines[place.path]
        text = b"".join(file_lines[place.line - 1].split()) if place.line <= len(file_lines) else b""
        key = (place.path, place.code, place.why, text)
        counts[key] += 1
        raw = "\0".join([*key[:3], text.hex(), str(counts[key])])
        by_finding[finding][n] = hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return by_finding


def _lines(data: Data, path: str) -> list[bytes]:
    try:
        return data(path).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    except FilesError:
        return []


def render(findings: Iterable[Finding], data: Data) -> str:
    """The text of a baseline for these findings."""
    marks = _marks(findings, data)
    loud = sorted(finding for finding in marks if finding.suppressed is None)
    entries = [
        {"path": place.path, "code": f.code, "why": f.why, "fingerprint": mark}
        for f in loud
        for place, mark in zip(taken_apart(f), marks[f])
    ]
    return json.dumps({"porter-baseline": VERSION, "findings": entries}, indent=1) + "\n"


def read(file: Path, name: str) -> frozenset[str]:
    """The marks in a baseline. `name`: the file as messages call it. Raises UserError."""
    try:
        document = json.loads(files.read(file, name, limit=files.DOCUMENT))
    except FilesError as error:
        makes, missing = "`porter analyze --write-baseline`", error.key == "missing"
        en, zh = (f"; {makes} makes one", f"；用 {makes} 生成") if missing else ("", "")
        raise UserError(error.text("en") + en, error.text("zh") + zh) from None
    except (ValueError, RecursionError, MemoryError) as error:
        why = error if isinstance(error, ValueError) else type(error).__name__
        raise UserError(f"{name}: not a baseline: {why}", f"{name}：不是基线文件：{why}") from None
    version = document.get("porter-baseline") if isinstance(document, dict) else None
    if version != VERSION:
        raise UserError(
            f"{name}: not a baseline of version {VERSION}; write it anew with --write-baseline",
            f"{name}：不是版本 {VERSION} 的基线文件；请用 --write-baseline 重新生成",
        )
    try:
        return frozenset(entry["fingerprint"] for entry in document["findings"])
    except (KeyError, TypeError):
        raise UserError(
            f"{name}: damaged; write it anew with --write-baseline",
            f"{name}：文件损坏；请用 --write-baseline 重新生成",
        ) from None


def known(findings: Iterable[Finding], data: Data, marks: frozenset[str]) -> frozenset[Finding]:
    """The findings that a baseline with these marks knows."""
    by_finding = _marks(findings, data)
    return frozenset(f for f, all_marks in by_finding.items() if f.suppressed is None and marks.issuperset(all_marks))
