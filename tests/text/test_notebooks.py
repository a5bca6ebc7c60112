"""Notebooks: the code is ported, and nothing else in the file moves."""

from __future__ import annotations

import json
import random
import re

import pytest
from drawn import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from porter.analysis import notebook
from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.engine.session import Quiet
from porter.engine.together import lines_of
from porter.finding import Change, apply
from porter.text.document import Document
from porter.text.notebooks import magics
from porter.text.notebooks.cells import read
from porter.text.notebooks.check import fault
from porter.text.notebooks.writer import Edit, View, written

SESSION = open_session()
IMPORT = "import torch_npu  # noqa: F401"


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


def ported(data: bytes, unsafe: bool = False, but: frozenset[str] = frozenset()) -> bytes:
    """Nothing is unreadable or refused, `but` for these reasons; and a second pass changes nothing."""
    found = analyse("a.ipynb", data, SESSION)
    assert not [f for f in found.findings if f.code in ("PRT002", "PRT003") and f.why not in but], found.findings
    after = apply(data, found.review if unsafe else found.auto)
    again = analyse("a.ipynb", after, SESSION)
    assert not (again.review if unsafe else again.auto)
    return after


def findings(data: bytes, *codes: str) -> list[tuple[str, str, str]]:
    """Code, message and status."""
    found = analyse("a.ipynb", data, SESSION).findings
    return [(f.code, f.why, f.status) for f in found if not codes or f.code in codes]


def sources(data: bytes) -> list[str]:
    cells = json.loads(data)["cells"]
    return ["".join(c["source"] or "") for c in cells if c["cell_type"] == "code"]


def test_cells_are_one_module():
    data = book(["import torch as t\n", "%matplotlib inline"], ["x.cuda()\n", "t.cuda.synchronize()"])
    assert sources(ported(data)) == [
        "import torch as t\nimport torch_npu  # noqa: F401\n%matplotlib inline",
        "x.npu()\nt.npu.synchronize()",
    ]


def test_a_finding_names_cell_and_line_and_stands_where_the_line_does():
    data = book(["import torch\n"], ["# one\n", "torch.cuda.synchronize()"])
    (found,) = analyse("a.ipynb", data, SESSION).findings
    line = data.decode().splitlines()[found.line - 1]
    assert (dict(found.values)["cell"], dict(found.values)["cell_line"]) == ("2", "2")
    assert "torch.cuda.synchronize()" in line and line[found.column - 1 :].startswith("torch.cuda.synchronize")
    assert open_session().rules.texts.message(found).endswith("(cell 2, line 2)")


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
    found = analyse("a.ipynb", data, SESSION)
    assert not found.auto and [(f.code, f.why) for f in found.findings] == ([("PRT002", why)] if why else [])


def test_a_broken_cell_is_a_note_and_the_others_are_ported():
    data = book(["import torch\n"], ["def f(:\n", "    pass"], ["torch.cuda.synchronize()"])
    found = analyse("a.ipynb", data, SESSION)
    notes = [f for f in found.findings if f.code == "PRT002"]
    assert [(f.why, f.severity, dict(f.values)["cell"]) for f in notes] == [("cell", "note", "2")]
    assert sources(apply(data, found.auto))[1:] == ["def f(:\n    pass", "torch.npu.synchronize()"]


# what Python takes for a line end, and what str.splitlines does


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x85", "\f", "\v", "\x1c", "\x1d", "\x1e"])
@pytest.mark.parametrize("listed", [True, False])
def test_only_what_ends_a_line_for_python_does(odd, listed):
    lines = [f"import torch  # a{odd}# SECOND NOTE\n", f"x = torch.zeros(3).cuda()  # hm{odd}y = 1\n"]
    (text,) = sources(ported(book(lines if listed else "".join(lines))))
    assert text == f"{lines[0]}{IMPORT}\n{lines[1].replace('cuda', 'npu')}"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("listed", [True, False])
def test_the_line_ends_of_a_cell_stay(end, listed):
    lines = [f"import torch{end}", f"torch.cuda.synchronize(){end}", "x = torch.ones(2).cuda()"]
    (text,) = sources(ported(book(lines if listed else "".join(lines))))
    assert text == end.join(["import torch", IMPORT, "torch.npu.synchronize()", "x = torch.ones(2).npu()"])


def test_an_inserted_line_is_an_item_as_the_others_are():
    data = b'{"cells":[{"cell_type":"code","source":["import torch\\n" , "torch.cuda.synchronize()"]}]}'
    assert ported(data) == data.replace(
        b'\\n" , "torch.cuda', b'\\n" , "import torch_npu  # noqa: F401\\n" , "torch.npu'
    )
    alone = b'{"cells": [{"cell_type": "code", "source": [\r\n\t"import torch"\r\n]}, {"cell_type": "code", "source": ["torch.cuda.init()"]}]}'
    assert b'"import torch\\n",\r\n\t"import torch_npu  # noqa: F401"\r\n]' in ported(alone)


def test_items_that_hold_several_lines_or_a_part_of_one():
    several = ["import torch\nx = torch.ones(2)\n", "x.cu", "da()\nx.cuda()"]
    data = book(several)
    after = json.loads(ported(data))["cells"][1]["source"]
    assert after == [f"import torch\n{IMPORT}\nx = torch.ones(2)\n", "x.npu()\nx.npu()"]


