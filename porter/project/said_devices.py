"""Says whether a text speaks of devices in more than an option that is offered, explained and printed, and read by nothing.

`parser.add_argument("--device", ...)` and `print(args.device)` move no tensor: a program with no other word of a device trains on
the CPU, whatever the option says.
"""

from __future__ import annotations

from porter.regex import lazy
from porter.rulebook.table import any_of

_SPEAKS = lazy(b"(?i)" + any_of("speaks-of-devices").encode())
_OFFERS = lazy(rb"\.add_argument\(\s*[\"']--device[\"'](?:[^()]|\([^()\n]*\))*\)")
_HELPS = lazy(rb"\bhelp=[ \t]*(?:\"[^\"\n]*\"|'[^'\n]*')")
# what prints runs nothing on a device but what it moves there itself
_PRINTS = lazy(rb"(?m)^[ \t]*print\((?![^\n]*(?:\.to\(|cuda))[^\n]*\)[ \t]*\r?$")


def speaks_of_devices(text: bytes) -> bool:
    if not _SPEAKS.search(text):
        return False
    if b"--device" not in text and b"help=" not in text:
        return True
    for needless in (_OFFERS, _HELPS, _PRINTS):
        text = needless.sub(b"", text)
    return _SPEAKS.search(text) is not None
