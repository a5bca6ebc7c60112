"""`x.cuda(device, non_blocking=True)` in a project whose classes define a `cuda()` of their own: whether it may be one of these."""

from __future__ import annotations

from collections.abc import Iterable

from porter.engine.facts import OwnCode


def may_be_own(own: OwnCode, keywords: Iterable[str | None]) -> bool:
    """Whether a call of `cuda()` may reach a class of the project, as far as its keywords say."""
    return bool(own.cuda) and (own.take_non_blocking or "non_blocking" not in keywords)
