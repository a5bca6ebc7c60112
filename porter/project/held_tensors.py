"""Finds tensors on the GPU that a module keeps as plain attributes: `self.alphas = Variable(data.cuda())`.

They are neither parameters nor buffers: `model.cuda()` and `model.to(device)` leave them where they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.regex import lazy, rare

_PLACED = rare(
    rb"^[ \t]+self\.(\w+)[ \t]*=[ \t]*(?:(?:autograd\.)?Variable|torch\.(?!device\b|as_|load\b)[a-z_]+)\([^#\n]*"
    rb"(?:\.cuda\(|\bdevice[ \t]*=|\.to\()",
    re.MULTILINE,
)
_MODULE = lazy(rb"\nclass[ \t]+\w+\([^\n]*(?:Module|Model|Net|Network)\b[^\n)]*\):")


def held_tensor(texts: Iterable[bytes]) -> str:
    """The name of the first such attribute; "" where nothing that is loaded could have one."""
    known = [data for data in texts if b"torch" in data]
    if not any(b"torch.load" in data for data in known):
        return ""
    modules = (data for data in known if _MODULE.search(b"\n" + data))
    return next((match[1].decode() for data in modules if (match := _PLACED.search(data))), "")
