"""The engine with a few rules that stay what they are, so that its tests speak of the engine and not of the rule tables."""

from __future__ import annotations

from functools import partial

from porter.analysis.python import analyse
from porter.checks.device.cuda_imports import CudaImports
from porter.checks.device.cuda_method import CudaMethod
from porter.checks.device.cuda_names import CudaNames
from porter.checks.device.device_literal import DeviceLiteral
from porter.checks.device.is_cuda import IsCuda
from porter.checks.distributed.backend_literal import BackendLiteral
from porter.checks.registry import Rules
from porter.engine.rule import Rule
from porter.engine.session import Session
from porter.finding import FileResult, apply
from porter.rulebook.table import Move, load

CORE = (CudaImports, CudaMethod, CudaNames, DeviceLiteral, IsCuda, BackendLiteral)
OURS = "import torch_npu  # noqa: F401"


_SAME = "is_available device_count synchronize current_stream Stream empty_cache amp.autocast amp.GradScaler"
MOVES = {
    f"torch.cuda.{name}": Move("PRT101", tail, "safe", "blocker", "minutes", "default")
    for name, tail in [*((name, name) for name in _SAME.split()), ("CUDAGraph", "NPUGraph")]
}


def _rules(planted: tuple[type[Rule], ...], classes: tuple[type[Rule], ...], soc: str, torch_npu: str) -> Rules:
    """Chosen rules. Those of the tests bring codes of their own, from PRT950 upwards."""
    tables = load()
    stanza = {"messages": {"planted": ("wrong", "minutes")}, "once": {"": False}, "apart": {"": False}, "across": ""}
    codes = {rule.code: stanza for rule in planted}
    tables = tables._replace(rules={**tables.rules, **codes}, moves=MOVES)
    return Rules(tables, [kind(tables) for kind in (*classes, *planted)])


def world(*planted: type[Rule], core: bool = False, **session) -> Session:
    """The planted rules, with the core ones where `core` says so."""
    return Session(partial(_rules, planted, CORE if core or not planted else ()), **session)


CORE_SESSION = world()


def look(text: str | bytes, session: Session = CORE_SESSION, path: str = "x.py") -> FileResult:
    return analyse(path, text if isinstance(text, bytes) else text.encode(), session)


def port(text: str | bytes, session: Session = CORE_SESSION, unsafe: bool = False) -> bytes:
    data = text if isinstance(text, bytes) else text.encode()
    result = look(data, session)
    return apply(data, result.review if unsafe else result.auto)


def codes(result: FileResult) -> list[tuple[int, str, str]]:
    return [(f.line, f.code, f.why) for f in result.findings]
