"""What a file runs exported models with: onnxruntime on the CPU needs nothing else on a machine with NPUs."""

from __future__ import annotations

import ast
from typing import Any

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.assigned import values_of
from porter.python.evidence import call_name, constant
from porter.regex import lazy, rare

_OTHER = rare(rb"(?<!CPU)ExecutionProvider\b|\bio_binding\b|\bOrtValue\b|\bonnxruntime\.training\b|\bORTModule\b")
_COMMENT = lazy(rb"(?m)(?:^|[ \t])#")
_TENSORRT = lazy(rb"(?i)tensorrt|trtexec")
_ELSEWHERE = frozenset({"openvino", "coremltools", "ncnn", "MNN", "rknn"})  # what makes files for other hardware


def asks_for_device(file: RuleFile) -> bool:
    """Whether a session of onnxruntime may be meant for more than the CPU; without providers it is not."""
    if file.source.says(_OTHER) and any(
        not _is_comment(file.source.utf8, m.start()) for m in _OTHER.finditer(file.source.utf8)
    ):
        return True
    return not all(_on_cpu(link, file) for link in _sessions(file))


def _is_comment(text: bytes, offset: int) -> bool:
    """`providers=["CPUExecutionProvider"])  # or CUDAExecutionProvider`"""
    return _COMMENT.search(text, text.rfind(b"\n", 0, offset) + 1, offset) is not None


def stays_off_gpus(file: RuleFile) -> bool:
    """Whether what a file exports goes to a CPU or to hardware of its own, as far as the file says."""
    if file.source.says(_TENSORRT) or asks_for_device(file):
        return False
    imported = {full.partition(".")[0] for bindings in file.names.imports.values() for full, _ in bindings}
    return bool(_sessions(file)) or not _ELSEWHERE.isdisjoint(imported)


def _sessions(file: RuleFile) -> list[Link]:
    return [link for link in file.buckets[ast.Call] if call_name(link[0].func) == "InferenceSession"]


def _on_cpu(session: Link, file: RuleFile) -> bool:
    given = _providers(session[0])
    if not isinstance(given, ast.Name):
        return given is None or _is_cpu(given)
    scene: Any = file.scene
    values = values_of(scene.names, given, session)
    return bool(values) and all(map(_is_cpu, values))


def _providers(call: ast.Call) -> Node | None:
    """What a session is told to run on; the call itself where stars hide it."""
    if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return call
    return next((k.value for k in call.keywords if k.arg == "providers"), call.args[2] if len(call.args) > 2 else None)


def _is_cpu(node: Node) -> bool:
    return isinstance(node, (ast.List, ast.Tuple)) and all(
        constant(provider) == "CPUExecutionProvider" for provider in node.elts
    )
