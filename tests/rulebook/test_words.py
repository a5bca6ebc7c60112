"""rules/words/*.toml: what porter says beside its findings, in both languages, and nothing that nobody says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from porter.resources import rules_dir, templates_dir
from porter.rulebook import compiled
from porter.rulebook.errors import RuleError
from porter.rulebook.schema_words import build
from porter.rulebook.words import both, speaker, words

ROOMS = sorted(path.stem for path in (rules_dir() / "words").glob("*.toml"))
_CHINESE = re.compile(r"[一-鿿]")


@cache
def spelt() -> set[str]:
    """What stands in code between quotes, or between a quote and a brace, quotes and braces included."""
    porter, pages = Path("porter").resolve().rglob("*.py"), Path("docs").resolve().glob("*_pages.py")
    piece = re.compile(r"""(?=(["'}][\w.-]+["'{]))""")
    return {
        of for path in (*porter, *templates_dir().iterdir(), *pages) for of in piece.findall(path.read_text("utf-8"))
    }


@pytest.mark.parametrize("room", ROOMS)
def test_every_text_has_its_language(room):
    en, zh = words(room, "en"), words(room, "zh")
    assert en.keys() == zh.keys() and en
    assert not [key for key, text in en.items() if _CHINESE.search(text)]
    same = {key for key, text in zh.items() if not _CHINESE.search(text)}  # names, commands, punctuation
    assert not [key for key in same if en[key] != zh[key] and re.search("[a-z]+ [a-z]+ [a-z]+", en[key])]


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "cli"])  # test_help_speaks_chinese has that
def test_somebody_says_it(room):
    assert [key for key in words(room, "en") if spelt().isdisjoint(_spellings(key))] == []


def _spellings(key: str) -> Iterator[str]:
    """As code may write a key: whole, f"head.{x}" or "head." + x, f"{x}.tail" or x + ".tail"."""
    for quote in "\"'":
        yield f"{quote}{key}{quote}"
        for cut in re.finditer(r"[._]", key):
            head, tail = key[: cut.end()], key[cut.start() :]
            yield from (f"{quote}{head}{{", f"{quote}{head}{quote}", f"}}{tail}{quote}", f"{quote}{tail}{quote}")


def test_only_the_room_that_is_asked_for_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setenv("PORTER_CACHE_DIR", str(tmp_path))
    compiled._built.clear()
    words.cache_clear()
    assert words("doctor", "zh")["status.ok"] == "正常"  # compiled, and kept
    compiled._built.clear()
    words.cache_clear()
    monkeypatch.setattr("porter.rulebook.schema_words.build", lambda files: pytest.fail("parsed again"))
    loads, loaded = compiled.marshal.loads, []
    monkeypatch.setattr(compiled.marshal, "loads", lambda part: loaded.append(len(part)) or loads(part))
    assert speaker("doctor")("driver", "en", version="25.0") == "25.0"
    assert both("doctor", "status.wrong") == {"en": "does not fit", "zh": "不匹配"}
    assert words("doctor", "en") is words("doctor", "en")
    assert max(loaded) < 12_000
    words.cache_clear()


BAD = {
    "one language": ('a = { en = "x" }\n', r"words/x\.toml:1: 'a' has no text for 'zh'"),
    "an empty text": ('a = { en = "x", zh = "y" }\n"b.c" = { en = " ", zh = "y" }\n', r"x\.toml:2: 'b\.c' has no text"),
    "a third language": ('# a\n\na = { en = "x", zh = "y", fr = "z" }\n', r"x\.toml:3: 'a' has the unknown key 'fr'"),
    "no table": ('a = "x"\n', r"x\.toml:1: 'a' is not a table of en and zh"),
    "other placeholders": ('a = { en = "{n} x", zh = "{m} y" }\n', r"x\.toml:1: 'a' has other placeholders"),
    "a brace": ('a = { en = "{n} {", zh = "{n}" }\n', r"x\.toml:1: 'a' has a brace in 'en'"),
    "a format": ('a = { en = "{n:>3}", zh = "{n:>3}" }\n', r"x\.toml:1: 'a' has a brace in 'en'"),
    "a key twice": ('a = { en = "x", zh = "y" }\na = { en = "x", zh = "y" }\n', r"x\.toml: .*line 2"),
    "no text at all": (b"\xff", r"x\.toml: "),
}


@pytest.mark.parametrize(("text", "complaint"), BAD.values(), ids=BAD)
def test_what_the_schema_refuses(text, complaint):
    with pytest.raises(RuleError, match=complaint):
        build([("words/x.toml", text if isinstance(text, bytes) else text.encode())])
