"""What a path alone says of a file: a test, a measurement, what lies beside a training run."""

from __future__ import annotations

from porter.regex import lazy

_APART = frozenset("eval evaluation evaluate inference metrics demo demos mock mocks".split())
_BESIDE = lazy(r"(?i)onnx|(?:^|/)(?:benchmarks?/|export|test\.|bench[^/]*$|testing\.py$)")
_FOR_SAMPLES = frozenset("dataset datasets transforms explain explainers interpret benchmarking testing".split())
_TESTS = lazy(r"tests?(?:[_-]|$)")
_HAS_TESTS = lazy(rb"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+test|TestCase|\b(?:unittest|pytest|doctest)\b")
# of a program with options, which calls what evaluates a model `test(args)`
_HAS_PLAIN_TESTS = lazy(rb"(?m)^[ \t]*def[ \t]+test\w*\([ \t]*\)|TestCase|\b(?:unittest|pytest|doctest)\b")
SIDE = lazy(r"(?:^|/)(?:tests?|examples?|docs?|third_party|benchmarks?)/")


def is_test(path: str) -> bool:
    *folders, name = path.split("/")
    return name.startswith("test_") or name.endswith("_test.py") or any(map(_TESTS.match, folders))


def is_tested(path: str, text: bytes) -> bool:
    """The same, with the text: what is only called so and is a program without tests, `net_test.py`, evaluates a model."""
    if not is_test(path):
        return False
    has_options = b"ArgumentParser(" in text
    is_called_so = not any(map(_TESTS.match, path.split("/")[:-1])) and (has_options or b"__main__" in text)
    return not is_called_so or (_HAS_PLAIN_TESTS if has_options else _HAS_TESTS).search(text) is not None


def is_apart(path: str) -> bool:
    """Whether a file is a test, a measurement or for an export, or lies where nothing is trained."""
    return is_test(path) or not _APART.isdisjoint(path.split("/")[:-1]) or bool(_BESIDE.search(path))


def never_trains(path: str) -> bool:
    """Whether nothing in a file runs in the step, or only in the workers of a loader."""
    return is_apart(path) or not _FOR_SAMPLES.isdisjoint(path.split("/")[:-1])


def bytes_of(name: str) -> bytes:
    """The bytes of a name in a path, which may be invalid as Unicode."""
    return name.encode("utf-8", "surrogateescape")


def folder_of(path: str) -> str:
    """The folder of a file, with its slash; "" for the root."""
    return path[: path.rfind("/") + 1]
