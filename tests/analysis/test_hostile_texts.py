"""Text that nobody would write: no reader of any format fails on it, nor does the engine for Python."""

from __future__ import annotations

import ast
import random
import re
from functools import cache
from pathlib import Path

import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.analysis.analyse import analyse, kind
from porter.analysis.session import open_session
from porter.files.kinds import PYTHON
from porter.finding import apply
from porter.text.gate import KINDS

ROOT = Path(__file__).parents[2]
SESSION = open_session()
NAMES = {
    "shell": "run.sh", "makefile": "Makefile", "dockerfile": "Dockerfile", "yaml": "a.yaml", "json": "a.json",
    "toml": "pyproject.toml", "ini": "setup.cfg", "requirements": "requirements.txt", "native": "a.cu",
    "notebook": "a.ipynb", "python": "a.py", "page": "README.md",
}  # fmt: skip
# what the readers look for, what their grammars are made of, and what no editor shows
TOKENS = (
    *"\"'`$(){}[]<>|&;:=,.*?!%~^@#\\/-+ \t\n\r\f\v\0\x1b\ufeff\u2028\u202e\x85é日",
    *("${", "$(", "<<EOF\n", "EOF\n", "\\\n", "\r\n", '"""', "'''", "- ", "---\n", "&a ", "*a", "!!x ", "<<: ", "[[", "]]"),
    *("if true; then\n", "fi\n", "for gpu in ", "; do ", "done\n", "case ", "esac\n", "gpu=", "export ", "ifeq (", "endif\n"),
    *("cuda", "cuda:0", "nccl", "torch", "torch.cuda", "torch==2.1", "CUDA_VISIBLE_DEVICES", "nvidia/cuda:12", "--gpus all", "gpus: 8"),
    *("FROM ", "RUN pip install ", "ENV ", "[tool.poetry]\n", "[options]\n", "device = ", "device: ", '"device": ', "install_requires"),
    *("__global__ void k(int a)", "<<<1, 1>>>", "PYBIND11_MODULE", "TORCH_LIBRARY(", "m.def(", "#define ", "#if ", "#endif\n"),
    *("import torch\n", "from torch import cuda\n", "def f(x):\n", "class A:\n", "    ", "x.cuda()", "x[x > 0]", "lambda: ", "async ", "yield "),
    *("porter: ignore[PRT101]", "porter: skip-file", "9" * 5000, "1e999", "0x", "{{ a }}", "{% if a %}", "(" * 300, "[" * 300),
)  # fmt: skip


def failures(name: str, data: bytes) -> list:
    """What porter says of its own failures, and edits that it could not make."""
    result = analyse(name, data, SESSION)
    for changes in (result.auto, result.review):
        apply(data, changes)
    return [(f.why, f.values, f.line) for f in result.findings if f.code == "PRT003" and f.why in ("crashed", "rule")]


SAMPLES = (
    ("a.ini", "[run]\ndevice = cuda:0 ; which\nbackend: nccl\nargs =\n    --gpus all\n    # no\n    --device=cuda\n\n[env]\nCUDA_VISIBLE_DEVICES = 0,1\n"),
    ("a.toml", "[tool.poetry.dependencies]\ntorch = {version = '2.1', optional = true}\n[[run]]\ndevice = 'cuda'\nlist = [\n  'nccl', # no\n]\n"),
    ("Makefile", "GPU ?= 0\nifdef CUDA\nFLAGS += --device cuda\nendif\nrun: a.py\n\tCUDA_VISIBLE_DEVICES=$(GPU) python a.py \\\n\t  --backend nccl\n"),
)  # fmt: skip


@cache
def small_files() -> dict[str, list[Path]]:
    """Of the fixtures, by kind."""
    found: dict[str, list[Path]] = {}
    for path in (p for top in ("tests/fixtures", "examples") for p in sorted((ROOT / top).rglob("*"))):
        if path.is_file() and path.stat().st_size < 20_000:
            found.setdefault(kind(path.name), []).append(path)
    return found