def test_items_without_line_ends_are_lines_where_nothing_else_is_python():
    data = book(["import torch", "torch.cuda.synchronize()", "y = 1"])
    assert json.loads(ported(data))["cells"][1]["source"] == [
        "import torch",
        IMPORT,
        "torch.npu.synchronize()",
        "y = 1",
    ]


def test_a_string_keeps_its_escapes():
    source = rb'"import torch\u000a\u0078 = torch.zeros(3).cuda() # \/ \u00e9\u00E9 \ud83d\ude00 \ud800 \t\nx.cuda(); y = \"\u0041\""'
    data = b'{"cells":[{"cell_type":"code","source":%s}],"n":"\\/\\u0041"}' % source
    made = source.replace(b"cuda", b"npu").replace(rb"\u000a", rb"\u000aimport torch_npu  # noqa: F401\n", 1)
    assert ported(data) == data.replace(source, made)


def test_escapes_between_two_places_of_one_edit_stay():
    """One finding may replace a call over several lines."""
    data = rb'{"cells": [{"cell_type": "code", "source": ["f(\u0061,  # \u00e9\/\n", "  b=\u0054rue)\n", "c"]}]}'
    book_ = read(Document("a.ipynb", data, "notebook", SESSION, ""))
    view = View(book_, book_.python_view, True)
    end = len(view.data) - len("\nc\n")
    (*edits,) = view.edits(Change(0, end, "gg(a,  # é/\n  d=1,\n  b=True, e=2)".encode()))
    assert [edit.new for edit in edits] == ["gg", "d=1,\n  ", ", e=2"]
    changes = written(book_, edits)
    assert apply(data, changes) == data.replace(b"f(", b"gg(").replace(b"  b=", b'  d=1,\\n", "  b=').replace(
        b"rue)", b"rue, e=2)"
    )
    assert not fault(book_, {*edits}, set(), changes)
    joined = view.edits(Change(0, end, b"f(a)"))
    assert json.loads(apply(data, written(book_, joined)))["cells"][0]["source"] == ["f(a)\n", "c"]
    gone = view.edits(Change(0, end + 1, b""))
    assert apply(data, written(book_, gone)).endswith(b'"source": ["c"]}]}')


# magics and shell escapes


@pytest.mark.parametrize(
    "command",
    ['os.environ["CUDA_VISIBLE_DEVICES"] = !echo 0,1 | tr -d " "', "x.is_cuda = !ls", "x.is_cuda = %time f(1)", "a, b = !ls é", "d['a'][b['c=d']] = !ls"],
)  # fmt: skip
def test_what_stands_in_for_a_command_is_never_written(command):
    data = book(["import os, torch\n", "x = torch.ones(2).cuda()\n", command])
    behind = command.partition("= ")[2] if "d[" not in command else "!ls"
    assert sources(ported(data))[0].endswith(behind)
    assert sources(ported(data, unsafe=True))[0].endswith(behind)


@pytest.mark.parametrize(
    ("line", "python"),
    [
        ("n = !nproc", "n = ______"), ("n: int = %sx nproc", "n: int = _________"), ("!ls", "0#."), ("!", "0"), ("  %cd a", "  0#..."),
        ("f(1)?", "f(1)?"), ("a.b??", "0#..."), ("%time x = f(1)", "0;    x = f(1)"), ("y = %timeit -n 3 f(1)", "y =              f(1)"),
        ("%time for a in b: c", "0#................."), ("x = '=!ls'", "x = '=!ls'"), ("x != y", "x != y"), ("f(a=!ls)", "f(a=!ls)"),
        ("pip install a", "0#..........."), ("cd ..", "0#..."), ("ls -l", "ls -l"), ("ls in a", "ls in a"), ("ls -l in a", "ls -l in a"),
        ("ls /a/b/", "0#......"), ("ls /a", "ls /a"), ("rm -rf a/b", "0#........"), ("cp -r -v a b", "0#.........."), ("cat = 1", "cat = 1"),
    ],
)  # fmt: skip
def test_the_stand_in_of_a_line_is_as_long_and_what_a_command_yields_is_not_known(line, python):
    assert magics.read([line]).python == [python] and len(line) == len(python)


def test_python_behind_a_magic_is_a_persons_work():
    data = book(["import torch\n", "%time torch.cuda.empty_cache()\n", "y = %timeit -n 3 torch.ones(2).cuda()\n"])
    found = analyse("a.ipynb", data, SESSION)
    assert ported(data, unsafe=True) == data  # not even the import, which nothing would use
    assert [(f.code, f.status, f.edit, dict(f.values)["kept"]) for f in found.findings] == [
        ("PRT101", "manual", (), "magic"),
        ("PRT130", "manual", (), "magic"),
    ]
    text = SESSION.rules.texts.message
    assert "not edited: this line holds a magic" in text(found.findings[0]) and "未改动" in text(
        found.findings[0], "zh"
    )
    more = book(["import torch\n", "%time torch.cuda.empty_cache()\n", "torch.cuda.synchronize()\n"])
    assert sources(ported(more))[0].split("\n")[1:] == [
        IMPORT,
        "%time torch.cuda.empty_cache()",
        "torch.npu.synchronize()",
        "",
    ]


