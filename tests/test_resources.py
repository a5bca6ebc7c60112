"""Where porter keeps what can be rebuilt."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from porter.resources import cache_dir


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has a folder of its own for it")
@pytest.mark.parametrize(
    ("chosen", "base", "home", "expected"),
    [
        ("/chosen", "/base", "/home/me", "/chosen"),
        ("", "/base", "/home/me", "/base/porter"),
        (
            "",
            "base",
            "/home/me",
            "/home/me/.cache/porter",
        ),  # a relative path means another folder wherever porter starts
        ("", "", "/home/me", "/home/me/.cache/porter"),
        ("", "", "me", f"{os.devnull}/porter"),  # a user without a home
    ],
)
def test_the_cache(chosen: str, base: str, home: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PORTER_CACHE_DIR", chosen), ("XDG_CACHE_HOME", base), ("HOME", home)):
        monkeypatch.setenv(name, value)
    assert cache_dir() == Path(expected)
