"""One folder per case: before.* -> after.* (automatic edits), review.* (with --unsafe), findings.txt. What follows the
first dot says what the file is; `before.Dockerfile`, whose kind is a name, is called by it.

Bytes are compared, not stripped text. Other files in the folder are the rest of the project. `pytest --accept` rewrites
the goldens; `git diff` is the review. A facts.json is what `--facts` reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from cases import CASES, beside, called, session

from porter.analysis.analyse import analyse
from porter.checks.registry import load
from porter.engine.session import Session
from porter.engine.together import lines_of
from porter.finding import FileResult, apply
from porter.rulebook.schema import PLACEHOLDER
from porter.rulebook.texts import Texts

TEXTS = Texts()


def lines(findings) -> str:
    return "".join(
        f"{f.line}:{f.column} {f.code} {f.why} {f.severity} {f.status}{'' if f.suppressed is None else ' suppressed'}"
        f"{''.join(f', {line}' for line in lines_of(f)[1:])}\n"
        for f in findings
    )


@dataclass
class Port:
    """What porter says of a fixture, and what it makes of it: `review` has the edits for review as well."""

    about: Session
    name: str
    before: bytes
    result: FileResult

    @cached_property
    def after(self) -> bytes:
        return apply(self.before, self.result.auto)

    @cached_property
    def review(self) -> bytes:
        return apply(self.before, self.result.review)

    def analysed(self, text: bytes) -> FileResult:
        return self.result if text == self.before else analyse(self.name, text, self.about)


def with_marks() -> Iterator[object]:
    """Each case; one whose reasons shorter ones show all is slow: `make quick` leaves it out."""
    shown = {case: _reasons(case) for case in CASES}
    times = Counter(reason for reasons in shown.values() for reason in reasons)
    slow = set()
    for case in sorted((case for case in CASES if shown[case]), key=_length, reverse=True):
        if all(times[reason] > 1 for reason in shown[case]):
            slow.add(case)
            times.subtract(shown[case])
    for case in CASES:
        yield pytest.param(case, id=case.name, marks=[pytest.mark.slow] * (case in slow))


def _reasons(case: Path) -> frozenset[tuple[str, str]]:
    golden = case / "findings.txt"
    rows = golden.read_text().splitlines() if golden.exists() else []
    return frozenset((code, why) for row in rows for _, code, why, *_ in (row.split(" "),))


def _length(case: Path) -> int:
    return beside(case, "before").stat().st_size


@pytest.fixture(scope="module", params=with_marks())
def case(request) -> Path:
    return request.param


@pytest.fixture(scope="module")  # the tests of a case come one after another
def port(case: Path) -> Port:
    before, about, name = beside(case, "before").read_bytes(), session(case), called(case)
    return Port(about, name, before, analyse(name, before, about))


def test_fixture(case: Path, port: Port, request) -> None:
    assert case.name.partition("_")[0] in load().codes, "the folder is not named for a code"
    result, after, review = port.result, port.after, port.review
    for finding in result.findings:
        rule, known = TEXTS.rule(finding.code), {name for name, _ in finding.values}
        for text in (*rule.messages[finding.why].values(), *rule.details.get(finding.why, {}).values()):
            assert known.issuperset(PLACEHOLDER.findall(text)), (
                f"{finding.code} {finding.why} has no value for all of {text!r}"
            )
    after_file, review_file = beside(case, "after"), beside(case, "review")
    if request.config.getoption("--accept"):
        (case / "findings.txt").write_text(lines(result.findings), newline="\n")
        after_file.write_bytes(after)
        review_file.write_bytes(review) if review != after else review_file.unlink(missing_ok=True)
    assert lines(result.findings) == (case / "findings.txt").read_text()
    assert after == after_file.read_bytes()
    assert review == (review_file if review_file.exists() else after_file).read_bytes()
    assert not [f for f in result.findings if f.code == "PRT003"], "a promise was broken"
    assert _kept(port.before, review) * 2 >= _kept(port.before, port.before), (
        "more changes than stays: where does it stop?"
    )


@pytest.mark.slow  # two more analyses of each fixture
def test_a_port_is_settled(port: Port) -> None:
    again = port.analysed(port.after)
    unsafe = again if port.review == port.after else port.analysed(port.review)
    assert not again.auto, "a second pass edits again"
    assert not [f for f in again.findings if f.status == "auto" and f.suppressed is None], "reported, but not made"
    assert not unsafe.review, "a second pass with --unsafe edits again"
    for ported in (again, unsafe):
        assert not _harms(ported.findings) - _harms(port.result.findings), "what porter wrote has a fault of its own"


# what is said of one thing: a name that the target lacks, before and after its import is ported; what waits, by the worst of it;
# `loss.data[0]`, which reads what `loss.item()` reads once it is that
ALIKE = {"PRT104": "PRT701", "PRT105": "PRT701", "PRT601": "PRT630", "PRT602": "PRT630", "PRT711": "PRT630"}


def _harms(findings) -> Counter[str]:
    """What is more than a note, by its code; the places move."""
    harms = (f for f in findings if f.severity != "note" and not f.optional)
    return Counter(ALIKE.get(f.code, f.code) for f in harms for _ in lines_of(f))


def _kept(before: bytes, after: bytes) -> int:
    """The lines that stay."""
    lines = before.splitlines()
    return sum(1 for line in after.splitlines() if line.strip() and line in lines)


def test_every_code_has_a_fixture_that_shows_it() -> None:
    """But PRT003: no file that porter can read brings it about; test_engine_promises plants bugs that do."""
    shown = {name for case in CASES if (name := case.name.partition("_")[0]) in (case / "findings.txt").read_text()}
    assert sorted(load().codes - shown) == ["PRT003"]