def test_an_import_that_has_no_place_behind_a_magic_is_told():
    data = book(["%time import torch\n", "torch.cuda.synchronize()\n"])
    assert sources(ported(data)) == ["%time import torch\ntorch.npu.synchronize()\n"]
    found = [(f.code, f.why, dict(f.values)["cell_line"]) for f in analyse("a.ipynb", data, SESSION).findings]
    assert found == [("PRT004", "magic", "1"), ("PRT101", "default", "2")]
    alone = book(["%time import torch\n", "%time torch.cuda.synchronize()\n"])  # nothing is edited
    assert [f.code for f in analyse("a.ipynb", alone, SESSION).findings] == ["PRT101"]


def test_what_looks_like_a_magic_inside_of_a_statement_is_none():
    lines = ["import torch\n", "s = '''\n", "!nvidia-smi\n", "%env CUDA_VISIBLE_DEVICES=0\n", "'''\n", "y = (7\n", "% 3, torch.cuda.synchronize())\n", "z = 'a \\\n", "!nvidia-smi'\n"]  # fmt: skip
    (text,) = sources(ported(book(lines)))
    assert text == "".join(
        ["import torch\n", IMPORT + "\n", *lines[1:6], "% 3, torch.npu.synchronize())\n", *lines[7:]]
    )


@pytest.mark.parametrize(
    "head", ["%%bash\n", "\n\n%%bash\n", "# a note\n%%bash\n", "%%script bash\n", "%%script --no-raise-error /bin/bash -e\n", "%%sh\n", "%%capture\n%%bash\n", "%%bash --no-raise-error\n", "  %%bash\n"],
)  # fmt: skip
def test_cells_of_shell(head):
    data = book(["import torch\n"], head + "nvidia-smi  # torch.cuda\nexport CUDA_VISIBLE_DEVICES=0,1\n")
    assert sources(ported(data))[1] == head + "npu-smi info  # torch.cuda\nexport ASCEND_RT_VISIBLE_DEVICES=0,1\n"


@pytest.mark.parametrize("head", ["%%html", "%%R", "%%script perl", "%%javascript", "%%cu", "%%writefile a.txt"])
def test_cells_of_other_languages_stay(head):
    data = book(["import torch\n"], head + "\nnvidia-smi\ntorch.cuda.init()\n!nvidia-smi\n")
    assert ported(data, unsafe=True) == data


SHELL = [
    ("!nvidia-smi", "!npu-smi info", ["PRT145 plain auto"]),
    ("%env CUDA_VISIBLE_DEVICES=0", "%env ASCEND_RT_VISIBLE_DEVICES=0", ["PRT801 CUDA_VISIBLE_DEVICES auto"]),
    ("%%bash\nexport CUDA_VISIBLE_DEVICES=1\nnvidia-smi", "%%bash\nexport ASCEND_RT_VISIBLE_DEVICES=1\nnpu-smi info", ["PRT801 CUDA_VISIBLE_DEVICES auto", "PRT145 plain auto"]),
    ("!pip install torch==2.1.0+cu118 -f https://download.pytorch.org/whl/cu118", "!pip install torch==2.7.1 -f https://download.pytorch.org/whl/cpu", ["PRT840 pin review", "PRT841 index review"]),
    ("!CUDA_VISIBLE_DEVICES=0 python x.py", "!ASCEND_RT_VISIBLE_DEVICES=0 python x.py", ["PRT801 CUDA_VISIBLE_DEVICES auto"]),
    ("%env CUDA_VISIBLE_DEVICES 0,1", "%env ASCEND_RT_VISIBLE_DEVICES 0,1", ["PRT801 CUDA_VISIBLE_DEVICES auto"]),
    ("%set_env CUDA_VISIBLE_DEVICES = 1,0", "%set_env ASCEND_RT_VISIBLE_DEVICES = 1,0", ["PRT801 order review"]),
    ("x = %env CUDA_VISIBLE_DEVICES", "x = %env ASCEND_RT_VISIBLE_DEVICES", ["PRT801 CUDA_VISIBLE_DEVICES auto"]),
    ("%env NCCL_DEBUG INFO", None, ["PRT803 NCCL_DEBUG manual"]),
    ("%env CUDA_VISIBLE_DEVICES={gpu}", "%env ASCEND_RT_VISIBLE_DEVICES={gpu}", ["PRT801 CUDA_VISIBLE_DEVICES auto"]),
    ("%pip install -q flash-attn", None, ["PRT401 flash_attn manual"]),
    ("pip install torch==2.7.1+cu118", "pip install torch==2.7.1", ["PRT841 local review"]),
    ("!{sys.executable} -m pip install torch==2.1.0+cu118", "!{sys.executable} -m pip install torch==2.7.1", ["PRT840 pin review"]),
    ("    !nvidia-smi", "    !npu-smi info", ["PRT145 plain auto"]),
    ("x = !nvidia-smi", None, ["PRT145 parsed manual"]),
    ("!!nvidia-smi", None, ["PRT145 parsed manual"]),
    ("x = %sx nvidia-smi", None, ["PRT145 parsed manual"]),
    ("!nvidia-smi --query-gpu=name --format=csv", None, ["PRT145 counted manual"]),
    ("%time !nvidia-smi", "%time !npu-smi info", ["PRT145 plain auto"]),
    ("!python x.py \\\n  --device cuda \\\n  --n {n}", "!python x.py \\\n  --device npu \\\n  --n {n}", ["PRT825 unknown review"]),
    ("%run x.py --device cuda", "%run x.py --device npu", ["PRT825 unknown review"]),
    ("!python {d['a b']} --device cuda --x $y", "!python {d['a b']} --device npu --x $y", ["PRT825 unknown review"]),
    ("!docker run --gpus all {image}", "!docker run --runtime=ascend -e ASCEND_VISIBLE_DEVICES=0-7 {image}", ["PRT822 gpus review"]),
    ("%%writefile x.py\nimport torch\nx.cuda()", None, ["PRT827 file manual"]),
    ("%%python3\nimport torch\ntorch.cuda.init()", None, ["PRT827 program manual"]),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "said"), SHELL, ids=[row[0] for row in SHELL])
