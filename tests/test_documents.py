"""The documents: short where people begin, in both languages, and no link leads nowhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    p.relative_to(ROOT).as_posix() for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("rules/*.md"))
)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")


@cache
def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings, and those that a page names itself."""
    text = page.read_text("utf-8")
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {*re.findall(r'<a (?:id|name)="([^"]+)"', text)} | {
        re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads
    }


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for path, anchor in LINK.findall(re.sub(r"`[^`\n]*`", "", (ROOT / page).read_text("utf-8"))):
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), f"{page} links to {path}"
        assert not anchor or anchor in anchors(target), f"{page} links to {path}#{anchor}"


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
def test_a_newcomer_reads_one_page(page: str) -> None:
    assert len((ROOT / page).read_text("utf-8").splitlines()) < 150


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.startswith(("README", "docs/", "SECURITY")) and ".zh." not in p]
)
def test_what_users_read_is_there_in_chinese(page: str) -> None:
    assert (ROOT / page.replace(".md", ".zh.md")).is_file()
