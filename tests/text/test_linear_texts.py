"""Files that are not Python: twice as much text is twice as much work, whatever stands in it. Work is counted, not timed."""

from __future__ import annotations

import json
import sys

import pytest
from drawn import share

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.native import grammar

SESSION = open_session()
_WHOLE, _PARTS = ("encode", "splitlines", "strip"), ("count", "find", "index", "rfind")


class Work:
    """The calls that are made, and the characters that are copied, searched or counted."""

    def __init__(self):
        self.calls = self.characters = 0

    def text(self, given: str) -> str:
        work = self

        class Text(str):
            def __getitem__(self, key):
                got = str.__getitem__(self, key)
                work.characters += len(got)
                return Text(got) if isinstance(key, slice) else got

            def __str__(self):
                return self

        for name in (*_WHOLE, *_PARTS):
            setattr(Text, name, self._counted(getattr(str, name), name in _PARTS))
        return Text(given)

    def _counted(self, method, part: bool):
        def called(text, *args, **named):
            first, last, *_ = (*args[1:], len(text)) if part and args[1:] else (0, len(text))
            self.characters += max(0, last - first)
            return method(text, *args, **named)

        return called

    def bytes(self, given: bytes) -> bytes:
        work = self

        class Bytes(bytes):
            def __getitem__(self, key):
                got = bytes.__getitem__(self, key)
                if isinstance(key, slice):
                    work.characters += len(got)
                    return Bytes(got)
                return got

            def decode(self, *args):
                work.characters += len(self)
                return work.text(bytes.decode(self, *args))

        return Bytes(given)

    def of(self, path: str, text: str) -> tuple[int, int]:
        data = self.bytes(text.encode())

        def count(frame, event, argument):
            self.calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            result = analyse(path, data, SESSION)
        finally:
            sys.setprofile(None)
        assert result.parsed and not any(f.code in ("PRT003", "PRT002") and f.why != "part" for f in result.findings)
        return self.calls, self.characters


def _notebook(*sources) -> str:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


_CASES = {
    "edits": ("a.sh", lambda n: "export CUDA_VISIBLE_DEVICES=0  # é\n" * n),
    "devices": ("a.sh", lambda n: "python a.py --device cuda\n" * n),
    "programs": ("a.sh", lambda n: "".join(f'A{i}="python a.py --device cuda"\n$A{i}\n' for i in range(n))),
    "broken lines": ("a.sh", lambda n: "python a.py --device cuda\n) cuda ) \n" * n),
    "broken in one line": ("a.sh", lambda n: "echo ok\n" * 9 * n + "cuda ) " * n + "\n"),
    "tools of one command": ("a.sh", lambda n: "docker run " + "nvidia-smi -q " * n + "\n"),
    "a test and what it decides": ("a.sh", lambda n: "command -v nvidia-smi || exit 1\nx=$(nvidia-smi -q)\n" * n),
    "variables handed on": ("a.sh", lambda n: "".join(f"b{i}=nccl\npython t.py --backend $b{i}\n" for i in range(n))),
    "one variable handed on": ("a.sh", lambda n: "b=nccl\npython t.py --backend $b\n" * n),
    "prefixes of one command": ("a.sh", lambda n: "tritonserver\n" + "CUDA_VISIBLE_DEVICES=0 " * n + "python t.py\n"),
    "what is shown": ("a.sh", lambda n: 'echo "CUDA_VISIBLE_DEVICES is $CUDA_VISIBLE_DEVICES"\n' * n),
    "what is installed": ("a.sh", lambda n: "foo " + "install add " * n + "torch==1.0\n"),
    "options of one word": ("a.sh", lambda n: "python a.py " + "=--device=cuda" * n + "\n"),
    "a value in several": ("a.sh", lambda n: "export PYTORCH_NO_CUDA_MEMORY_CACHING=1\n" * n),
    "one string of a notebook": ("a.ipynb", lambda n: _notebook("import torch\n" + "x = y.cuda()\n" * n)),
    "one string in a list": ("a.ipynb", lambda n: _notebook(["import torch\n" + "x = y.cuda()\n" * n])),
    "strings of one line": ("a.ipynb", lambda n: _notebook("import torch", *[["x = y.cuda()"]] * n)),
    "calls in a row": ("a.cpp", lambda n: "PYBIND11_MODULE(a, m) { m" + ".foo(cuda)" * n + "; }\n#include <cuda.h>\n"),
    "requirements": ("requirements.txt", lambda n: "torchaudio==1.0\n" * n),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", share([*_CASES], 2))
def test_work_grows_as_the_text_does(name):
    path, make = _CASES[name]
    Work().of(path, make(2))  # what is asked once
    few, many = (Work().of(path, make(n)) for n in (150, 600))
    assert all(more < 4.8 * less for less, more in zip(few, many)), (few, many)


class _Parser:
    """Counts the steps that a parser asks leave for, and the pieces that it reads."""

    def __init__(self, parser):
        self._parser, self.steps = parser, 0

    def parse(self, read, encoding, progress_callback):
        def counted(call):
            def asked(*args):
                self.steps += 1
                return call(*args)

            return asked

        return self._parser.parse(counted(read), encoding=encoding, progress_callback=counted(progress_callback))

    def reset(self):
        self._parser.reset()


def _parsers():
    from porter.native.cpp import _parser as cuda
    from porter.text.shells.parse import _parser as shell

    return {"sh": shell(), "cu": cuda()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, unit",
    [
        ("sh", "<"),
        ("sh", "|"),
        ("sh", "cuda:0 "),
        ("sh", "python a.py --device cuda\n"),
        ("cu", "cuda:0 "),
        ("cu", "f(<"),
    ],
)
def test_a_grammar_takes_a_bounded_number_of_steps(kind, unit):
    parser = _Parser(_parsers()[kind])
    data = b"export A=" + unit.encode() * (100_000 // len(unit))
    grammar.tree(parser, data)
    assert parser.steps <= len(data) // 20 + 1200
    parser.steps = 0
    assert grammar.tree(parser, b"x = 1;\n").root_node.end_byte == 7  # it is ready for another


@pytest.mark.slow
@pytest.mark.parametrize(
    "path, text",
    [("a.sh", "export NCCL_A=1\n" + "<" * 200_000), ("a.cu", "__global__ void f(int a) {}\n" + "cuda:0 " * 20_000)],
)
def test_what_no_grammar_gets_through_is_not_waited_for(path, text):
    (found,) = analyse(path, text.encode(), SESSION).findings
    assert (found.code, found.why) == (("PRT002", "text") if path == "a.sh" else ("PRT850", "kernel"))