@pytest.mark.parametrize("listed", [True, False])
def test_shell_is_read_as_scripts_are(before, after, said, listed):
    if before.startswith("    "):
        before, after = f"if 1:\n{before}", f"if 1:\n{after}"
    data = book(["x = 1\n"], before.splitlines(keepends=True) if listed else before)
    assert [" ".join(found) for found in findings(data)] == said
    assert sources(ported(data, unsafe=True))[1] == (after or before)
    assert sources(ported(data))[1] == (after or before if all(s.endswith("auto") for s in said) else before)


def test_shell_answers_as_a_script_would():
    script = "export CUDA_VISIBLE_DEVICES=0,1\nnvidia-smi -q | wc -l\nmodule load cuda/12\npip install cupy torch==2.1+cu118\npython t.py --backend nccl --device cuda\n"
    alone = analyse("a.sh", script.encode(), SESSION)
    inside = analyse("a.ipynb", book("%%bash\n" + script), SESSION)
    told = [
        # a script sets up CANN, and may be all that installs torch
        [
            (f.line - by, f.code, f.why, f.status, f.severity)
            for f in r.findings
            if f.code != "PRT826" and f.why != "missing"
        ]
        for r, by in ((alone, 0), (inside, 0))
    ]
    lines = [dict(f.values)["cell_line"] for f in inside.findings]
    assert [row[1:] for row in told[0]] == [row[1:] for row in told[1]]
    assert [int(line) - 1 for line in lines] == [row[0] for row in told[0]]
    assert sources(apply(inside_data := book("%%bash\n" + script), inside.review)) == [
        "%%bash\n" + apply(script.encode(), alone.review).decode()
    ], inside_data


def test_a_name_of_python_is_not_the_environments():
    data = book(["CUDA_VISIBLE_DEVICES = '1'\n", "!CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES python x.py\n"])
    assert sources(ported(data, unsafe=True))[0].endswith(
        "!ASCEND_RT_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES python x.py\n"
    )
    other = book(["!echo $CUDA_VISIBLE_DEVICES\n", "!CUDA_VISIBLE_DEVICES=0 python x.py\n"])
    assert b"CUDA_VISIBLE" not in ported(other)


def test_python_that_the_shell_gets_may_read_the_variable():
    data = book(["import os\n"], ["%env CUDA_VISIBLE_DEVICES=0\n"], ["!echo {os.environ['CUDA_VISIBLE_DEVICES']}"])
    assert findings(data) == [
        ("PRT801", "CUDA_VISIBLE_DEVICES", "review"),
        ("PRT801", "CUDA_VISIBLE_DEVICES", "manual"),
    ]


def test_shell_that_cannot_be_read_costs_nothing_else():
    data = book(["!nvidia-smi\n", "!echo 'gpu \" ) ( $(\n", "!nvidia-smi\n"])
    found = analyse("a.ipynb", data, SESSION)
    assert [dict(f.values)["cell_line"] for f in found.findings if (f.code, f.why) == ("PRT002", "part")] == ["2"]
    assert sources(apply(data, found.auto)) == ["!npu-smi info\n!echo 'gpu \" ) ( $(\n!npu-smi info\n"]


def test_suppressions_and_settings_hold_for_shell():
    for line in (
        "# porter: ignore[PRT145] here\n!nvidia-smi\n",
        "!nvidia-smi  # porter: ignore[PRT145] here\n",
        "%%bash\n# porter: ignore[PRT145] here\nnvidia-smi\n",
    ):
        data = book(["import torch\n"], line)
        (found,) = analyse("a.ipynb", data, SESSION).findings
        assert (found.code, found.suppressed) == ("PRT145", "here")
        assert ported(data) == data
    for head in ("# porter: skip-file a\n", "x = 1  # porter: skip-file a\n", "%%bash\n# porter: skip-file a\n"):
        assert findings(book(head + "nvidia-smi\n", "import torch\ntorch.cuda.init()\n!nvidia-smi\n")) == []
    idle = book(
        "# porter: ignore[PRT145,PRT101] x\n!nvidia-smi\n",
        "import torch\n# porter: ignore[PRT101] x\ntorch.cuda.init()\n",
    )
    assert findings(idle, "PRT001") == [("PRT001", "unused", "manual")]
    assert findings(book("!nvidia-smi  # porter: ignore\n"), "PRT005") == [("PRT005", "codes", "manual")]
    quiet = open_session(quiet=Quiet(frozenset({"PRT145"})))
    assert not analyse("a.ipynb", book("!nvidia-smi\n"), quiet).findings


