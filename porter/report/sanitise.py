"""Text from a repository, made safe to look at: nothing in it may hide, reorder or end what stands around it."""

from __future__ import annotations

import json
import re

from porter.regex import lazy

# control characters, fillers and marks that reorder, join or choose a form without being seen, halves of surrogates, tags,
# noncharacters; with them the block of specials, whose replacement character stands for what nobody could read
_HIDDEN = lazy(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def shown(text: str) -> str:
    """`text` with everything invisible spelled out as an escape."""
    return _HIDDEN.sub(_escape, text) if _HIDDEN.search(text) else text


def line(text: str) -> str:
    """The same for what stands in one line."""
    return shown(text).replace("\n", "\\n")


def as_json(document: object, indent: int = 2) -> str:
    """A document that loses nothing and that a terminal may be shown: in JSON, what is invisible has a spelling of its own."""
    text = json.dumps(document, ensure_ascii=False, indent=indent) + "\n"
    return _HIDDEN.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
