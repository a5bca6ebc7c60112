"""What the vendor's tuning guides say of a program, a launcher or a notebook, porter says too, at the line they mean.

A folder of inputs/ is one sentence of a guide, named by the guide's number. `fires.*` says at each line what has to be told
there, `# expect: PRT630` or `# expect: advice adam-beta2`; its twin `silent.*` comes near, and none of it may be told. What
is not answered yet says so in a line of its own, `# open: why`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from porter.advice.rank import advise
from porter.advice.world import gather
from porter.analysis.analyse import analyse, kind, may_concern
from porter.analysis.session import open_session
from porter.engine.facts import Facts
from porter.engine.together import lines_of
from porter.files.kinds import PYTHON, kind_of
from porter.files.script_texts import SPEAKS
from porter.target import Target

INPUTS = sorted((Path(__file__).parent / "inputs").iterdir())
EXPECTED = re.compile(r"# expect: ((?:PRT\d{3}|advice [\w-]+))")
OPEN = re.compile(r"(?m)^# open: (.+)")


def found(folder: Path, name: str) -> Path:
    [path] = folder.glob(f"{name}.*")
    return path


def expected(text: str) -> set[tuple[int, str]]:
    return {(n, m[1]) for n, line in enumerate(text.splitlines(), 1) for m in EXPECTED.finditer(line)}


def told(path: Path) -> set[tuple[int, str]]:
    """Lines with the codes of the findings, and the advice, of a repository that has only this file."""
    session, data = open_session(Target(), Facts()), path.read_bytes()
    name = f"train{path.suffix}"
    relevant = kind(name) == PYTHON or may_concern(name, data, session)
    results = [analyse(name, data, session)] if relevant else []
    findings = [f for result in results for f in result.findings]
    assert not [f for f in findings if f.code in ("PRT002", "PRT003")], "an input has to be a program"
    scripts = [(name, data)] if kind_of(name) in SPEAKS else []
    given = advise(gather(results, findings, scripts, "A2"))
    answers = {(line, f.code) for f in findings for line in lines_of(f)}
    return answers | {(place.line, f"advice {a.row['id']}") for a in given for place in a.places}


def cases() -> list[object]:
    marks = {}
    for folder in INPUTS:
        why = OPEN.search(found(folder, "fires").read_text())
        marks[folder] = [pytest.mark.xfail(reason=why[1], strict=True)] if why else []
    return [pytest.param(folder, id=folder.name, marks=marks[folder]) for folder in INPUTS]


@pytest.mark.parametrize("folder", cases())
def test_told_where_the_guide_means_it(folder: Path) -> None:
    path = found(folder, "fires")
    wanted = expected(path.read_text())
    assert wanted
    asked = {answer for _, answer in wanted}
    assert {(line, answer) for line, answer in told(path) if answer in asked} == wanted


@pytest.mark.parametrize("folder", INPUTS, ids=lambda folder: folder.name)
def test_nothing_is_told_of_what_comes_near(folder: Path) -> None:
    path = found(folder, "silent")
    assert not expected(path.read_text())
    asked = {answer for _, answer in expected(found(folder, "fires").read_text())}
    assert not [(line, answer) for line, answer in sorted(told(path)) if answer in asked]
