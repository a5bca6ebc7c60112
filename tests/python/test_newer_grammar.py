"""A file in a grammar that this Python's `ast` does not know and LibCST does: the rest of it is ported all the same."""

from __future__ import annotations

import sys

import pytest

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.finding import apply

CASES = {
    "type alias": (
        (3, 12),
        "import torch\n\ntype Pair = tuple[int, int]\nx = torch.zeros(2).cuda()\n",
        "import torch\nimport torch_npu  # noqa: F401\n\ntype Pair = tuple[int, int]\nx = torch.zeros(2).npu()\n",
        [3],
    ),
    "generic function": (
        (3, 12),
        "import torch\n\n\ndef f[T](\n    x: T,\n):\n    é = x.cuda()\n    return é\n",
        "import torch\nimport torch_npu  # noqa: F401\n\n\ndef f[T](\n    x: T,\n):\n    é = x.npu()\n    return é\n",
        [],
    ),
    "decorated generic class": (
        (3, 12),
        'import torch\n\n\n@dataclass\nclass Step[\n    T: (int, str),\n](Base[T]):\n    def to[U](self, x: U, device="cuda"):\n        return x.to(device)\n',
        'import torch\nimport torch_npu  # noqa: F401\n\n\n@dataclass\nclass Step[\n    T: (int, str),\n](Base[T]):\n    def to[U](self, x: U, device="npu"):\n        return x.to(device)\n',
        [],
    ),
    "decorated header": (
        (3, 12),
        'import torch\n\n\n@mark\ndef f(x=f"{d["a"]}"):\n    return x.cuda()\n',
        'import torch\nimport torch_npu  # noqa: F401\n\n\n@mark\ndef f(x=f"{d["a"]}"):\n    return x.npu()\n',
        [5],
    ),
    "nested quotes": (
        (3, 12),
        'import torch\nd = {}\nprint(f"{d["a"]}"); torch.cuda.synchronize()\ntorch.cuda.synchronize()\n',
        'import torch\nimport torch_npu  # noqa: F401\nd = {}\nprint(f"{d["a"]}"); torch.cuda.synchronize()\ntorch.npu.synchronize()\n',
        [3],
    ),
    "except without brackets": (
        (3, 14),
        "import torch\n\ntry:\n    torch.cuda.init()\nexcept ValueError, TypeError:\n    torch.cuda.init()\n",
        "import torch\nimport torch_npu  # noqa: F401\n\ntry:\n    torch.npu.init()\nexcept ValueError, TypeError:\n    torch.npu.init()\n",
        [5],
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_the_rest_is_ported(case: str, newline: str) -> None:
    since, before, after, hidden = CASES[case]
    known = sys.version_info >= since
    data = before.replace("\n", newline).encode()
    result = analyse("a.py", data, open_session())
    assert [f.line for f in result.findings if f.code == "PRT002"] == ([] if known else hidden)
    if not known:
        assert apply(data, result.auto) == after.replace("\n", newline).encode()
    assert "PRT003" not in {f.code for f in result.findings}


def test_what_nobody_can_read_is_one_finding() -> None:
    result = analyse("a.py", b"import torch\ntorch.cuda.synchronize(\n", open_session())
    assert [(f.code, f.why) for f in result.findings] == [("PRT002", "syntax")] and not result.auto


def test_brackets_that_no_python_takes_are_not_called_newer_grammar() -> None:
    text = "import torch\ntorch.cuda.synchronize(" + "(" * 200 + "1" + ")" * 201 + "\n"
    found = analyse("a.py", text.encode(), open_session()).findings
    assert [(f.code, f.why) for f in found] == [("PRT002", "syntax")]
