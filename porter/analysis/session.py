"""The session of an analysis, with the rules that porter has."""

from __future__ import annotations

from porter.checks.registry import load
from porter.engine.session import Session


def open_session(*given, **named) -> Session:
    return Session(load, *given, **named)
