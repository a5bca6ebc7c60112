"""Notebooks: the code is ported, and nothing else in the file moves."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from porter.analyse import analyse
from porter.finding import apply
from porter.session import Session

LINES = (
    "import torch\n", "x = torch.ones(3).cuda()  # 中文\n", "%matplotlib inline\n", "!nvidia-smi\n", "\n",
    "torch.cuda.synchronize()\n", "device = torch.device('cuda')\n", "files = !ls\n", "model?\n", "y = 1  # é\n",
    "if x:\n    !ls\n    pass\n", "def f(a):\n    return a.to('cuda')\n", "s = '''cuda\ntext'''\n", "%time torch.cuda.empty_cache()\n",
)  # fmt: skip


def book(*cells: object, indent: int | None = 1, ascii: bool = False, newline: str = "\n") -> bytes:
    made = [
        {
            "cell_type": "code",
            "execution_count": 7,
            "metadata": {"cuda": "cuda"},
            "outputs": [{"text": ["cuda:0\n"]}],
            "source": c,
        }
        for c in cells
    ]
    content = {
        "cells": [{"cell_type": "markdown", "metadata": {}, "source": ["import torch; torch.cuda\n"]}, *made],
        "nbformat": 4,
    }
    return json.dumps(content, indent=indent, ensure_ascii=ascii).replace("\n", newline).encode() + newline.encode()


def ported(data: bytes) -> bytes:
    found = analyse("a.ipynb", data, Session())
    assert not [f for f in found.findings if f.code in ("PRT002", "PRT003")], found.findings
    return apply(data, found.auto)


def sources(data: bytes) -> list[str]:
    cells = json.loads(data)["cells"]
    return ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]


def test_cells_are_one_module():
    data = book(["import torch as t\n", "%matplotlib inline"], ["x.cuda()\n", "t.cuda.synchronize()"])
    assert sources(ported(data)) == [
        "import torch as t\nimport torch_npu  # noqa: F401\n%matplotlib inline",
        "x.npu()\nt.npu.synchronize()",
    ]


def test_a_finding_names_cell_and_line_and_stands_where_the_line_does():
    data = book(["import torch\n"], ["# one\n", "torch.cuda.synchronize()"])
    (found,) = analyse("a.ipynb", data, Session()).findings
    line = data.decode().splitlines()[found.line - 1]
    assert (dict(found.values)["cell"], dict(found.values)["cell_line"]) == ("2", "2")
    assert "torch.cuda.synchronize()" in line and line[found.column - 1 :].startswith("torch.cuda.synchronize")
    assert Session().rules.texts.message(found).endswith("(cell 2, line 2)")


def test_magics_other_languages_and_markdown_stay():
    data = book(
        ["%%bash\n", "echo torch.cuda.x"],
        ["!python -c 'import torch; torch.cuda.init()'\n", "import torch\n"],
        ["%%writefile a.py\n", "torch.cuda.x"],
    )
    assert ported(data) == data


def test_a_command_goes_on_behind_a_backslash():
    command = ["!python train.py \\\n", "    --device cuda:0 \\\n", "# --name x \\\n", "    --fp16\n"]
    found = sources(ported(book(["import torch\n", *command, "torch.cuda.synchronize()\n"], ["x = !ls \\\n", "  -l"])))
    assert found[0].split("\n", 2)[2] == "".join(command) + "torch.npu.synchronize()\n"
    assert found[1] == "x = !ls \\\n  -l"


def test_a_magic_whose_cell_is_python_is_read():
    assert sources(ported(book(["import torch\n"], ["%%time\n", "torch.cuda.synchronize()"])))[1].endswith(
        "torch.npu.synchronize()"
    )


def test_an_import_that_is_the_last_line_of_its_cell():
    assert sources(ported(book(["import torch"], ["torch.cuda.synchronize()"]))) == [
        "import torch\nimport torch_npu  # noqa: F401",
        "torch.npu.synchronize()",
    ]


def test_source_as_one_string():
    assert sources(ported(book("import torch\ntorch.cuda.synchronize()"))) == [
        "import torch\nimport torch_npu  # noqa: F401\ntorch.npu.synchronize()"
    ]


def test_format_3():
    data = json.dumps(
        {"worksheets": [{"cells": [{"cell_type": "code", "input": ["import torch\n", "torch.cuda.synchronize()"]}]}]}
    ).encode()
    assert b"torch.npu.synchronize()" in ported(data)


@pytest.mark.parametrize(
    ("data", "why"),
    [(b'{"cells": ["torch"', "text"), (b'{"torch": 1}', "text"), (b'{"cells": "torch"}', None), (b"\xff torch", "text-encoding"), (b"[" * 5000 + b"torch", "deep")],
)  # fmt: skip
def test_what_is_no_notebook_is_one_note(data, why):
    found = analyse("a.ipynb", data, Session())
    assert not found.auto and [(f.code, f.why) for f in found.findings] == ([("PRT002", why)] if why else [])


def test_a_broken_cell_is_a_note_and_the_others_are_ported():
    data = book(["import torch\n"], ["def f(:\n", "    pass"], ["torch.cuda.synchronize()"])
    found = analyse("a.ipynb", data, Session())
    notes = [f for f in found.findings if f.code == "PRT002"]
    assert [(f.why, f.severity, dict(f.values)["cell"]) for f in notes] == [("cell", "note", "2")]
    assert sources(apply(data, found.auto))[1:] == ["def f(:\n    pass", "torch.npu.synchronize()"]


@given(
    st.lists(st.lists(st.sampled_from(LINES), min_size=1, max_size=5), min_size=1, max_size=4),
    st.sampled_from([None, 1, 2]), st.booleans(), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.booleans(),
)  # fmt: skip
def test_nothing_but_code_moves(cells, indent, ascii, whole, newline, ended):
    made = ["".join(cell) if whole else "".join(cell).splitlines(keepends=True) for cell in cells]
    if not ended:
        made = [c.removesuffix("\n") if whole else [*c[:-1], c[-1].removesuffix("\n")] for c in made]
    data = book(*made, indent=indent, ascii=ascii, newline=newline)
    after = ported(data)
    assert ported(after) == after
    old, new = json.loads(data), json.loads(after)
    for one, other in zip(old["cells"], new["cells"]):
        lines = one.pop("source"), other.pop("source")
        assert type(lines[0]) is type(lines[1])
    assert old == new
    untouched = [line for line in data.splitlines() if not re.search(b"cuda|import torch|nvidia", line)]
    rest = iter(after.splitlines())
    if indent is not None and not whole:
        assert all(any(line.rstrip(b",") == other.rstrip(b",") for other in rest) for line in untouched)
