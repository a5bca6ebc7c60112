"""Inputs of any size, one of each kind: what grows is told by the name, and the rest stays as it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple


class Input(NamedTuple):
    """`make(n)` is a file with `n` of what is counted; `limit` is the largest that porter reads, in bytes."""

    path: str
    make: Callable[[int], str]
    limit: int = 5_000_000


def _many(unit: str, head: str = "", tail: str = "") -> Callable[[int], str]:
    """`unit` n times, {n} is its number."""
    if "{n}" in unit:
        return lambda n: head + "".join(unit.replace("{n}", str(i)) for i in range(n)) + tail
    return lambda n: head + unit * n + tail


def _cells(*sources) -> dict:
    return {
        "cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": s} for s in sources],
        "metadata": {},
    }


def _notebook(*cells: str, kind: str = "code") -> str:
    made = [
        {"cell_type": kind, "execution_count": None, "metadata": {}, "outputs": [], "source": cell.splitlines(True)}
        for cell in cells
    ]
    about = {"kernelspec": {"language": "python", "name": "python3", "display_name": "Python 3"}}
    return json.dumps({"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1)


_TORCH = "import torch\n"
_PYTHON = {
    "edits": _many("x{n} = torch.zeros(3).cuda()\n", _TORCH),
    "edits of one line": _many("x.cuda(); ", _TORCH, "x\n"),
    "edits of one statement": _many("    torch.zeros(3).cuda(),\n", _TORCH + "x = [\n", "]\n"),
    "edits, not ASCII": _many("x{n} = torch.zeros(3).cuda()  # 在显卡上\n", _TORCH),
    "edits, recoded": _many("x{n} = torch.zeros(3).cuda()  # caf\xe9\n", "# coding: latin-1\n" + _TORCH),
    "edits, not ASCII, of one line": _many("f('é', x.cuda()); ", _TORCH, "x\n"),
    "edits to review": _many("if x{n}.is_cuda:\n    torch.cuda.synchronize()\n", _TORCH),
    "is_cuda": _many("y = x.is_cuda\n", _TORCH),
    "is_cuda in functions": _many("def f{n}(x):\n    assert x.is_cuda, 'must be on CUDA'\n    return x\n", _TORCH),
    "if is_cuda, one name": _many("if x.is_cuda:\n    y = x.cuda()\n", _TORCH),
    "device strings": _many('d{n} = torch.device("cuda:0")\n', _TORCH),
    "device comparisons": _many('if device == "cuda":\n    pass\n', _TORCH + 'device = "cuda"\n'),
    "device arguments": _many("y{n} = f(x, device=device)\n", _TORCH + 'device = "cuda"\ndef f(x, device): pass\n'),
    "one name bound again": _many("x = x.cuda()\nx = x.to('cuda')\n", _TORCH + "x = torch.zeros(1)\n"),
    "a chain of names": _many("x{n} = y{n}\ny{n} = x{n}.cuda()\n", _TORCH),
    "imports": _many("import torch.cuda as c{n}\n", _TORCH),
    "from imports": _many("from torch.cuda import synchronize as s{n}\ns{n}()\n", _TORCH),
    "functions": _many("def f{n}(x):\n    return x.cuda()\n\n\n", _TORCH),
    "calls of one function": _many("f(torch.zeros(3))\n", _TORCH + "def f(x):\n    return x.cuda()\n"),
    "functions that call": _many("def f{n}(x):\n    return f{n}(x.cuda())\n", _TORCH),
    "classes": _many("class C{n}(torch.nn.Module):\n    def forward(self, x):\n        return x.cuda()\n", _TORCH),
    "methods": _many(
        "    def f{n}(self, x):\n        self.x = x.cuda()\n", _TORCH + "class C(torch.nn.Module):\n    pass\n"
    ),
    "suppressions": _many("x = x.cuda()  # porter: ignore[PRT107] known\n", _TORCH),
    "suppressions alone": _many("# porter: ignore[PRT107] known\n", _TORCH, "x = x.cuda()\n"),
    "suppressions unused": _many("x = 1  # porter: ignore[PRT107] known\n", _TORCH + "x.cuda()\n"),
    "skip comments": _many("x = 1  # porter: nothing\n", _TORCH + "x.cuda()\n"),
    "a chain of calls": lambda n: _TORCH + "".join(f"x{i} = x{'.to(y)' * 50}.cuda()\n" for i in range(n // 50 + 1)),
    "blanks in a line": _many(" ", _TORCH + "x =", "y.cuda()\n"),
    "blank lines": _many("\n", _TORCH, "y.cuda()\n"),
    "form feeds": _many("\f\n", _TORCH, "y.cuda()\n"),
    "lines continued": _many("\\\n", _TORCH + "x = ", "y.cuda()\n"),
    "carriage returns": _many("x.cuda()\r", "import torch\r"),
    "a long string": _many("cuda ", _TORCH + 'x = "', '"\nx.cuda()\n'),
    "a long docstring": _many("  cuda:0\n", _TORCH + 'x = """', '"""\nx.cuda()\n'),
    "string parts": _many('"cuda"\n', _TORCH + "x = (", ")\nx.cuda()\n"),
    "a sum of strings": lambda n: _TORCH + "".join(f'x{i} = {"+".join(["a", "b"] * 40)}.cuda()\n' for i in range(n // 40)),
    "f-strings": _many('x = f"cuda:{n}"\ny.to(f"cuda:{rank}")\n', _TORCH),
    "a list": _many("1, ", _TORCH + "x = torch.tensor([", "]).cuda()\n"),
    "a list of devices": _many('"cuda:{n}", ', _TORCH + "x = torch.zeros(1).cuda()\ny = [", "]\n"),
    "a dict": _many('"k{n}": "cuda", ', _TORCH + "x = {", "}\nz.cuda()\n"),
    "arguments": _many("a{n}=1, ", _TORCH + "x = f(", ").cuda()\n"),
    "parameters": _many("a{n}, ", _TORCH + "def f(", "):\n    return a0.cuda()\n"),
    "assignment targets": _many("x{n} = ", _TORCH, "y.cuda()\n"),
    "elif": _many("elif x == {n}:\n    y.cuda()\n", _TORCH + "if x:\n    pass\n"),
    "elif devices": _many('elif d == "cuda:{n}":\n    y.cuda()\n', _TORCH + "if x:\n    pass\n"),
    "cases": _many("    case {n}:\n        y.cuda()\n", _TORCH + "match x:\n"),
    "loops": _many("for i in x:\n    loss = net(i.cuda()).item()\n", _TORCH),
    "a loop's statements": _many("    total += net(i).item()\n", _TORCH + "for i in x:\n"),
    "with autocast": _many("with torch.cuda.amp.autocast():\n    y = net(x.cuda())\n", _TORCH),
    "try": _many("try:\n    x.cuda()\nexcept E:\n    x.cpu()\n", _TORCH),
    "decorators": _many("@f(torch.cuda.synchronize)\n", _TORCH, "def g(): pass\n"),
    "comments": _many("# .cuda() goes here\n", _TORCH, "x.cuda()\n"),
    "comments in a statement": _many("    1,  # cuda\n", _TORCH + "x = [\n", "].cuda()\n"),
    "options": _many('p.add_argument("--device{n}", default="cuda")\n', _TORCH + "import argparse\np = argparse.ArgumentParser()\n"),
    "option reads": _many("x = args.local_rank\ntorch.cuda.set_device(args.local_rank)\n", _TORCH),
    "environment": _many('os.environ["CUDA_VISIBLE_DEVICES"] = "{n}"\n', "import os, torch\n"),
    "environment in strings": _many('s = "CUDA_VISIBLE_DEVICES=0 python a.py"\n', "import os, torch\n"),
    "attention": _many("def f{n}(q, k, v):\n    return torch.softmax(q @ k.transpose(-2, -1) * 0.1, -1) @ v\n", _TORCH),
    "attention in one place": _many("a = torch.softmax(q @ k.transpose(-2, -1) * 0.1, -1) @ v\n", _TORCH),
    "masks": _many("x[mask] = 0\ny = x[mask].nonzero()\n", _TORCH),
    "optimisers": _many("o = torch.optim.Adam(net.parameters())\no.step()\n", _TORCH),
    "scalers": _many(
        "s{n} = torch.cuda.amp.GradScaler()\ns{n}.scale(l).backward()\ns{n}.step(o)\ns{n}.update()\n", _TORCH
    ),
    "apex": _many("with amp.scale_loss(l, o) as s:\n    s.backward()\n", _TORCH + "from apex import amp\n"),
    "process groups": _many('dist.init_process_group("nccl")\n', _TORCH + "import torch.distributed as dist\n"),
    "branches that know NPUs": _many(
        "if torch.npu.is_available():\n    d = 'npu'\nelif torch.cuda.is_available():\n    d = 'cuda'\n", _TORCH
    ),
    "is_available": _many("x = x.cuda() if torch.cuda.is_available() else x\n", _TORCH),
    "data loaders": _many("for b in torch.utils.data.DataLoader(d):\n    b.cuda()\n", _TORCH),
    "errors caught": _many("try:\n    f()\nexcept RuntimeError as e:\n    if 'CUDA out of memory' in str(e): raise\n", _TORCH),
    "loads": _many("x{n} = torch.load('a.pt')\n", _TORCH),
    "deprecated tensors": _many("x{n} = torch.cuda.FloatTensor(3)\n", _TORCH),
    "getattr": _many('getattr(torch.cuda, "synchronize")()\n', _TORCH),
    "unknown names": _many("torch.cuda.nothing{n}()\n", _TORCH),
    "nested functions": lambda n: _TORCH + "".join(
        "".join(f"{' ' * d}def f{i}_{d}(x):\n" for d in range(20)) + " " * 20 + "return x.cuda()\n" for i in range(n // 20 + 1)
    ),
    "lambdas": _many("f{n} = lambda x: x.cuda()\n", _TORCH),
    "comprehensions": _many("y{n} = [x.cuda() for x in y]\n", _TORCH),
    "globals": _many("def f{n}():\n    global x\n    x = x.cuda()\n", _TORCH),
    "star imports": _many("from m{n} import *\n", _TORCH, "x.cuda()\n"),
    "one word compared": _many('if impl == "cuda":\n    pass\n', _TORCH + 'impl = "cuda"\n'),
    "calls by name": _many('def f{n}(device): pass\nf{n}("cuda")\n', _TORCH),
    "methods of one name": _many("class C{n}(torch.nn.Module):\n    def forward(self, x):\n        return self.forward(x.cuda())\n", _TORCH),
    "heirs": _many(
        "class C{n}(Base):\n    def run(self, x):\n        return super().run(x.cuda())\n",
        _TORCH + "class Base(torch.nn.Module):\n    def forward(self, x):\n        return self.run(x)\n",
    ),
    "helpers of one name": _many("def f{n}(x):\n    def inner(y):\n        return y.item()\n    loss = inner(x)\n    loss.backward()\n", _TORCH),
    "classes and their objects": _many("class C{n}(torch.nn.Module): pass\nC{n}().cuda()\n", _TORCH),
    "members of an enum": _many('f(d="cuda")\n', _TORCH + 'import enum\nclass D(enum.Enum):\n    CUDA = "cuda"\ndef f(d: D): pass\n'),
    "defaults": _many('a{n}="cuda", ', _TORCH + "def f(", "): pass\n"),
    "a call's strings": _many('"cuda", ', _TORCH + "f(", ")\n"),
    "choices": _many('"cuda:{n}", ', _TORCH + 'p.add_argument("--device", choices=[', "])\n"),
    "a condition": _many(" and x{n}.is_cuda", _TORCH + "if x.is_cuda", ":\n    pass\n"),
    "branches that leave": _many("    if not x{n}.is_cuda: return slow(x)\n", _TORCH + "def f(x):\n"),
    "questions in a row": _many("elif torch.cuda.is_available():\n    a{n} = b{n}\n", _TORCH + "if x:\n    pass\n"),
    "questions in one condition": _many("torch.cuda.is_available() or ", _TORCH + "x = ", "y\n"),
    "functions that are chosen": _many("def f{n}(x): return x\ng{n} = f{n} if torch.cuda.is_available() else x\n", _TORCH),
    "attributes that are devices": _many('        self.a{n} = "cuda:0"\n        f(device=self.a{n})\n', _TORCH + "class A:\n    def f(self):\n"),
    "masks of bytes": _many("    m{n} = (x > {n}).byte()\n    x[m{n}] = 0\n", _TORCH + "def f(x):\n"),
    "questions of Ray": _many('@ray.remote(num_gpus={n})\ndef f{n}(x): return {"GPU": 1}\n', _TORCH + "import ray\n"),
    "imports in functions": _many("def f{n}(x):\n    import torch\n    return x.cuda()\n"),
    "imports in try": _many("try:\n    import apex\nexcept ImportError:\n    pass\n", _TORCH + "x.cuda()\n"),
    "casts of one line": _many("x.double(); ", _TORCH + "x = x.cuda()\n", "x\n"),
    "findings of one line, not ASCII": _many('"é"; torch.load(x); ', _TORCH, "x\n"),
    "statements added, of one line": _many('dist.init_process_group("nccl"); ', _TORCH + "import torch.distributed as dist\n", "x\n"),
    "waits in a loop": _many("    a{n} = loss.item()\n", _TORCH + "for i in x:\n    loss = net(i)\n    loss.backward()\n"),
    "waits in a statement": _many("loss.item(), ", _TORCH + "for i in x:\n    loss = net(i)\n    loss.backward()\n    y = [", "]\n"),
    "settings": _many("    hidden_size{n} = 1001\n", _TORCH + "class ModelConfig:\n    vocab_size = 50257\n"),
    "processes": _many("p{n} = mp.Process(target=work)\n", _TORCH + "import torch.multiprocessing as mp\ntorch.cuda.init()\ndef work(): torch.cuda.synchronize()\n"),
    "an environment bound again": _many('env = os.environ.copy()\nenv["CUDA_VISIBLE_DEVICES"] = "{n}"\n', _TORCH + "import os\n"),
    "names of variables": _many('K{n} = "CUDA_VISIBLE_DEVICES"\nos.environ[K{n}] = "1"\n', _TORCH + "import os\n"),
    "commands of one text": _many("a=b; a=b\\\\\n", _TORCH + "import os\nos.system('''", "CUDA_VISIBLE_DEVICES=0 python a.py''')\n"),
    "ranks bound again": _many('local_rank = {n}\ndist.init_process_group("nccl")\n', _TORCH + "import torch.distributed as dist\n"),
    "tensors that are joined": _many(
        "torch.zeros(1), ", _TORCH + "class M(torch.nn.Module):\n    def forward(self, x):\n        x = x.view(1)\n        return torch.cat([", "])\n"
    ),
    "masks of one name": _many("    m = x > 0\n    y = x[m]\n", _TORCH + "for i in d:\n    x = net(i)\n    x.backward()\n"),
    "names that are missing": _many(" and torch.nothing{n}", _TORCH + 'x = hasattr(torch, "a")', "\n"),
    "functions that compute": _many("def f{n}(x):\n    return torch.linalg.eig(x)\ny = f{n}(1)\n", _TORCH),
    "a comparison": _many('"cuda" == ', _TORCH + "x = a == ", "b\n"),
    "variables in a dict": _many('"CUDA_A{n}": "1", ', _TORCH + "import os\nos.environ.update({", "})\n"),
    "switches": _many("torch.backends.cuda.matmul.allow_tf32 = True\n", _TORCH),
    "newer grammar": _many("type X{n} = int\nx.cuda()\n", _TORCH),
    "text that is no Python": _many("$ cuda torch\n", _TORCH),
    "brackets": _many("(", _TORCH + "x.cuda()\n"),
    "quotes": _many("'", _TORCH + "x.cuda()\n"),
    "backslashes": _many("\\", _TORCH + "x.cuda()\n"),
}  # fmt: skip

# What a reader driven by regular expressions may go over again and again.
_RUNS = {
    "blanks": " ", "tabs": "\t", "letters": "a", "digits": "1", "quotes": '"', "single quotes": "'", "backticks": "`", "backslashes": "\\",
    "opened": "[", "braces": "{", "parens": "(", "dollars": "$", "dashes": "-", "equals": "=", "hashes": "#", "dots": ".", "colons": ":",
    "commas": ",", "semicolons": ";", "slashes": "/", "stars": "/*", "less": "<", "at": "@", "bars": "|", "amps": "&", "words": "a ",
    "sets": "a=", "options": "--a ", "lines": "\n", "returns": "\r", "blank lines": " \n", "continued": " \\\n", "torch": "torch ", "cuda": "cuda:0 ",
    "substitutions": "$(", "variables": "${", "heredocs": "<<A ", "underscores": "_", "capitals": "CUDA_A", "addresses": "https://a/cu118/",
    "pip": "pip install torch==1.0 ", "gpus": "--gpus all ", "scopes": "a::", "comments": "#a\n", "newlines": "\\n", "not ASCII": "é", "keywords": "while if from_numpy( import ",
}  # fmt: skip
_HOLDS = {  # a place to put a run of them: a line of its own, a value, behind a word
    "sh": ("a.sh", ("{}", "export CUDA_VISIBLE_DEVICES={}", 'python a.py --device "{}" cuda', "python a.py {} --device cuda", "#SBATCH {} --gpus")),
    "makefile": ("Makefile", ("{}", "CUDA = {}", "a:\n\tpython a.py {} --device cuda", "export {} CUDA")),
    "dockerfile": ("Dockerfile", ("{}", "FROM nvidia/cuda{}", "ENV A={} CUDA_VISIBLE_DEVICES=0", "RUN pip install {} torch==1.0", "RUN {}", "ENV A {}")),
    "yaml": ("a.yaml", ("{}", "cuda: {}", "cuda: '{}'", 'cuda: "{}"', "- torch{}", "# {}")),
    "json": ("a.json", ("{}", '{{"cuda": "{}"}}', '{{"cuda": {} }}', '{{ "cuda": "cuda" {} }}')),
    "toml": ("pyproject.toml", ("{}", 'cuda = "{}"', "cuda = {}", '[project]\ndependencies = ["torch{}==2.1"]', '[project]\ndependencies = ["torch{}"]')),
    "ini": ("setup.cfg", ("{}", "[a]\ncuda = a{}b", "[a]\ncuda{}= b", "[a]\ncuda = {}", "[options]\ninstall_requires =\n  torch{}==2.1", "[a]\nb =\n  cuda{};a")),
    "requirements": ("requirements.txt", ("{}", "torch{}==2.1", "torch=={}2.1", "torch==2.1{}", "torch{}", "torch [{}]", "git+https://a/{}", "-e {} git+https://a/b", "torch=={} # a", "torch ; {}", "torch @ {}", "torch==2.1,{}")),
    "cu": ("a.cu", ("{}", "__global__ void f({}", "__global__ {} f()", "#define CUDA(a) {}", "CUDA_LAUNCH({}", "a<<<{}>>>();", "#include <cuda{}", 'm.def("cuda", {}', '"cuda {}"', "// cuda {}", "#if {} CUDA", "CUDA {} ;", "__launch_bounds__({}", "__attribute__((cuda{}")),
    "python": ("a.py", ("import torch\nx.cuda() #{}", "import torch\nx.cuda()\n{}", "import torch\nx = '{}'.cuda()", "import torch\n# porter:{}ignore[PRT107]", "import torch\n# porter: ignore[{}]\nx.cuda()")),
    "notebook": ("a.ipynb", ()),
}  # fmt: skip
_TEXTS = {
    "sh lines": ("a.sh", _many("CUDA_VISIBLE_DEVICES={n} python train.py --device cuda\n")),
    "sh one variable": ("a.sh", _many("export CUDA_VISIBLE_DEVICES=0\necho $CUDA_VISIBLE_DEVICES\n")),
    "sh assignments": ("a.sh", _many("A{n}=cuda\npython a.py --device $A{n}\n")),
    "sh programs": ("a.sh", _many('A{n}="python a.py --device cuda"\n$A{n}\n')),
    "sh heredocs": ("a.sh", _many("cat > a{n}.py <<EOF\nimport torch\nx.cuda()\nEOF\n")),
    "sh a heredoc": ("a.sh", _many("x.cuda()\n", "cat > a.py <<EOF\n", "EOF\n")),
    "sh continued": ("a.sh", _many("  --a{n} 1 \\\n", "python a.py --device cuda \\\n", "  b\n")),
    "sh words": ("a.sh", _many("cuda ", "python a.py ", "\n")),
    "sh functions": ("a.sh", _many("f{n}() {\n  python a.py --device cuda\n}\n")),
    "sh ifs": ("a.sh", _many("if nvidia-smi; then\n  export NCCL_DEBUG=INFO\nfi\n")),
    "sh not ASCII": ("a.sh", _many("# 显卡\nexport CUDA_VISIBLE_DEVICES=0\n")),
    "sh pip": ("a.sh", _many("pip install torch==1.0 nvidia-cublas-cu12 flash-attn\n")),
    "sh substitutions": ("a.sh", _many("X=$(nvidia-smi -L | wc -l)\n")),
    "sh inner": ("a.sh", _many("bash -c 'python a.py --device cuda'\n")),
    "sh strings": ("a.sh", _many('python a.py cuda\nA{n}="cuda x"\n')),
    "sh tools": ("a.sh", _many("nvidia-smi -q ", "docker run ", "\n")),
    "sh installers": ("a.sh", _many("install add ", "foo ", "torch==1.0\n")),
    "sh a word": ("a.sh", _many("=--device=cuda", "python a.py ", "\n")),
    "sh broken in one line": ("a.sh", _many("cuda ) ", "nvidia-smi\n" * 9)),
    "sh comments": ("a.sh", _many("# python a.py --device cuda\n")),
    "sh directives": ("a.sh", _many("#SBATCH --gpus=1\n")),
    "sh broken": ("a.sh", _many("if cuda; then (\n")),
    "sh suppressed": ("a.sh", _many("export NCCL_DEBUG=1  # porter: ignore[PRT143] known\n")),
    "makefile rules": ("Makefile", _many("a{n}:\n\tpython train.py --device cuda\n")),
    "makefile variables": ("Makefile", _many("A{n} = cuda\nB{n} = $(A{n}) $(CUDA_HOME)\n")),
    "makefile recipe": ("Makefile", _many("\tpython train.py --device cuda\n", "a:\n")),
    "makefile continued": ("Makefile", _many("  b{n} \\\n", "CUDA = \\\n", "  c\n")),
    "dockerfile lines": ("Dockerfile", _many("RUN pip install torch==1.0\nENV CUDA_VISIBLE_DEVICES={n}\n", "FROM nvidia/cuda:12\n")),
    "dockerfile stages": ("Dockerfile", _many("FROM nvidia/cuda:12 AS a{n}\nCOPY --from=a{n} a b\n")),
    "dockerfile continued": ("Dockerfile", _many("  && pip install torch==1.0 \\\n", "FROM a\nRUN nvidia-smi \\\n", "  && true\n")),
    "dockerfile pairs": ("Dockerfile", _many(" A{n}=cuda", "FROM a\nENV", "\n")),
    "yaml entries": ("a.yaml", _many("k{n}: cuda\n")),
    "yaml maps": ("a.yaml", _many("k{n}:\n  device: cuda\n  backend: nccl\n")),
    "yaml one map": ("a.yaml", _many("  device{n}: cuda\n", "a:\n")),
    "yaml a list": ("a.yaml", _many("- cuda\n", "device:\n")),
    "yaml command": ("a.yaml", _many("  - --device\n  - cuda\n", "command:\n")),
    "yaml a flow": ("a.yaml", _many("cuda, ", "device: [", "]\n")),
    "yaml a block": ("a.yaml", _many("  python a.py --device cuda\n", "run: |\n")),
    "yaml jobs": (".github/workflows/a.yaml", _many("  j{n}:\n    runs-on: [gpu]\n    steps:\n    - run: pip install torch==1.0\n", "jobs:\n")),
    "yaml pip": ("environment.yml", _many("- torch==1.{n}\n", "dependencies:\n")),
    "yaml anchors": ("a.yaml", _many("k{n}: &a{n} cuda\nl{n}: *a{n}\n")),
    "json entries": ("a.json", _many('"k{n}": "cuda",\n', "{", '"device": "cuda"}')),
    "json maps": ("a.json", _many('"k{n}": {"device": "cuda"},\n', "{", '"device": "cuda"}')),
    "json a list": ("a.json", _many('"cuda",\n', '{"device": [', '"cuda"]}')),
    "toml entries": ("a.toml", _many('k{n} = "cuda"\n')),
    "toml tables": ("a.toml", _many('[k{n}]\ndevice = "cuda"\n')),
    "toml dependencies": ("pyproject.toml", _many('  "torch==1.{n}",\n', "[project]\ndependencies = [\n", "]\n")),
    "ini entries": ("a.ini", _many("k{n} = cuda\n", "[a]\n")),
    "ini sections": ("a.ini", _many("[k{n}]\ndevice = cuda\n")),
    "ini list": ("setup.cfg", _many("  torch==1.{n}\n", "[options]\ninstall_requires =\n")),
    "requirements lines": ("requirements.txt", _many("torch==1.{n}\n")),
    "requirements packages": ("requirements.txt", _many("nvidia-cublas-cu12==1.{n}\nflash-attn\n")),
    "requirements names": ("requirements.txt", _many("package{n}==1.0\n", "torch\n")),
    "requirements hashes": ("requirements.txt", _many(" \\\n  --hash=sha256:{n}", "torch==1.0", "\n")),
    "requirements comments": ("requirements.txt", _many("# torch\n", "torch==1.0\n")),
    "requirements indexes": ("requirements.txt", _many("--index-url https://download.pytorch.org/whl/cu118\n")),
    "requirements not ASCII": ("requirements.txt", _many("torch==1.0 # 显卡\n")),
    "cu kernels": ("a.cu", _many("__global__ void f{n}(float* x) { x[0] = 1; }\nvoid g{n}() { f{n}<<<1, 1>>>(0); }\n")),
    "cu calls": ("a.cu", _many("  cudaMalloc(&x{n}, 1);\n", "void g() {\n", "}\n")),
    "cu macros": ("a.cu", _many("#define K{n}(a) __global__ void a() {}\nK{n}(f{n})\n")),
    "cu one macro": ("a.cu", _many("K(f{n})\n", "#define K(a) __global__ void a() {}\n")),
    "cu includes": ("a.cu", _many("#include <cuda_runtime.h>\n")),
    "cu ifdefs": ("a.cu", _many("#ifdef USE_CUDA\n  cudaFree(x);\n#endif\n")),
    "cu bindings": ("a.cpp", _many('  m.def("f{n}", &f{n});\n', '#include <cuda.h>\nPYBIND11_MODULE(a, m) {\n', "}\n")),
    "cu conditions": ("a.cu", _many("#if A\ncudaFree(x);\n")),
    "cu calls in a row": ("a.cpp", _many(".foo(cuda)", "#include <cuda.h>\nPYBIND11_MODULE(a, m) { m", "; }\n")),
    "cu calls in calls": ("a.cpp", lambda n: "#include <cuda.h>\nPYBIND11_MODULE(a, m) { " + "f(" * n + ")" * n + "; }\n"),
    "cu macros in functions": ("a.cu", lambda n: "#define K0 cuda\n" + "".join(f"#define K{i + 1} K{i}\nvoid f{i}() {{ K{i}(1); }}\n" for i in range(n))),
    "cu names of libraries": ("a.cu", _many("cublas", "__global__ void f();\n", "\n")),
    "cu broken": ("a.cu", _many("__global__ void f{n}(\n")),
    "cu comments": ("a.cu", _many("// cuda __global__ <<<\n/* cuda */\n")),
    "cu not ASCII": ("a.cu", _many("// 显卡\n  cudaMalloc(&x{n}, 1);\n")),
    "notebook cells": ("a.ipynb", lambda n: _notebook("import torch", *[f"x{i} = y.cuda()" for i in range(n)])),
    "notebook lines": ("a.ipynb", lambda n: _notebook("import torch\n" + "".join(f"x{i} = 1\n" for i in range(n)) + "x.cuda()")),
    "notebook edits": ("a.ipynb", lambda n: _notebook("import torch\n" + "".join(f"x{i}.cuda()\n" for i in range(n)))),
    "notebook magics": ("a.ipynb", lambda n: _notebook("import torch", *["!pip install torch==1.0"] * n)),
    "notebook a string": ("a.ipynb", lambda n: json.dumps(_cells(["import torch\n" + "x.cuda()\n" * n]))),
    "notebook a line": ("a.ipynb", lambda n: json.dumps(_cells(["import torch"], *[["x = y.cuda()"]] * n))),
    "notebook broken shell": ("a.ipynb", lambda n: json.dumps(_cells(*["!cuda ) )) nvidia-smi ("] * n))),
    "notebook quotes": ("a.ipynb", lambda n: json.dumps(_cells("import torch\nx.cuda() " + "\\'" * n))),
    "notebook comments": ("a.ipynb", lambda n: '{"metadata": {}, "cells": [{"cell_type": "code", "outputs": [' + "/* " * n + ']}]}'),
    "notebook texts": ("a.ipynb", lambda n: _notebook("cuda torch", *["some cuda text"] * n, kind="markdown")),
}  # fmt: skip


def _limit(path: str) -> int:
    from porter.files.kinds import PYTHON, kind_of, largest

    return 5_000_000 if kind_of(path) == PYTHON else min(5_000_000, largest(kind_of(path)))


def inputs() -> dict[str, Input]:
    made = {f"python: {name}": Input("a.py", make) for name, make in _PYTHON.items()}
    made |= {
        f"{name.partition(' ')[0]}: {name.partition(' ')[2]}": Input(path, make, _limit(path))
        for name, (path, make) in _TEXTS.items()
    }
    for kind, (path, places) in _HOLDS.items():
        for place in places:
            for name, run in _RUNS.items():
                made[f"{kind} run: {name} in {place!r}"] = Input(path, _run(place, run), _limit(path))
    return made


def _run(place: str, run: str) -> Callable[[int], str]:
    return lambda n: "cuda torch = 1\n" * (place == "{}") + place.format(run * n) + "\n"
