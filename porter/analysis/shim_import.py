"""What is told of the import of transfer_to_npu in one file: the finding that owns its edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from porter.engine.refusals import finding
from porter.engine.rule import Hit, named
from porter.finding import Change, Finding
from porter.python.shims import CODE, place

if TYPE_CHECKING:
    from porter.analysis.file import File


def told(file: File, kept: Callable[[tuple[Change, ...]], tuple[Change, ...]]) -> Iterator[Finding]:
    """`kept`: edits as the file on disk has them."""
    shim = place(file)
    if shim is None:
        return
    edit = kept((shim.change,)) if shim.change is not None else ()
    chosen = dict(file.facts.accelerators.shimmed.choosing).get(file.path, "")
    hit = Hit(None, shim.why, values=named(place=chosen, style=file.target.style))
    status, reason = "auto" if edit else "manual", file.suppressions.reason(CODE, shim.line, shim.line)
    yield finding(file.session, file.path, hit, CODE, (shim.line, 1), status=status, edit=edit, suppressed=reason)
