"""Findings that are known and stay quiet. A line that moves keeps its fingerprint, a line that is edited does not."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from porter.errors import UserError
from porter.files import read as files
from porter.files.errors import FilesError
from porter.finding import Finding

VERSION = 1  # goes up when fingerprints are made in another way
Data = Callable[[str], bytes]  # the bytes of a file of the run


def fingerprints(findings: Iterable[Finding], data: Data) -> dict[Finding, str]:
    """A name for each of all findings, as the report shows it (`report/json.py`), unique among them.

    It is made of the path, the code, the key of the message, the text of the line without its layout, and which one of
    those it is.
    """
    lines: dict[str, list[bytes]] = {}
    counts: Counter[tuple[str, str, str, bytes]] = Counter()
    by_finding = {}
    for finding in sorted(findings):
        if finding.path not in lines:
            lines[finding.path] = _lines(data, finding.path)
        file_lines = lines[finding.path]
        text = b"".join(file_lines[finding.line - 1].split()) if finding.line <= len(file_lines) else b""
        key = (finding.path, finding.code, finding.why, text)
        counts[key] += 1
        raw = "\0".join([*key[:3], text.hex(), str(counts[key])])
        by_finding[finding] = hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return by_finding


def _lines(data: Data, path: str) -> list[bytes]:
    try:
        return data(path).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    except FilesError:
        return []


def render(findings: Iterable[Finding], data: Data) -> str:
    marks = fingerprints(findings, data)
    loud = sorted(finding for finding in marks if finding.suppressed is None)
    entries = [{"path": f.path, "code": f.code, "why": f.why, "fingerprint": marks[f]} for f in loud]
    return json.dumps({"porter-baseline": VERSION, "findings": entries}, indent=1) + "\n"


def read(file: Path, name: str) -> frozenset[str]:
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
    return frozenset(f for f, mark in fingerprints(findings, data).items() if f.suppressed is None and mark in marks)
