"""The session of an analysis, with the rules that porter has."""

from __future__ import annotations

from typing import Any

from porter.checks.registry import load
from porter.engine.session import Session


def open_session(*given: Any, **named: Any) -> Session:
    return Session(load, *given, **named)
