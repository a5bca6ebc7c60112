"""Finds names of torch.cuda that tests put something in the place of: `@patch("torch.cuda.synchronize")`."""

from __future__ import annotations

from collections.abc import Iterable

from porter.regex import rare

_PATCHED = rare(rb"\b(?:patch|setattr)\([ \t\n]*[\"']torch\.cuda\.(\w+)[\"']")


def patched(texts: Iterable[bytes]) -> tuple[str, ...]:
    """These names, without `torch.cuda.`."""
    asking = (data for data in texts if b"patch(" in data or b"setattr(" in data)
    return tuple(
        sorted({name.decode() for data in asking if b"torch.cuda." in data for name in _PATCHED.findall(data)})
    )
