"""Thousands of Python files that have nothing to do with torch: no edit, no exception, no broken promise."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

import pytest
from drawn import WHOLE

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.rulebook.gate import GATE
from porter.run.gather import gather

pytestmark = pytest.mark.slow

# packages whose files are about torch or CUDA, wherever they are installed
ABOUT = re.compile(
    r"/(?:torch|torchgen|torchvision|torchaudio|functorch|triton|torch_npu|nvidia|transformers|accelerate|porter)(?:/|-)"
)
MOST = 3_000 if WHOLE else 1_600


def python_files() -> list[Path]:
    paths = sysconfig.get_paths()
    found: set[Path] = set()
    for root in (Path(paths["stdlib"]), Path(paths["purelib"]), Path(paths["platlib"])):
        found.update(p for p in root.rglob("*.py") if not ABOUT.search(p.as_posix()))
    return sorted(p for p in found if p.is_file())


@pytest.fixture(scope="module")
def files() -> list[Path]:
    found = python_files()
    return found[:: max(1, len(found) // MOST)]


def test_files_without_torch_are_left_alone(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTER_DEBUG", "1")  # an exception is an exception here
    session, wrong, read = open_session(), [], 0
    for path in files:
        data = path.read_bytes()
        if re.search(rb"\b(?:torch|ray)\b", data):
            continue  # a library that can work with torch, or shares out GPUs, speaks of devices with good reason
        read += 1
        result = analyse(path.name, data, session)
        about_edits = [f for f in result.findings if f.status != "manual" or f.code == "PRT003"]
        if result.auto or result.review or about_edits:
            wrong.append(f"{path}: {[(f.line, f.code, f.status) for f in about_edits] or result.review}")
    assert read > 700, "too few files to say anything"
    assert not wrong, "\n".join(wrong)


def test_what_the_parser_reads_is_left_alone_too(files: list[Path]) -> None:
    """The same with every file past the gate: a word in a comment is enough for that."""
    session, wrong, parsed = open_session(), [], 0
    for path in files[::8]:
        data = path.read_bytes()
        if GATE.search(data) or re.search(rb"torch|cuda|nccl|npu", data, re.IGNORECASE):
            continue  # scipy, for one, imports cupy where there is one
        end = b"" if data[-1:] in (b"\n", b"") else b"\n"
        result = analyse(path.name, data + end + b"# torch\n", session)
        parsed += result.parsed
        if result.auto or result.review or any(f.code != "PRT002" for f in result.findings):
            wrong.append(f"{path}: {[(f.line, f.code, f.why) for f in result.findings]}")
    assert parsed > 80
    assert not wrong, "\n".join(wrong)


def test_nothing_of_them_becomes_a_fact(files: list[Path]) -> None:
    root = Path(sysconfig.get_paths()["stdlib"])
    inside = [p.relative_to(root).as_posix() for p in files if root in p.parents and "site-packages" not in p.parts]
    facts = gather(root, inside)
    assert (facts.own.cuda, facts.constants, facts.accelerators.shims) == ((), (), ())