@cache
def real(of: str) -> list[bytes]:
    """Files of the fixtures."""
    found = [path.read_bytes() for path in small_files().get(of, ())]
    return found or [text.encode() for name, text in SAMPLES if kind(name) == of]


@pytest.fixture(autouse=True)
def released(monkeypatch):
    monkeypatch.delenv("PORTER_DEBUG", raising=False)


@pytest.mark.parametrize("of", NAMES)
def test_every_kind_is_here(of):
    assert kind(NAMES[of]) == of and set(NAMES) == KINDS | {PYTHON}
    assert of == "notebook" or real(of)


READERS = [of for of in NAMES if of != "notebook"]  # of a notebook, see test_notebooks.py


@pytest.mark.parametrize("of", READERS)
@settings(max_examples=examples(60))
@given(parts=st.lists(st.one_of(st.sampled_from(TOKENS), st.text(max_size=8)), max_size=40))
def test_any_text(of, parts):
    # the word in front lets it through the gate of every kind
    text = "".join(parts)
    for lead in ("", "torch cuda nccl\n"):
        assert not failures(NAMES[of], (lead + text).encode("utf-8", "surrogatepass")), text


def spoiled(dice: random.Random, data: bytes) -> bytes:
    """A real file after a bad day: cut, doubled, mixed up, with bytes and tokens where they do not belong."""
    for _ in range(dice.choice((1, 1, 2, 4))):
        size = len(data)
        first = dice.randrange(size + 1)
        last = min(size, first + dice.choice((1, 2, 5, 40, 200)))
        match dice.randrange(7):
            case 0:
                data = data[:first] + data[last:]
            case 1:
                data = data[:first] + dice.choice(TOKENS).encode() + data[last:]
            case 2:
                data = data[:last] + data[first:last] * dice.choice((1, 9)) + data[last:]
            case 3:
                data = data[:first]
            case 4:
                data = data[:first] + bytes([dice.randrange(256)]) + data[first:]
            case 5:
                words = list(re.finditer(rb"\w+|[^\w\s]", data))
                if len(words) > 1:
                    a, b = sorted(dice.sample(words, 2), key=lambda word: word.start())
                    data = data[: a.start()] + b[0] + data[a.end() : b.start()] + a[0] + data[b.end() :]
            case 6:
                rows = data.split(b"\n")
                at = dice.randrange(len(rows))
                rows[at] = dice.choice((b"", b" ", b"\t", b"        ")) + rows[at].lstrip()
                data = dice.choice((b"\n", b"\n", b"\r\n", b"\r")).join(rows)
    return data


@pytest.mark.parametrize("of", READERS)
@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**32))
def test_any_damage_to_a_real_file(of, seed):
    dice = random.Random(seed)
    data = spoiled(dice, dice.choice(real(of)))
    assert not failures(NAMES[of], data), data


FOUND = {
    "an empty word": ("run.sh", 'gpu=\nif true; then\necho "(${gpu})"\nfi\n'),
    "characters that took the process down": (
        "run.sh",
        "cuda\n" + "".join(f"{{{chr(c)}\n" for c in range(0x1000, 0x110000, 0x1000) if not 0xD800 <= c < 0xE000),
    ),
    "an empty value that is run": ("run.sh", "cuda=''\neval $cuda\nx=\neval $x\n"),
    "a line that goes on from nothing": ("a.ini", "[a]\ndevice\n  = cuda\n  cuda:0\n"),
    "a lone carriage return": ("a.ini", "[a]\ncuda =\r b\rdevice = cuda\r  x\r\n"),
    "a macro without a name": ("a.cu", '#include "cuda.h"\n__global__ void k() {}\nPYBIND11_MODULE() { m.def("a", &k); }\n'),
    "a number that no int is": ("requirements.txt", f"torch==2.{'9' * 5000}\ntorchvision=={'9' * 5000}\nxformers<{'9' * 5000}\n"),
    "the same in TOML": ("a.toml", f"device = 'cuda'\nhidden_size = {'9' * 5000}\n"),
    "the same in YAML": ("a.yaml", f"device: cuda\nhidden_size: {'9' * 5000}\n"),
    "the same in JSON": ("a.json", f'{{"device": "cuda", "hidden_size": {"9" * 5000}}}\n'),
    "the same in a variable": ("run.sh", f"export CUDA_VISIBLE_DEVICES={'9' * 5000}\nexport NCCL_BUFFSIZE={'9' * 5000}\n"),
    "another digit": ("run.sh", "export NCCL_BUFFSIZE=٤٢\nexport CUDA_VISIBLE_DEVICES=٤,²\n"),
    "a number that no float is": ("a.py", f"import torch\nlearning_rate = {'9' * 400} * 1.0\nx.cuda()\n"),
    "a power that takes for ever": (
        "a.py",
        "import torch\ndef f(x):\n    return 0.5 * x * (1 + torch.tanh(0.79 * (x + 0.044 * x**3) * 10**10**9))\n",
    ),
    "a pin that no pip knows": ("requirements.txt", "torch =2.1\ntorchvision =0 0.15.2\n"),
    "a package that is called like conda's": ("requirements.txt", "pytorch==0.1\n"),
    "an address that is none": ("requirements.txt", "--find-links https://data.pyg.org/whl/torch-2.7.0+>cu118.html\n"),
}  # fmt: skip


