"""The folders of tests/fixtures, and the project that each of them is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from porter.analysis.session import open_session
from porter.engine.session import Session
from porter.reach.known import read
from porter.run.gather import gather
from porter.target import DEFAULT_TORCH_NPU, Target

HERE = Path(__file__).parent / "fixtures"
CASES = sorted({p.parent for p in HERE.glob("*/before.*")})


def beside(case: Path, stem: str) -> Path:
    """before.sh, after.sh, review.sh: the files of a case have one suffix."""
    return case / (stem + _before(case).removeprefix("before"))


@cache
def _before(case: Path) -> str:
    (before,) = case.glob("before.*")
    return before.name


def called(case: Path) -> str:
    name = beside(case, "before").name
    return name if "." in name.removeprefix("before.") or not name[7:8].isupper() else name[7:]


def session(case: Path) -> Session:
    made = {beside(case, "after").name, beside(case, "review").name, "findings.txt"}
    others = sorted(p.relative_to(case).as_posix() for p in case.rglob("*") if p.is_file() and p.name not in made)
    text = (case / "target.txt").read_text().strip() if (case / "target.txt").exists() else DEFAULT_TORCH_NPU
    target = Target(*text.split(" "))
    libraries = read([case / "facts.json"] if (case / "facts.json").exists() else [], target)
    return open_session(target, gather(case, others, target=target), libraries)
