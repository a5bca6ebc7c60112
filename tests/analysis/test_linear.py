"""A file twice as long takes twice the work: calls are counted, as a clock tells something else every time.

What a search inside one call costs (`list.index`) is for benchmarks/linear.py to see.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.inputs import inputs
from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.engine.session import Session
from porter.python import blocks

pytestmark = pytest.mark.slow

PORTER = str(Path(blocks.__file__).parents[1])


@pytest.fixture(scope="module")
def session():
    return open_session()


def calls(data: bytes, session: Session) -> int:
    """How many of porter's own functions, and steps of its generators, an analysis runs."""
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event == "call" and frame.f_code.co_filename.startswith(PORTER)

    sys.setprofile(seen)
    try:
        analyse("a.py", data, session)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "name",
    [
        "a list of devices",
        "environment",
        "globals",
        "helpers of one name",
        "calls by name",
        "one word compared",
        "an environment bound again",
        "waits in a statement",
        "a comparison",
        "branches that leave",
        "questions in one condition",
        "functions that are chosen",
        "attributes that are devices",
        "masks of bytes",
        "questions of Ray",
    ],
)
def test_what_is_said_of_one_does_not_depend_on_how_many_there_are(name, session):
    given = inputs()[f"python: {name}"]
    calls(given.make(20).encode(), session)  # what is read once
    few, some, many = (calls(given.make(n).encode(), session) for n in (40, 80, 160))
    assert many - some < 2.12 * (some - few)