# kernels


@pytest.mark.parametrize(
    ("metadata", "python"),
    [
        ({}, True), ({"kernelspec": {"name": "python3", "language": "python", "display_name": "x"}}, True),
        ({"kernelspec": {"name": "xpython", "language": "python"}}, True), ({"kernelspec": {"name": "conda-env-julia_and_r-py"}}, True),
        ({"kernelspec": {"name": "xpython"}}, True), ({"language_info": {"name": "python"}}, True), ({"kernelspec": None}, True),
        ({"kernelspec": {"name": "julia-1.6", "language": "julia"}}, False), ({"kernelspec": {"name": "julia-1.6"}}, False),
        ({"kernelspec": {"name": "ir", "display_name": "R"}, "language_info": {"name": "R"}}, False), ({"kernelspec": {"name": "ir"}}, False),
        ({"language_info": {"name": "scala"}}, False),
    ],
)  # fmt: skip
def test_only_cells_of_python_kernels_are_python(metadata, python):
    cell = {"cell_type": "code", "source": ["import torch\n", "torch.cuda.synchronize()\n", "!nvidia-smi"]}
    data = json.dumps({"cells": [cell], "metadata": metadata}).encode()
    assert (ported(data) != data) is python is bool(findings(data))


def test_a_kernel_of_shell_and_cells_that_say_their_language():
    shell = {"kernelspec": {"name": "bash", "language": "bash"}}
    cell = {"cell_type": "code", "source": "nvidia-smi\nexport CUDA_VISIBLE_DEVICES=0"}
    assert sources(ported(json.dumps({"cells": [cell], "metadata": shell}).encode())) == [
        "npu-smi info\nexport ASCEND_RT_VISIBLE_DEVICES=0"
    ]
    sheets = [{"cells": [{"cell_type": "code", "language": name, "input": ["import torch\n", "torch.cuda.init()"]}]} for name in ("python", "julia")]  # fmt: skip
    after = json.loads(ported(json.dumps({"worksheets": sheets}).encode()))["worksheets"]
    assert [len(sheet["cells"][0]["input"]) for sheet in after] == [3, 2]


# files


@pytest.mark.parametrize(
    "around",
    [b'{"cells":[%s],"n":' + b"7" * 5000 + b"}", b'{"cells":[%s], // a note\n "x":1}', b'/* a */{"cells":[%s,],"n":NaN,}', b'\xef\xbb\xbf{"cells":[%s]}',
     b'{"cells":[],"cells":[%s]}', b'{"metadata":{"language_info":{}},\r"cells":[\r%s\r]}', b'{"cells":[%s,{"cell_type":"code","source":null},{"cell_type":"code","source":[]},{"cell_type":"code","source":""}]}'],
)  # fmt: skip
def test_json_that_others_would_not_take(around):
    cell = b'{"cell_type":"code","source":"x","source":["import torch\\n",\r"torch.cuda.init()"],"id":"a","attachments":{"a":[1,{"b":"]"}]}}'
    data = around.replace(b"%s", cell)
    assert ported(data) == data.replace(
        b'h\\n",\r"torch.cuda', b'h\\n",\r"import torch_npu  # noqa: F401\\n",\r"torch.npu'
    )


