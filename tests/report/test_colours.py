"""The colours of code in reports."""

from __future__ import annotations

import pytest
from pygments.lexers import get_lexer_for_filename

from porter.report.colours import LEXERS, coloured


@pytest.mark.parametrize(("name", "suffix"), [(n, s) for n, suffixes in LEXERS.items() if n for s in suffixes.split()])
def test_a_suffix_has_the_lexer_that_pygments_finds_for_it(name: str, suffix: str) -> None:
    assert name in get_lexer_for_filename(f"x.{suffix}").aliases


def test_what_no_lexer_is_for_is_plain() -> None:
    assert coloured("job.slurm", ("export A=1",)) == [""]
    assert coloured("a.unheard", ("export A=1",)) == [""]
    assert coloured("job.sh", ("export A=1",)) != [""]
