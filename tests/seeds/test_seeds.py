"""What the vendor's tuning guides say of a program, a launcher, a notebook or a log, porter says too, at the line they mean.

A folder of inputs/ is one sentence of a guide, named by the guide's number. `fires.*` says at each line what has to be told
there, `# expect: PRT630`, `# expect: advice adam-beta2` or, of a log, `# expect: cause nan-loss`, and behind it perhaps
`# says: words` of the text; its twin `silent.*` comes near, and none of it may be told. Both may be folders: a repository; and `library` beside them a package that it calls.
What is not answered yet says so in a file open-fires.txt, why; what is told falsely in open-silent.txt.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import tomli
from command_line import Porter
from diagnose_logs import diagnosed

from porter.advice.rank import Advice, advise
from porter.advice.world import gather
from porter.analysis.analyse import analyse, kind, may_concern
from porter.analysis.session import open_session
from porter.engine.facts import Facts
from porter.engine.libraries import Libraries
from porter.engine.together import lines_of
from porter.files.kinds import PYTHON, kind_of
from porter.files.script_texts import SPEAKS
from porter.finding import FileResult, Finding
from porter.reach.fact_file import make
from porter.reach.known import read
from porter.rulebook.texts import Texts
from porter.run.config import Settings
from porter.run.run import run
from porter.target import Target

HERE = Path(__file__).parent
INPUTS = sorted((HERE / "inputs").iterdir())
EXPLAINED = tomli.loads((HERE / "explained.toml").read_text("utf-8"))["page"]
EXPECTED = re.compile(
    r"# expect( anywhere)?: ((?:PRT\d{3}|(?:advice|cause) [\w-]+))(?: # says: (.+?)(?=\s*(?:# expect|[\"]?[},]?$)))?"
)
SOC = re.compile(r"(?m)^# soc: (\w+)")
MARKED = re.compile(r"\s*# expect.*")
TEXTS = Texts()


class Told(NamedTuple):
    path: str  # "" of an input that is one file
    line: int
    answer: str
    text: str = ""


def found(folder: Path, name: str) -> Path:
    [path] = [path for path in folder.iterdir() if path.stem == name]
    return path


def files(path: Path) -> Iterator[tuple[str, str]]:
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file():
                yield file.relative_to(path).as_posix(), file.read_text()
    else:
        yield "", path.read_text()


def expected(path: Path) -> list[Told]:
    return [
        Told(name, 0 if m[1] else n, m[2], m[3] or "")
        for name, text in files(path)
        for n, line in enumerate(text.splitlines(), 1)
        for m in EXPECTED.finditer(line)
    ]


def told(path: Path, scratch: Path) -> list[Told]:
    if path.suffix == ".log":
        return list(_diagnosed(path))
    soc = next((m[1] for _, text in files(path) if (m := SOC.search(text))), "A2")
    return list(_of_repository(path, scratch, soc) if path.is_dir() else _of_file(path, soc))


def _diagnosed(path: Path) -> Iterator[Told]:
    lines = [MARKED.sub("", line) for line in path.read_text().splitlines()]
    for answer in diagnosed("\n".join(lines)).answers:
        text = " ".join(part["en"] for part in (answer.title, answer.why, answer.cure))
        for line in {0, answer.evidence[0].line}:
            yield Told("", line, f"cause {answer.name}", text)


def _of_file(path: Path, soc: str) -> Iterator[Told]:
    """Of a repository that has only this file."""
    session, data, name = open_session(Target(soc=soc), Facts()), path.read_bytes(), f"train{path.suffix}"
    relevant = kind(name) == PYTHON or may_concern(name, data, session)
    results = [analyse(name, data, session)] if relevant else []
    scripts = [(name, data)] if kind_of(name) in SPEAKS else []
    yield from (place._replace(path="") for place in _told(results, scripts, soc))


def _of_repository(path: Path, scratch: Path, soc: str) -> Iterator[Told]:
    root, target = scratch / path.name, Target(soc=soc)
    shutil.copytree(path, root)
    (root / ".git").mkdir()
    session = open_session(target, Facts(), _of_libraries(path.parent / "library", scratch, target))
    results = run(root, [str(root)], Settings(jobs=1), session).files
    scripts = [(name, text.encode()) for name, text in files(path) if kind_of(name) in SPEAKS]
    yield from _told(results, scripts, soc)


def _of_libraries(folder: Path, scratch: Path, target: Target) -> Libraries:
    """What `porter analyze --library` says of a library beside the input."""
    if not folder.exists():
        return Libraries()
    [package] = folder.iterdir()
    facts = scratch / "facts.json"
    facts.write_text(json.dumps(make(package, open_session(target))))
    return read([facts], target)


def _told(results: Iterable[FileResult], scripts: Iterable[tuple[str, bytes]], soc: str) -> Iterator[Told]:
    results = list(results)
    findings = [f for result in results for f in result.findings]
    assert not [f for f in findings if f.code in ("PRT002", "PRT003")], "an input has to be a program"
    for f in findings:
        for line in lines_of(f):
            yield Told(f.path, line, f.code, _words(f))
    for a in advise(gather(results, findings, scripts, soc)):
        for place in a.places:
            yield Told(place.path, place.line, f"advice {a.row['id']}", _advised(a))


def _words(f: Finding) -> str:
    return f"{TEXTS.message(f)} {TEXTS.details(f)}"


def _advised(a: Advice) -> str:
    return " ".join([a.text("title", "en"), a.text("text", "en"), a.snippet()])


def cases(of: str) -> list[object]:
    """What is open is marked: no input that is told may stay so."""
    params = []
    for folder in INPUTS:
        note = folder / f"open-{of}.txt"
        marks = [pytest.mark.xfail(reason=note.read_text().strip(), strict=True)] if note.exists() else []
        params.append(pytest.param(folder, id=folder.name, marks=marks))
    return params


@pytest.mark.parametrize("folder", cases("fires"))
def test_told_where_the_guide_means_it(folder: Path, tmp_path: Path) -> None:
    path = found(folder, "fires")
    wanted = expected(path)
    assert wanted
    anywhere = any(not place.line for place in wanted)
    asked = {place.answer for place in wanted}
    answers = [place for place in told(path, tmp_path) if place.answer in asked]
    heard = {place[:3] for place in answers if bool(place.line) != anywhere or path.suffix != ".log"}
    assert heard == {place[:3] for place in wanted}
    for place in wanted:
        assert place.text in next(other.text for other in answers if other[:3] == place[:3])


@pytest.mark.parametrize("folder", cases("silent"))
def test_nothing_is_told_of_what_comes_near(folder: Path, tmp_path: Path) -> None:
    path = found(folder, "silent")
    assert not expected(path)
    asked = {place.answer for place in expected(found(folder, "fires"))}
    assert not [place[:3] for place in sorted(told(path, tmp_path)) if place.answer in asked]


def pages() -> list[object]:
    return [
        pytest.param(
            page,
            id=page["name"],
            marks=[pytest.mark.xfail(reason=page["open"], strict=True)] if "open" in page else [],
        )
        for page in EXPLAINED
    ]


@pytest.mark.parametrize("page", pages())
def test_a_page_says_what_the_guide_says(page: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    porter = Porter(monkeypatch, tmp_path)
    for lang in ("en", "zh"):
        own, twin = (
            " ".join(porter("explain", page[name], "--lang", lang, *_target(page.get(f"{name}_soc"))).text.split())
            for name in ("name", "twin")
        )
        assert re.search(page[lang], own)
        assert not re.search(page[lang], twin)


def _target(soc: str | None) -> list[str]:
    return ["--target", f"soc={soc}"] if soc else []
