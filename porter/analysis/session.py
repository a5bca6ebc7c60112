"""Opens the session of an analysis, with all rules of porter."""

from __future__ import annotations

from typing import Any

from porter.checks.registry import load
from porter.engine.session import Session


def open_session(*given: Any, **named: Any) -> Session:
    return Session(load, *given, **named)