@pytest.mark.parametrize(
    ("data", "why", "line"),
    [
        (b'{"cells": [{"cell_type": "code", "outputs": [}], "source": "torch"}]}', "text", 1),
        (b'{"cells": [{"cell_type": "code",\n "source": 5, "x": "torch"}]}', "text", 2),
        (b'{"cells": [{"cell_type": "code",\n "source": ["torch\n"]}]}', "text", 2),
        (b'{"cells": [{"cell_type": "code", "outputs": ["torch', "text", 1),
        (b'{"cells": \n' + b'{"a":' * 300 + b'"torch"' + b"}" * 301, "deep", 2),
        ('{"cells":\n["torch é"]}'.encode("latin-1"), "text-encoding", 2),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_with_its_line(data, why, line):
    found = analyse("a.ipynb", data, SESSION)
    assert [(f.code, f.why, f.line) for f in found.findings] == [("PRT002", why, line)] and not found.review


@pytest.mark.slow
def test_outputs_may_be_deep_and_large():
    cell = b'{"cell_type":"code","outputs":%s,"source":["import torch\\n","torch.cuda.init()"]}'
    for outputs in (b"[" * 5000 + b"]" * 5000, b"[" + b"1," * 100_000 + b"1]", b'["[","\\"{"]'):
        data = b'{"cells":[%s]}' % (cell % outputs)
        assert b"torch.npu.init" in ported(data)


def test_a_cell_stands_for_itself():
    cells = [
        "x = ( # \ud800\n",
        ")\n",
        "x = 1 + \\\n",
        "2\n",
        "# -*- coding: latin-1 -*-\nimport torch  # é\ntorch.cuda.init()\n",
    ]
    data = book(*cells, ascii=True)
    found = analyse("a.ipynb", data, SESSION)
    [broken] = [f for f in found.findings if f.code == "PRT002"]  # one finding, with the lines of the others
    assert dict(broken.values)["cell"] == "1" and len(lines_of(broken)) == 3
    first = json.dumps({"cells": [{"cell_type": "code", "source": cells[4]}]}).encode()
    assert sources(ported(first))[0].endswith(f"import torch  # é\n{IMPORT}\ntorch.npu.init()\n")


def test_places_are_those_of_the_file():
    data = rb"""{"cells": [{"cell_type": "code", "source": "\u0078 = 1\n\timport_ = 2"},
 {"cell_type": "code", "source": "import torch\n\u0078 = torch.ones(2).cuda()\n!ls; nvidia-smi"}]}"""
    text = data.decode().splitlines()
    found = analyse("a.ipynb", data, SESSION).findings
    shown = [
        (f.code, text[f.line - 1][f.column - 1 : f.end_column - 1], dict(f.values).get("cell_line"))
        for f in found
        if f.code != "PRT002"
    ]
    assert shown == [("PRT130", r"torch.ones(2).cuda()", "2"), ("PRT145", "nvidia-smi", "3")]
    apis = analyse("a.ipynb", book(["x = 1\n"], ["import torch\n", "torch.cuda.init()\n"]), SESSION).apis
    lines = book(["x = 1\n"], ["import torch\n", "torch.cuda.init()\n"]).decode().splitlines()
    assert {name: lines[line - 1].strip() for name, _, line in apis}["torch.cuda.init"] == '"torch.cuda.init()\\n"'


@pytest.mark.slow
def test_work_grows_with_the_lines_and_not_faster(monkeypatch):
    """Each edit is placed once, and nothing is done for every pair of edit and line."""
    from porter.text.notebooks import writer

    counted = []
    whole = writer._raw
    monkeypatch.setattr(writer, "_raw", lambda *a: counted.append(1) or whole(*a))
    for size in (100, 200):
        counted.clear()
        data = book(["import torch\n", *["torch.cuda.synchronize()\n"] * size])
        assert ported(data).count(b"torch.npu") == size
        assert len(counted) < 8 * size


# any notebook: what comes out is what a few lines that know nothing of porter make of it

ODD = "\u2028\u2029\x85\f\v\x1c\x1d\x1e"
# a line, and what becomes of it
LINES = {
    "torch.cuda.synchronize()": "torch.npu.synchronize()", "x = torch.ones(3).cuda()  # 中文 \U0001f600/": "x = torch.ones(3).npu()  # 中文 \U0001f600/",
    "device = torch.device('cuda')": "device = torch.device('npu')", "%matplotlib inline": None, "": None, "model?": None, "files = !ls": None,
    "y = 'a/b', \"é\\t\"  # ~": None, "if 1:\n    !ls\n    pass": None, "def f(a):\n    return a.to('cuda')": "def f(a):\n    return a.to('npu')",
    "s = \'\'\'cuda\n!nvidia-smi\ntext\'\'\'": None, "%time torch.cuda.empty_cache()": None, "!nvidia-smi": "!npu-smi info",
    "%env CUDA_VISIBLE_DEVICES=0,1": "%env ASCEND_RT_VISIBLE_DEVICES=0,1", "a = !CUDA_VISIBLE_DEVICES=0 python a.py": "a = !ASCEND_RT_VISIBLE_DEVICES=0 python a.py",
    "!echo \\\n  {torch.cuda} \\\n  \"$a\"": None,
}  # fmt: skip
HEADS = {"": True, "%%time\n": True, "%%html\n": False, "# a\n\n%%capture\n%%R\n": False}


def spelt(text: str, chance: random.Random) -> list[str]:
    """Of every character, one of the ways in which JSON may write it."""
    out = []
    for letter in text:
        ways = [json.dumps(letter)[1:-1]]
        if letter >= " " and letter not in '"\\\ud800':
            ways += [letter, letter]
        if letter == "/":
            ways.append("\\/")
        if ord(letter) < 0x10000:
            ways += [f"\\u{ord(letter):04x}", f"\\u{ord(letter):04X}"]
        out.append(chance.choice(ways))
    return out


def ways_of(source: str) -> list[tuple[str, str]]:
    """Every character of a JSON text's strings, and how it is written there."""
    pair = r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[^\\]"
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', source, re.DOTALL)
    return [(json.loads(f'"{way}"'), way) for string in strings for way in re.findall(pair, string, re.DOTALL)]


@st.composite
def notebooks(draw):
    """JSON in pieces, every second one a source; and what the text of each has to become."""
    newline, item, pieces, wanted = (
        draw(st.sampled_from(["\n", "\r\n", "\r", " "])),
        draw(st.sampled_from(["  ", "\t", ""])),
        [],
        [],
    )
    kernel, chance = (
        draw(st.sampled_from(["python", "python", "python", "julia"])),
        random.Random(draw(st.integers(0, 999))),
    )
    pieces.append('{"metadata":{"kernelspec":{"language":"%s"}},%s"cells": [' % (kernel, newline))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    for number in range(draw(st.integers(1, 4))):
        head = draw(st.sampled_from(list(HEADS))) if number else ""
        lines = draw(st.lists(st.sampled_from(list(LINES)), min_size=1, max_size=5))
        odd = draw(st.sampled_from(ODD))
        before = [
            head + "\n".join(lines),
            head + "\n".join(line if LINES[line] is None else LINES[line] for line in lines),
        ]
        if not head:
            before = [f"# {odd}torch.cuda.init()\n{text}" for text in before]
        if not number:
            used = "import torch  # {}\n"
            before = [
                used.format(odd) + "torch.cuda.init()\n" + before[0],
                used.format(odd) + IMPORT + "\ntorch.npu.init()\n" + before[1],
            ]
        before = [text.replace("\n", end) for text in before]
        if draw(st.booleans()):
            before = [text + end for text in before]
        if not HEADS[head] or kernel == "julia":
            before[1] = before[0]
        wanted.append(before[1])
        texts = (
            re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", before[0])
            if (listed := draw(st.booleans()))
            else [before[0]]
        )
        strings = ['"' + "".join(spelt(text, chance)) + '"' for text in texts]
        source = f"[{newline}{item}" + f",{newline}{item}".join(strings) + f"{newline}]" if listed else strings[0]
        pieces[-1] += (
            '{"cell_type": "markdown", "source": "torch.cuda \\u0041"}, {"id": "\\/%d", "cell_type":"code", "source":'
            % number
        )
        pieces += [source, ',"outputs": ["cuda\\/"]},']
    pieces[-1] = pieces[-1][:-1] + newline + "]}" + newline
    return pieces, wanted


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(notebooks())
def test_any_notebook(made):
    pieces, wanted = made
    after = ported("".join(pieces).encode()).decode()
    at, found = 0, []
    for number, piece in enumerate(pieces):
        if number % 2 == 0:  # what is no source is as it was, to the byte
            start = after.index(piece, at)
            found.append(after[at:start])
            at = start + len(piece)
    assert at == len(after) and found[0] == ""
    for old, new, text in zip(pieces[1::2], found[1:], wanted):
        assert (old[0], old[-1]) == (new[0], new[-1])
        assert "".join(letter for letter, _ in ways_of(new)) == text
        before, behind = ways_of(old), ways_of(new)
        if "".join(letter for letter, _ in before) == text:
            assert old == new
            continue
        assert same_outside(before, behind)
        gaps = [re.split(r'"(?:[^"\\]|\\.)*"', source) for source in (old, new)]
        assert (gaps[0][0], gaps[0][-1], set(gaps[0][1:-1])) == (gaps[1][0], gaps[1][-1], set(gaps[1][1:-1]))
        assert len(gaps[1]) - len(gaps[0]) == (old[0] == "[" and IMPORT in text)


SOUP = (
    *LINES, "import torch", "with torch.cuda.amp.autocast(", "    enabled=True):", "    pass", "\'\'\'", "(", ")", "[", "]", "\\", "\"", "# porter: ignore[PRT101] x",
    "# coding: latin-1", "!pip install torch==2.1+cu118 \\", "  flash-attn", "%%bash", "%%time", "%%writefile a.py", "export CUDA_VISIBLE_DEVICES=1", "nvidia-smi",
    "!python t.py {a['b']} --device cuda $CUDA_VISIBLE_DEVICES", "%", "!", "?x", "    %time x.cuda()", "x.cuda(); y = 1", "\ufeffx = 1", "\ud800", "\0", "from torch.cuda.amp import GradScaler",
    "cat <<EOF", "EOF", "!echo \"", "/f x", "cd ..", "x = [", "class A:", "    def cuda(self):", "        return self.npu()",
)  # fmt: skip


@st.composite
def soups(draw):
    """Whatever: cells that are no Python, magics in odd places, strings that are cut anywhere."""
    chance, cells = random.Random(draw(st.integers(0, 10**6))), []
    for _ in range(draw(st.integers(1, 4))):
        ends = ["\n"] * 9 + ["\r\n", "\r", "", "\u2028\n"]
        text = "".join(line + chance.choice(ends) for line in draw(st.lists(st.sampled_from(SOUP), max_size=7)))
        cuts = sorted(chance.sample(range(len(text) + 1), min(len(text), chance.randint(0, 6))))
        texts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)])]
        if chance.random() < 0.6:
            texts = chance.choice([re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text), text.split("\n")])
        strings = ['"' + "".join(spelt(one, chance)) + '"' for one in texts]
        cells.append(
            f"[{', '.join(strings)}]" if chance.random() < 0.7 else strings[0] if len(strings) == 1 else "null"
        )
    return '{"cells": [%s]}' % ",".join('{"cell_type": "code", "source": %s}' % source for source in cells)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(soups())
