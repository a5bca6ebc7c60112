"""Where porter keeps what can be rebuilt."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from porter.resources import cache_dir, is_ours, state_dir


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


def test_windows_has_a_folder_of_its_own_and_asks_no_user_number(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PORTER_CACHE_DIR", "PORTER_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.delattr(os, "geteuid", raising=False)
    assert cache_dir() == state_dir() == tmp_path / "porter"
    assert is_ours(tmp_path) and not is_ours(tmp_path / "none")
