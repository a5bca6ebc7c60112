"""Who imports the packages that a project asks for."""

from __future__ import annotations

import pytest

from porter.project.package_users import users

FORMS = [
    "import fairscale",
    "  import os as system, fairscale.nn",
    "from fairscale.nn import Pipe",
    "import a , b.c,fairscale",
]


@pytest.mark.parametrize("form", FORMS)
def test_an_import_is_seen(tmp_path, form):
    (tmp_path / "requirements.txt").write_text("fairscale\n")
    imported, unimported = users(tmp_path, ["a.py", "requirements.txt"], {"a.py": form.encode()})
    assert ("fairscale", "a.py") in imported and "fairscale" not in unimported


def test_a_long_line_of_imports_is_read_in_one_way(tmp_path):
    """Where commas and blanks can be shared out in several ways, the time doubles with each name."""
    (tmp_path / "requirements.txt").write_text("fairscale\n")
    text = "import " + ", ".join(f"module{n}" for n in range(5000)) + "\n# fairscale\n"
    imported, unimported = users(tmp_path, ["a.py", "requirements.txt"], {"a.py": text.encode()})
    assert not imported and "fairscale" in unimported
