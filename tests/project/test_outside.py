"""Programs that import what lies beside the project; what Sphinx reads to make pages is none."""

from __future__ import annotations

import pytest

from porter.project.imports import Project, imports
from porter.project.outside import outside

TEXT = b'import sys\nimport torch\nsys.path.append("../their_code")\nimport network\n'


@pytest.mark.parametrize(("path", "found"), [("train.py", True), ("docs/conf.py", False), ("reconf.py", True)])
def test_what_a_program_imports_from_beside(path: str, found: bool) -> None:
    project = Project([path], lambda _: list(imports(TEXT)))
    assert [*outside([path], {path: TEXT}, project, "own", lambda _: b"")] == [(path, "their_code")] * found