def test_whatever_it_holds_a_notebook_breaks_no_promise(text):
    data = text.encode("utf-8")
    for unsafe in (False, True):
        after = ported(data, unsafe, frozenset({"cell", "part", "unchecked"}))
        assert len(sources(after)) == len(sources(data))


def same_outside(before: list[tuple[str, str]], behind: list[tuple[str, str]]) -> bool:
    """Characters that no edit changes are written as they were. An edit is a run of words at most."""
    gone = (
        "import torch_npu",
        "npu",
        "cuda",
        "nvidia-smi",
        "CUDA_VISIBLE_DEVICES",
        "ASCEND_RT_VISIBLE_DEVICES",
        "npu-smi info",
    )
    words = re.compile(
        "|".join([re.escape(IMPORT) + r"(?:\r\n|\r|\n)", *map(re.escape, sorted(gone, key=len, reverse=True))])
    )
    kept = []
    for ways in (before, behind):
        text = "".join(letter for letter, _ in ways)
        dropped = {at for found in words.finditer(text) for at in range(*found.span())}
        kept.append([way for at, (_, way) in enumerate(ways) if at not in dropped])
    return kept[0] == kept[1]


# the last look

CELL = rb'{"cells":[{"cell_type":"code","source":["import torch # \/\n","!nvidia-smi\n","torch.cuda.init() # \u0041"]},{"cell_type":"code","source":"x = !ls"}],"n":1}'
WRONG = {
    "a comment is lost": ((rb" # \/", b""),),
    "an escape is spelt in another way": ((rb"\/", b"/"),),
    "an escape behind the edit is spelt in another way": ((rb"\u0041", b"A"),),
    "another cell changes": ((b'"x = ', b'"y = '),),
    "a command changes": ((b"!ls", b"!la"),),
    "what is no code changes": ((b'"n":1', b'"n":2'),),
    "a cell is lost": ((b',{"cell_type":"code","source":"x = !ls"}', b""),),
    "it is no JSON any more": ((b"]},{", b"},{"),),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_writer_that_errs_writes_nothing(wrong, monkeypatch):
    """The edits are right, what a broken writer makes of them is not."""
    whole = notebook.written

    def broken(book, edits):
        made = whole(book, edits)
        start = CELL.index(wrong[0][0])
        extra = Change(start, start + len(wrong[0][0]), wrong[0][1])
        return tuple(sorted((*made, extra))) if made else made

    right = analyse("a.ipynb", CELL, SESSION)
    assert len(right.auto) == 3 and {f.status for f in right.findings} == {"auto"}
    monkeypatch.setattr(notebook, "written", broken)
    found = analyse("a.ipynb", CELL, SESSION)
    assert (found.auto, found.review) == ((), ())
    assert ("PRT003", "reparse") in {(f.code, f.why) for f in found.findings}
    assert not [f for f in found.findings if f.edit or f.status != "manual"]


def test_an_edit_of_python_inside_of_a_command_is_noticed():
    book_ = read(Document("a.ipynb", CELL, "notebook", SESSION, ""))
    start, above = CELL.index(b"nvidia-smi"), len("import torch # /\n!")
    edit = Edit(0, above, above + len("nvidia-smi"), "npu-smi")
    changes = (Change(start, start + len("nvidia-smi"), b"npu-smi"),)
    assert fault(book_, set(), {edit}, changes) == "" and fault(book_, {edit}, set(), changes) == "magics"


def test_an_edit_that_would_join_two_cells_is_refused():
    book_ = read(Document("a.ipynb", book("x = 1", "y = 2\n%time f(\\\n)"), "notebook", SESSION, ""))
    view = View(book_, book_.python_view, True)
    end = len("x = 1\n")
    assert view.edits(Change(end - 1, end, b" ")) is None
    assert view.edits(Change(end - 1, end + 1, b" z")) is None
    assert view.edits(Change(end - 1, end + 1, b"\nz")) == (Edit(1, 0, 1, "z"),)
    assert view.edits(Change(end, end, b"z = 3\n")) == (Edit(0, 5, 5, "\nz = 3"),)
    magic = end + len("y = 2\n")
    for change in (Change(magic, magic, b"a = "), Change(magic - 1, magic, b""), Change(magic + 1, magic + 3, b""), Change(magic - 1, magic + 1, b"\n")):  # fmt: skip
        assert view.edits(change) is None, change
    assert view.edits(Change(magic, magic, b"z\n")) == (Edit(1, 6, 6, "z\n"),)


def test_a_notebook_that_fetches_its_program_shows_the_cards_as_it_did():
    fetched = "!git clone https://github.com/a/b\n!pip install nvidia-pyindex"
    data = book("!nvidia-smi", fetched)
    assert findings(data) == [] and ported(data) == data
    data = book("!nvidia-smi", fetched, "!CUDA_VISIBLE_DEVICES=1 python a.py")
    assert ported(data) != data and not analyse("demo/INFER_COLAB.ipynb", data, SESSION).auto
    for other in ("import torch\ntorch.cuda.init()", "!CUDA_LAUNCH_BLOCKING=1 python a.py"):
        assert sources(ported(book("!nvidia-smi", fetched, other)))[0] == "!npu-smi info"
    assert sources(ported(book("!nvidia-smi", "!pip install nvidia-pyindex")))[0] == "!npu-smi info"
