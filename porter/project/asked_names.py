"""What the lists of a project ask for, of packages that rules ask about by their names: torch at all, and which Lightning."""

from __future__ import annotations

import re
from collections.abc import Sequence

from porter.regex import lazy

_TORCH = lazy(rb"(?m)(?:^[ \t]*(?:-[ \t]+)?|[\"'])(?:py)?torch(?:vision|audio)?(?![\w./-])")  # a list asks for torch
_LIGHTNING = lazy(
    rb"^[ \t]*(?:-[ \t]+)?[\"']?pytorch[-_]lightning(?:\[[^\]\n]{0,80}\])?[ \t]*([=<>~!][^\n;#\"']{0,80})", re.MULTILINE
)


def asked_by_name(lists: Sequence[bytes]) -> list[tuple[str, str]]:
    """(package, versions) of what they are."""
    specs = {match[1].strip().decode("ascii", "replace") for data in lists for match in _LIGHTNING.finditer(data)}
    torch = [("torch", "")] if any(map(_TORCH.search, lists)) else []
    return [*(("pytorch-lightning", spec) for spec in sorted(specs)), *torch]
