"""Whatever module is written: the promises hold, a second pass changes nothing, findings and edits agree."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter

import libcst as cst
import pytest
from drawn import examples
from engine_modules import modules, nest
from engine_world import CORE_SESSION, OURS, look, port
from hypothesis import HealthCheck, given, settings

from porter.analysis.session import open_session
from porter.engine.session import Quiet, Session
from porter.finding import FileResult, apply
from porter.python.stored import LINE_END

ALL_RULES = open_session()


def comments(data: bytes) -> Counter[str]:
    lines = io.StringIO(LINE_END.sub(b"\n", data).decode("utf-8-sig"))  # the tokenizer knows no lone \r
    return Counter(t.string for t in tokenize.generate_tokens(lines.readline) if t.type == tokenize.COMMENT)


def holds(data: bytes, session: Session) -> FileResult:
    """All that is promised of every file, seen from outside."""
    result = look(data, session)
    assert look(data, session) == result
    assert list(result.findings) == sorted(set(result.findings))
    assert not [f for f in result.findings if f.code in ("PRT002", "PRT003")]
    for unsafe in (False, True):
        changes = result.review if unsafe else result.auto
        assert list(changes) == sorted(changes)
        assert all(a.end <= b.start for a, b in zip(changes, changes[1:]))
        new = apply(data, changes)
        ast.parse(new.decode("utf-8-sig"))
        cst.parse_module(new)
        assert not comments(data) - comments(new)
        assert set(LINE_END.findall(new)) <= set(LINE_END.findall(data)) or not LINE_END.search(data)
        assert data.endswith((b"\n", b"\r")) == new.endswith((b"\n", b"\r"))
        assert new[:3] == data[:3]
        assert new.count(OURS.encode()) <= max(1, data.count(b"import torch"))
        again = look(new, session)
        assert (again.review if unsafe else again.auto) == (), "a second pass edits again"
        left = ("auto", "review") if unsafe else ("auto",)
        assert not [f for f in again.findings if f.status in left and f.suppressed is None], "reported, but not made"
        for f in result.findings:
            if f.suppressed is not None:
                assert f.edit == ()
            elif f.status == "auto" or unsafe and f.status == "review":
                # an edit inside a larger one belongs to that one; one that only adds lines below has none of its own
                assert all(any(c.start <= e.start and e.end <= c.end for c in changes) for e in f.edit)
    spans = [(f.line, f.column, f.end_line, f.end_column) for f in result.findings]
    lines = LINE_END.split(data)
    assert all((a, b) <= (c, d) and 1 <= a <= c <= len(lines) and 1 <= b for a, b, c, d in spans)
    if not any(f.status != "manual" and f.suppressed is None for f in result.findings):
        assert result.auto == result.review == ()
    return result


@pytest.mark.slow
@settings(max_examples=examples(120), suppress_health_check=list(HealthCheck))
@given(modules())
def test_promises_with_the_core_rules(data: bytes) -> None:
    holds(data, CORE_SESSION)


@pytest.mark.slow
@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(modules())
def test_promises_with_all_rules(data: bytes) -> None:
    holds(data, ALL_RULES)


@pytest.mark.slow
@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(modules())
def test_the_path_is_only_a_label(data: bytes) -> None:
    one, other = look(data, path="a/b.py"), look(data, path="x.py")
    assert (one.auto, one.review) == (other.auto, other.review)
    assert [(f.line, f.column, f.code) for f in one.findings] == [(f.line, f.column, f.code) for f in other.findings]


@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(modules())
def test_a_suppression_of_everything_leaves_everything(data: bytes) -> None:
    codes = sorted({f.code for f in look(data).findings if not f.code.startswith("PRT00")})
    quiet = open_session(quiet=Quiet(frozenset(codes)))
    quiet.__dict__["rules"] = CORE_SESSION.rules
    assert look(data, quiet).auto == look(data, quiet).review == ()


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_random_nests(block: int) -> None:
    """The expected text is built beside the input, so nothing is judged by the engine itself."""
    tried = 0
    for seed in range(block * 65, block * 65 + 65):
        if (made := nest(seed)) is None:
            continue
        tried += 1
        before, after = made
        newline = "\r\n" if "\r\n" in before else "\n"
        source = f"import torch{newline}{before}"
        # only what is asked of a device itself runs without torch_npu
        imports = f"import torch{newline}{OURS}{newline}" if loads(before, after) else f"import torch{newline}"
        new = port(source).decode()
        assert new == imports + after, f"seed {seed}"
        assert port(new).decode() == new
        cst.parse_module(new)
    assert tried >= 50


def loads(before: str, after: str) -> bool:
    """Whether an edit needs torch_npu: a comparison alone does not."""
    return before.replace("d.type == 'cuda'", "d.type == 'npu'") != after


@pytest.mark.slow
def test_the_nests_are_worth_it() -> None:
    made = [m for m in map(nest, range(1300)) if m]
    assert len(made) >= 1000
    assert sum(before != after for before, after in made) > 800
