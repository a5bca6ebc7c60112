"""The example of a rule, in families whose own tests do not ask: porter finds it, and makes of it what the stanza says."""

from __future__ import annotations

import re

import pytest

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.finding import apply
from porter.rulebook.texts import Texts
from porter.target import Target

ELSEWHERE = re.compile(
    "PRT(?:0|1|30[3-9]|31|35|4|5|8[2-6])"
)  # test_device_rules, test_native_rules, test_graphs_rules, tests/text
OTHERS = {"PRT217": "2.13.0", "PRT320": "2.6.0.post5"}  # of releases after, or before, the one that is taken unasked
NEEDS_FACTS = {"PRT705"}  # of a library: tests/reach


@pytest.mark.parametrize("code", [code for code in Texts().codes() if not ELSEWHERE.match(code)])
def test_the_example_of_a_rule(code: str) -> None:
    rule = Texts().rule(code)
    session = open_session(Target(OTHERS[code])) if code in OTHERS else open_session()
    result = analyse("before.py", rule.before.encode(), session)
    assert (code in {finding.code for finding in result.findings}) == (code not in NEEDS_FACTS)
    assert apply(rule.before.encode(), result.review).decode() == rule.after
