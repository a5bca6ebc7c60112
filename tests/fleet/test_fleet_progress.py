"""How far a fleet is: for people on a terminal, for programs in lines, and for nobody."""

from __future__ import annotations

import io
import json
import re
import sys

import pytest

from porter.commands.fleet_progress import shown
from porter.fleet.entries import Entry

ONE, OTHER = Entry("l:1", "a", "a-1", "a"), Entry("l:2", "b", "b-1", "b")
WHY = {"en": "it hangs", "zh": "卡住了"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(monkeypatch, stream: io.StringIO, as_lines: bool, quiet: bool, lang: str) -> tuple[str, str]:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(sys, "stdout", out)
    with shown(as_lines, quiet, lang) as tell:
        tell.begin(2)
        tell.done(ONE, "done", None)
        tell.done(OTHER, "failed", WHY)
        monkeypatch.setattr(sys, "stdout", io.StringIO())  # an engine may send its own words elsewhere
        tell.done(ONE, "kept", None)
    return out.getvalue(), stream.getvalue()


@pytest.mark.parametrize(("lang", "words"), [("en", "1 without a result"), ("zh", "1 个没有结果")])
def test_a_bar_on_a_terminal(monkeypatch, lang, words):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    out, err = told(monkeypatch, Terminal(), False, False, lang)
    assert out == "" and words in re.sub(r"\x1b\[[\d;?]*\w", "", err)


@pytest.mark.parametrize(("stream", "quiet"), [(io.StringIO(), False), (Terminal(), True)])
def test_nothing_elsewhere(monkeypatch, stream, quiet):
    assert told(monkeypatch, stream, False, quiet, "en") == ("", "")


def test_lines_for_programs(monkeypatch):
    out, err = told(monkeypatch, Terminal(), True, False, "en")
    first, *rest = map(json.loads, out.splitlines())
    assert first == {"event": "begin", "total": 2} and err == ""
    assert [(row["done"], row["id"], row["state"], row["why"]) for row in rest] == [
        (1, "a-1", "done", None), (2, "b-1", "failed", WHY), (3, "a-1", "kept", None),
    ]  # fmt: skip
