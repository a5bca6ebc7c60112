"""Folders for the tests of rules/*.toml: one for the rules, one for the cache."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules_samples import forget


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache folder of its own, and nothing remembered inside the process."""
    monkeypatch.setenv("PORTER_CACHE_DIR", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache"
    monkeypatch.undo()
    forget()


@pytest.fixture
def folder(tmp_path, cache):
    def write(text: str | bytes, name: str = "a.toml") -> Path:
        place = tmp_path / "rules"
        place.mkdir(exist_ok=True)
        (place / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return place

    return write
