"""What is kept, and what processes hand each other, has all that a result has: a field that is forgotten is lost on the way."""

from __future__ import annotations

import marshal
from dataclasses import MISSING, fields

from porter.finding import Change, FileResult, Finding, Site
from porter.run.plain import result_of, row_of

OF_A_FINDING = {
    "path": "a.py", "line": 3, "column": 5, "code": "PRT101", "why": "default", "values": (("name", "x"),), "end_line": 4,
    "end_column": 6, "severity": "slow", "status": "review", "effort": "hours", "edit": (Change(1, 2, b"new"),),
    "suppressed": "a reason", "optional": True, "stands_for": (7, 9),
}  # fmt: skip
FINDING = Finding(**OF_A_FINDING)
OF_A_RESULT = {
    "path": "a.py", "findings": (FINDING,), "auto": (Change(1, 2, b"new"),), "review": (Change(3, 4, b""),), "lines": 9,
    "parsed": True, "digest": "d", "apis": (("torch.f", 2, 1),), "observed": (("value:lr", "0.1", 3),),
    "sites": (Site("device", 8, 3, "option", "auto"),), "ties": (("a", "b"),), "inventory": (FINDING,),
}  # fmt: skip


def test_nothing_is_lost_on_the_way() -> None:
    result = FileResult(**OF_A_RESULT)
    again = result_of(marshal.loads(marshal.dumps(row_of(result))))
    for field in fields(FileResult):
        assert getattr(again, field.name) == getattr(result, field.name) != field.default, field.name
    for field in fields(Finding):  # fields that do not count where findings are compared
        kept = getattr(again.findings[0], field.name)
        assert kept == OF_A_FINDING[field.name] and (field.default is MISSING or kept != field.default), field.name