@pytest.mark.parametrize("what", FOUND)
def test_what_was_found(what):
    name, text = FOUND[what]
    result = analyse(name, text.encode(), SESSION)
    assert not [f for f in result.findings if f.code == "PRT003"], result.findings


def test_what_a_file_cannot_say_does_not_end_the_run(tmp_path):
    """Some files are read for what they say of the others, before any is analysed."""
    from porter.run.config import Settings
    from porter.run.run import run

    huge = b"9" * 5000
    files = {
        "a.py": b"import torch\ntorch.cuda.synchronize()\n",
        "requirements.txt": b"torch==2.%b\n" % huge,
        "setup.py": b"import torch\nCUDAExtension('p._C', ['a.cu', 'b.cu'])\nsetup(install_requires=['torch==%b'])\n"
        % huge,
        "a.cu": b'__global__ void k() {}\nPYBIND11_MODULE() { m.d\xffef("a", &k); m.def("\xff", &k); }\n',
        "b.cu": b'PYBIND11_MODULE(\xff, m) { m.\xc3\xa9("a", &k); k<<<1>>>(); }\n#define \xff __global__ void \xff(\n',
        "run.sh": b"python a.py --device cuda\xff --\xff cuda\ngpu=\n",
        "cfg.yaml": b"device: cuda\n\xff",
        "old.py": b"import torch\nDEVICE = 'cuda'\nprint 'x'\n\xff",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    done = run(tmp_path, [str(tmp_path)], Settings(jobs=1), SESSION)
    assert not done.broken and "PRT101" in {f.code for file in done.files for f in file.findings}


def test_a_rule_for_scripts_that_fails_costs_its_own_findings_and_the_edits_of_the_script(monkeypatch):
    from porter.checks.scripts.smi_commands import SmiCommands

    text = "export CUDA_VISIBLE_DEVICES=0\nnvidia-smi\n"
    plain = analyse("run.sh", text.encode(), SESSION)
    monkeypatch.setattr(SmiCommands, "look", lambda self, document, tree: [1 / 0])
    result = analyse("run.sh", text.encode(), SESSION)
    failed = [f for f in result.findings if f.code == "PRT003"]
    assert [(f.why, dict(f.values)["codes"]) for f in failed] == [("rule", "PRT145")]
    assert len(result.findings) == 2 and plain.auto and not result.auto and not result.review
    assert {f.status for f in result.findings} == {"manual"}


@pytest.mark.slow
def test_no_slice_is_looked_for_in_a_string():
    """`text[:1] in "ab"` is true of an empty text."""
    found = []
    for path in sorted((ROOT / "porter").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
                right = node.comparators[0]
                sliced = isinstance(node.left, ast.Subscript) and isinstance(node.left.slice, ast.Slice)
                if sliced and isinstance(right, ast.Constant) and isinstance(right.value, (str, bytes)):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not found
