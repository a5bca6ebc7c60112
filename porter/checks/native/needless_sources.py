"""C++ and CUDA sources with which the port of a training has nothing to do, and why."""

from __future__ import annotations

from collections.abc import Collection

from porter.engine.native_code import NativeCode
from porter.regex import lazy, rare
from porter.rulebook.table import Kernel, any_of
from porter.text.document import Document
from porter.text.formats.native import HEADERS, Native

_BESIDE = lazy(r"(?i)(?:^|/)(?:examples?|samples?|tests?|demos?|extras?)/")
_SERVES = lazy(r"(?i)(?:^|/)(?:deploy\w*|tensor_?rt\w*|trt|ncnn|deepstream\w*)/")  # folders of programs for inference
_PLUGIN = lazy(r"(?:^|/)trt_[^/]*$")  # a source of a plugin for TensorRT, by its name
_OF_LIBRARY = lazy(rf"(?:^|/)include/(?:{any_of('library-of-kernels')})/")  # a copy of it
_STARTS = rare(r"\bint\s{1,9}main\s{0,9}\(")
_ENGINE = lazy(rb"#[ \t]{0,9}include[ \t]{0,9}[\"<](?:NvInfer|NvOnnx|nvds|onnxruntime_cxx_api|ncnn/|openvino/|MNN/)")
_TENSORFLOW = lazy(rb"#[ \t]{0,9}include[ \t]{0,9}[\"<]tensorflow/")
_TORCH = lazy(rb"#[ \t]{0,9}include[ \t]{0,9}[\"<](?:torch/|ATen/|c10/|TH)")


def needless(document: Document, native: Native, rows: Collection[Kernel]) -> str:
    """The message that says so; "" where something may have to be done."""
    facts, path = document.session.facts.native, document.path
    if _TENSORFLOW.search(document.data) and not _TORCH.search(document.data):
        return "tensorflow"
    if path in facts.unbuilt:
        return "unbuilt"
    if path.endswith((*HEADERS, ".cuh")) and _OF_LIBRARY.search(path):
        return "library"
    called = native.exports or any(source == path for source, _ in facts.callers)
    if not called and _BESIDE.search(path) and _STARTS.search(document.text):
        return "program"
    if not called and (_is_served(document, facts) or native.included and _is_of_engine(document)):
        return "served"
    return "taken" if _is_taken(path, facts, rows) else ""


def _is_served(document: Document, facts: NativeCode) -> bool:
    """Whether a source is of a program for inference by itself, as samples for TensorRT are."""
    path, data = document.path, document.data
    if any(source == path or path in kernels for source, kernels in facts.linked) or _TORCH.search(data):
        return False
    signs = (_SERVES.search(path), _PLUGIN.search(path), _ENGINE.search(data), _STARTS.search(document.text))
    return sum(sign is not None for sign in signs) > 1


def _is_of_engine(document: Document) -> bool:
    """Whether a source is built on an engine for inference, so that it has to go whatever else it includes."""
    return _ENGINE.search(document.data) is not None and not _TORCH.search(document.data)


def _is_taken(path: str, facts: NativeCode, rows: Collection[Kernel]) -> bool:
    """Whether Python has a way without these kernels, or without those that are built with this source, and nothing that NPUs
    have would be faster."""
    kernels = next((kernels for source, kernels in facts.linked if source == path), (path,))
    ends = [kernel for kernel in kernels if any(source == kernel for source, _ in facts.callers)]
    slower = path not in facts.built.standing_in and any(row.has_operator for row in rows)
    return bool(ends) and not slower and all(kernel in facts.spared for kernel in ends)
