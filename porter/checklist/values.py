"""One spelling for one value: 1e-5 is 0.00001, a flag is true, bf16 is torch.bfloat16."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

from porter.checklist.expand import UNKNOWN
from porter.checklist.rules import Spelling, checklist
from porter.regex import lazy
from porter.rulebook.table import Stanza

_TRUE, _FALSE = frozenset({"true", "yes", "on", "y"}), frozenset({"false", "no", "off", "n"})
_NOTHING = frozenset({"", "null", "~", "auto", "unset", "default", "undefined", "none"})
_DTYPES = {
    "bf16": "bfloat16", "bfloat16": "bfloat16", "fp16": "float16", "float16": "float16", "half": "float16", "16-mixed": "float16",
    "fp32": "float32", "float32": "float32", "float": "float32", "no": "float32", "32": "float32", "bf16-mixed": "bfloat16",
}  # fmt: skip
_ENUM = lazy(r"\w+\.([A-Z][A-Z0-9_]+)")
_OF_LIBRARY = lazy(r"^(?:torch|ms|mstype|mindspore|np)\.")
_ITEMS = lazy(r"[^\s,\[\]()'\"]+")
NO = frozenset({"false", "0", "none"})  # what a side that is silent does, too


def said(item: Stanza, spelling: Spelling, raw: str, dialects: Iterable[str]) -> str | None:
    """The value that a file gives an item; None where it leaves it to others; UNKNOWN where the file alone does not tell."""
    kind, text = item["value"], raw.strip()
    if kind in ("path", "model"):
        return text or None
    if kind == "present":
        return "false" if text.lower() in _NOTHING | _FALSE else "true"
    if UNKNOWN in text:
        if spelling.value is None and kind != "switch":
            return UNKNOWN
        text = "true"
    if spelling.implied:
        return None if text.lower() in _NOTHING | _FALSE else canonical(item["id"], spelling.value or "", ())
    if spelling.value is not None:
        truth = _switch(text.lower())
        return canonical(item["id"], spelling.value, ()) if truth == "true" else None
    if spelling.at is not None:
        items = _ITEMS.findall(text)
        text = items[spelling.at] if spelling.at < len(items) else ""
    if spelling.counts:
        return str(len(_ITEMS.findall(text))) if _ITEMS.search(text) else None
    value = canonical(item["id"], text, tuple(dialects))
    if value is not None and spelling.opposite:
        return {"true": "false", "false": "true"}.get(value, value)
    return value


@lru_cache(maxsize=4096)
def canonical(name: str, text: str, dialects: tuple[str, ...]) -> str | None:
    item = checklist().items[name]
    kind, low = item["value"], text.strip().lower()
    for form, value in _same(name).items():
        dialect, _, word = form.rpartition(":")
        if low == word and (not dialect or dialect in dialects):
            return value or None
    if kind == "text":
        return text if low not in ("", "null", "~", "none") else None
    if low in _NOTHING:
        return None
    if kind == "dtype":
        return _DTYPES.get(_OF_LIBRARY.sub("", low), low)
    if kind == "switch":  # a word that is neither says something else
        truth = _switch(low)
        return truth if truth in ("true", "false") else None
    if kind == "shares":
        return _shares(low)
    if kind == "set":
        items = [plain(word) for word in _ITEMS.findall(low)]
        return ", ".join(sorted({_same(name).get(word, word) for word in items})) or None
    enum = _ENUM.fullmatch(text.strip())
    if enum:
        return canonical(name, enum[1], dialects)
    value = plain(low)
    return _same(name).get(value, value)


@lru_cache(maxsize=512)
def _same(name: str) -> dict[str, str]:
    """Every spelling of a value that has several."""
    forms: dict[str, list[str]] = checklist().items[name].get("same", {})
    return {spelling: value for value, spellings in forms.items() for spelling in (value, *spellings)}


def plain(text: str) -> str:
    """Numbers and truths in one spelling, whatever they are of."""
    low = text.strip().strip("'\"").lower()
    try:
        number = float(low.replace("_", "")) if low[:1].isdigit() or low.startswith(("-", "+", ".")) else math.nan
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return f"{number:.12g}"
    return _switch(low) if low in _TRUE | _FALSE else low


def _shares(text: str) -> str:
    """99,1,0 and 0.99,0.01,0 are one."""
    numbers = [number(word) for word in _ITEMS.findall(text)]
    given = [value for value in numbers if value is not None]
    whole = sum(given)
    return ", ".join(f"{value / whole:.6g}" for value in given) if whole and len(given) == len(numbers) else text


def _switch(low: str) -> str:
    return "true" if low in _TRUE or low == "1" else "false" if low in _FALSE or low == "0" else low


def number(value: str | None) -> float | None:
    try:
        return float(value) if value else None
    except ValueError:
        return None
