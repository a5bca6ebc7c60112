"""Two implementations of the same rules, and two name resolvers, over the same files: no disagreement.

The files: generated modules, the bundled sample, installed torch, the standard library and site-packages, and whatever
directory the environment variable PORTER_CORPUS names.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sysconfig
from functools import lru_cache
from pathlib import Path

import libcst as cst
import pytest
from drawn import examples, share
from engine_modules import modules
from engine_world import CORE_SESSION, look
from hypothesis import HealthCheck, given, settings
from reference.plain import Seen, answer
from reference.scopes import Resolver, words

from porter.analysis.file import File
from porter.engine.together import lines_of
from porter.errors import Unreadable
from porter.finding import Change, apply
from porter.python import names
from porter.python.source import Source
from porter.python.trees import parse_or_refuse

EXAMPLES = Path(__file__).parents[2] / "examples"
CORPUS = os.environ.get("PORTER_CORPUS")
# rules of the reference; for literals it knows a few sinks of many
WHOLE, METHODS, PARTLY = {"PRT102", "PRT104", "PRT109"}, {"PRT130", "PRT132"}, {"PRT120", "PRT201"}
# what the reference has no part in: code that knows other devices, build scripts, suppressions
APART = re.compile(
    rb"(?i)npu|hccl|ascend|accelerator|xpu|hpu|mlu|musa|porter:|CUDA_HOME|CUDA_PATH|CUDAExtension|nvcc|TORCH_CUDA_ARCH_LIST"
    rb"|version\.cuda|\.cuda_(?:stream|event)\b|get_device_capability|set_default_tensor_type"
)
# receivers of other libraries: porter tells them apart, the reference does not try
OTHERS = re.compile(
    rb"\b(?:numpy|np|cupy|jax|tensorflow|tf|numba|PIL|cv2|scipy|pandas|onnx\w*|keras|faiss|warp|mxnet|paddle|sklearn)\b"
)
WANTED = re.compile(rb"cuda|nccl")


def python_files(root: Path) -> list[Path]:
    return sorted(p for p in root.rglob("*.py") if p.is_file() and not p.is_symlink())


def read(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
        parse_or_refuse(Source(data).utf8)
        if cst.parse_module(data).bytes != data:  # LibCST alone does not keep every lone \r
            return None
    except (OSError, Unreadable, cst.ParserSyntaxError, UnicodeDecodeError, RecursionError):
        return None
    return data


def outermost(edits: set[Change]) -> list[Change]:
    return sorted(e for e in edits if not any(o != e and o.start <= e.start and e.end <= o.end for o in edits))


def agree(data: bytes) -> int:
    """Compare findings and bytes of one file; how many findings were compared."""
    result = look(data)
    assert "PRT003" not in {f.code for f in result.findings}
    moves, has = CORE_SESSION.rules.tables.moves, CORE_SESSION.catalogue.has
    methods = not OTHERS.search(data)
    other = answer(data, moves, has, methods)
    whole = WHOLE | {move.code for move in moves.values()} | (METHODS if methods else set())
    found = {Seen(f.line, f.column, f.code, f.status == "auto"): f for f in result.findings if f.status != "review"}
    # one finding speaks for several places of its cause
    heard = {(line, f.code) for f in result.findings if f.status == "manual" for line in lines_of(f)}
    seen_here = [s for s in other.seen if s in found or s.ported or (s.line, s.code) not in heard]
    ours = [s for s in found if s.code in whole and found[s].why != "from-torch"]
    theirs = [s for s in seen_here if s.code in whole]
    assert sorted(ours) == sorted(theirs)
    assert {s for s in seen_here if s.code in PARTLY} <= found.keys()
    # bytes: the edits of what both know; one that lies inside a larger one went into it
    edits = outermost({change for seen in set(seen_here) for change in found[seen].edit})
    unknown = {change for seen in found.keys() - set(other.seen) for change in found[seen].edit}
    if outermost({*edits, *unknown}) == sorted({*edits, *unknown}):
        assert apply(data, tuple(edits)) == other.code
    return len(other.seen)


@pytest.mark.slow
@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(modules())
def test_generated_modules(data: bytes) -> None:
    kept = cst.parse_module(data).bytes == data  # LibCST alone does not keep every lone \r
    # one opening imports torch in a function only: elsewhere in the file porter answers for a name that is not bound
    if (
        kept
        and b"def load" not in data
        and not APART.search(data)
        and b"from torch import cuda" not in data
        and b"cuda as C" not in data
    ):
        agree(data)


def over(files: list[Path]) -> tuple[int, int]:
    """(files, findings) compared; every file that disagrees is named."""
    compared, total, wrong = 0, 0, []
    for path in files:
        raw = path.read_bytes()
        if not WANTED.search(raw) or APART.search(raw) or (data := read(path)) is None:
            continue
        compared += 1
        try:
            total += agree(data)
        except AssertionError as error:
            wrong.append(f"{path}: {str(error)[:600]}")
    assert not wrong, f"{len(wrong)} of {compared} files:\n" + "\n".join(wrong[:20])
    return compared, total


@pytest.mark.slow
def test_the_sample() -> None:
    compared, total = over(python_files(EXAMPLES))
    assert compared >= 5 and total >= 10


def sampled(files: list[Path], size: int, longest: int = 60_000) -> list[Path]:
    """The same files on every run, spread over the whole list, and none so long that it takes seconds alone."""
    files = [p for p in files if p.stat().st_size < longest]
    step = max(1, len(files) // size)
    return files[::step][:size]


@pytest.mark.slow
def test_installed_torch(needs_torch: None) -> None:
    root = Path(importlib.util.find_spec("torch").origin).parent
    cuda = [p for p in python_files(root) if WANTED.search(p.read_bytes())]
    compared, total = over(sampled(cuda, 250))
    assert compared >= 30 and total >= 30


@pytest.mark.skipif(CORPUS is not None, reason="PORTER_CORPUS is compared instead")
def test_the_corpus_is_optional() -> None:
    assert python_files(EXAMPLES)


if CORPUS:

    def test_corpus(capsys: pytest.CaptureFixture[str]) -> None:
        compared, total = over(python_files(Path(CORPUS)))
        with capsys.disabled():
            print(f"\n{compared} files of {CORPUS}: {total} findings, the same bytes")


# ---- names


@lru_cache(maxsize=1)
def libraries() -> list[Path]:
    paths = sysconfig.get_paths()
    found = python_files(Path(paths["stdlib"])) + python_files(Path(paths["purelib"]))
    return sorted({p for p in found if "lib2to3/tests/data" not in p.as_posix()})


def names_agree(data: bytes) -> tuple[int, int]:
    """(chains, those whose root is bound in more than one way); LibCST's answer and porter's are the same for each."""
    source = Source(data)
    file = File("x.py", source, CORE_SESSION)
    ours: dict[tuple[int, int], str | None] = {}
    for link in file.names.uses:
        node, above = link
        top = node
        while above is not None and type(above[0]).__name__ == "Attribute":
            top, above = above[0], above[1]
        full = file.names.root(node.id, link)
        tail = words_of(top)
        place = source.place(source.offset(node.lineno, node.col_offset))
        ours[place] = full and ".".join([full, *tail])
    resolver = Resolver(cst.parse_module(data))
    by_call = imported_by_call(data)
    compared = unclear = 0
    wrong = []
    for node in resolver.chains():
        place, theirs = resolver.place(node), resolver.name(node)
        if place not in ours:  # a string annotation, a keyword: no use of a name
            continue
        if theirs is None and (ours[place] is None or not resolver.bound(node)):
            continue  # porter answers for a name that only another function imports; here it would not run at all
        if theirs is None and words(node)[0] in by_call:
            continue  # `jax = import_module("jax")`, which is no import for LibCST
        compared += 1
        unclear += words(node)[0] in file.names.others
        if theirs != ours[place]:
            wrong.append(f"{place}: {'.'.join(words(node))} is {ours[place]}, for LibCST {theirs}")
    assert not wrong, "\n".join(wrong[:10])
    return compared, unclear


def imported_by_call(data: bytes) -> set[str]:
    assigned = (n for n in ast.walk(ast.parse(data)) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call))
    bound = (t for a in assigned if names._imported(a.value) for t in a.targets)
    firsts = (t.elts[0] if isinstance(t, ast.Tuple) and t.elts else t for t in bound)
    return {t.id for t in firsts if isinstance(t, ast.Name)}


def words_of(node) -> list[str]:
    found = []
    while type(node).__name__ == "Attribute":
        found.append(node.attr)
        node = node.value
    return found[::-1]


def names_over(files: list[Path]) -> tuple[int, int, int]:
    looked = chains = unclear = 0
    wrong = []
    for path in files:
        if (data := read(path)) is None:
            continue
        looked += 1
        try:
            compared, more = names_agree(data)
        except AssertionError as error:
            wrong.append(f"{path}: {error}")
            continue
        chains, unclear = chains + compared, unclear + more
    assert not wrong, f"{len(wrong)} of {looked} files:\n" + "\n".join(wrong[:20])
    return looked, chains, unclear


@pytest.mark.slow
@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(modules())
def test_names_of_generated_modules(data: bytes) -> None:
    if b"def load" not in data:
        names_agree(data)


@pytest.mark.slow
def test_names_of_the_libraries() -> None:
    looked, chains, unclear = names_over(share(sampled(libraries(), 110, longest=15_000), 2))
    assert looked >= 40 and chains >= 500 and unclear > 0  # how many depends on what is installed


@pytest.mark.slow
def test_names_of_the_sample() -> None:
    assert names_over(python_files(EXAMPLES))[1] > 200


if CORPUS:

    def test_names_of_the_corpus(capsys: pytest.CaptureFixture[str]) -> None:
        looked, chains, unclear = names_over(python_files(Path(CORPUS)))
        with capsys.disabled():
            print(f"\n{looked} files of {CORPUS}: {chains} chains, {unclear} with a root bound in several ways")


def test_nonlocal_in_a_method_means_the_function_around_its_class() -> None:
    data = b"""import torch


def outer():
    x = torch.cuda

    class Inner:
        def method(self):
            nonlocal x
            x = torch.npu

    return x.device_count()
"""
    file = File("x.py", Source(data), CORE_SESSION)
    homes = {link[0].lineno: file.names.scopes.home("x", link) for link in file.names.spelled("x")}
    assert {getattr(homes[line], "name", None) for line in (5, 10)} == {"outer"}
