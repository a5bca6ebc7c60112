"""Compiled templates: what they say is the same as without, whatever lies in the cache."""

from __future__ import annotations

import pytest
from command_line import Porter, write

from porter.report import compiled_pages
from porter.run.cache import Cache


def page(porter: Porter) -> str:
    return porter("analyze", ".", "--format", "html").text


@pytest.fixture
def porter(tmp_path, monkeypatch):
    return Porter(monkeypatch, write(tmp_path / "r", {"a.py": "import torch\n\ntorch.cuda.synchronize()\n"}))


@pytest.fixture
def compiled(porter):
    return porter.folder.parent / "cache"


@pytest.mark.slow
def test_a_page_of_compiled_templates_is_the_same_page(porter, compiled, monkeypatch):
    first = page(porter)
    files = {file: file.read_bytes() for file in compiled.glob("page-*.bin")}
    assert len(files) > 5 and "<html" in first
    made = []
    monkeypatch.setattr("jinja2.Environment._generate", lambda *given, **more: made.append(given))
    assert page(porter) == first and not made
    assert {file: file.read_bytes() for file in compiled.glob("page-*.bin")} == files


@pytest.mark.slow
@pytest.mark.parametrize("change", [lambda data: data[:-9], lambda data: data[:-1] + b"\0", lambda data: b"", None])
def test_a_damaged_template_is_compiled_anew(porter, compiled, change):
    first = page(porter)
    for file in compiled.glob("page-*.bin"):
        file.write_bytes(change(file.read_bytes())) if change else file.chmod(0o622)
    assert page(porter) == first


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_no_trouble(porter, compiled):
    compiled.write_text("a file stands where the folder would be")
    assert "<html" in page(porter) and compiled.is_file()


@pytest.mark.slow
def test_another_jinja_compiles_anew_and_the_newest_stay(porter, compiled, monkeypatch):
    page(porter)
    before = {*compiled.glob("page-*.bin")}
    monkeypatch.setattr("jinja2.__version__", "0")
    page(porter)
    after = {*compiled.glob("page-*.bin")}
    assert before < after
    monkeypatch.setattr(compiled_pages, "_MOST", 3)
    monkeypatch.setattr("jinja2.__version__", "1")
    page(porter)
    assert len([*compiled.glob("page-*.bin")]) == 3


@pytest.mark.slow
def test_cleaning_removes_them(porter, compiled):
    page(porter)
    assert Cache().clean() and not compiled.exists()
