"""For which words a file is read: they follow from the stanzas, so that a new one needs no second place."""

from __future__ import annotations

import re

import pytest
from rules_samples import API, RULE, VARIABLE

from porter.checks.support.numpy_names import NumpyNames
from porter.rulebook.errors import RuleError
from porter.rulebook.gate import GATE, opening
from porter.rulebook.opening import KINDS
from porter.rulebook.table import hints
from porter.rulebook.tabulate import build
from porter.rulebook.texts import Texts
from porter.text.gate import KINDS as KINDS_OF_TEXT
from porter.text.gate import concerns

PACKAGE = '[[package]]\ncode = "PRT101"\nimport = "zlib_gpu"\nstatus = "none"\nevidence = "x"\n'
MESSAGE = 'message = { en = "x", zh = "甲" }\n'
OPTION = '[[option]]\ncode = "PRT101"\nkeyword = "use_it"\nvalue = "True"\n' + MESSAGE
SETTING = '[[setting]]\ncode = "PRT101"\nkey = "fast_path"\nvalue = "on"\n'


def made(*stanzas: str) -> dict:
    return build([("rules/a.toml", "".join((RULE, *stanzas)).encode())])["gate"]


def finds(gate: dict, text: str) -> bool:
    found = ((word in text, patterns) for word, patterns in gate["python"].items())
    return any(there and (not patterns or any(re.search(p, text) for p in patterns)) for there, patterns in found)


def test_a_package_opens_the_gate():
    gate = made(PACKAGE, MESSAGE)
    assert gate["packages"] == ["zlib_gpu"]
    assert finds(gate, "import zlib_gpu.x\n") and finds(gate, "from zlib_gpu import x\n")
    assert not finds(gate, "zlib_gpu = 1\n") and not finds(gate, "import zlib_gpus\n")
    assert re.search(gate["requirements"][1][0], "zlib-gpu==1.0")
    assert made(PACKAGE)["packages"] == []  # another rule speaks of it, or none
    assert made(PACKAGE, "gate = true\n")["packages"] == ["zlib_gpu"]
    assert made(PACKAGE, "gate = false\n", MESSAGE)["packages"] == []
    aged = made(PACKAGE.replace('"none"', '"native"'), 'since = "1.2"\n')
    assert aged["packages"] == ["zlib_gpu"] and not finds(aged, "import zlib_gpu\n")
    assert re.search(aged["requirements"][1][0], "zlib-gpu==1.0") and re.search(aged["yaml"][1][0], "  - zlib_gpu==1.0")
    parts = made(PACKAGE.replace("zlib_gpu", "zlib.gpu"), 'name = "zlib"\n', MESSAGE)
    assert finds(parts, "import zlib\n") and not parts["requirements"][1]  # zlib itself is fine


def test_a_name_that_moves_opens_the_gate():
    gate = made(API)
    assert finds(gate, "import torch\n") and not finds(gate, "import torchtext, my_torch\n")


def test_a_variable_opens_the_gate():
    gate = made(VARIABLE.replace('["A", "B"]', '["ZLIB_LEVEL", "ZLIB_SIZE", "CUDA_X"]'))
    assert finds(gate, "ZLIB_LEVEL=1") and finds(gate, "ZLIB_SIZE=1") and not finds(gate, "ZLIB_=1")
    assert re.search(gate["settings"][1][-1], "zlib_size: 1") and re.search(gate["script"], "export zlib_size=1")


def test_an_option_opens_the_gate():
    assert finds(made(OPTION), "f(use_it=True)")
    said = made(OPTION.replace('"True"', "[\"'fast_one'\", \"'fast_two'\"]"))
    assert finds(said, "f(x='fast_two')") and not finds(said, "f(use_it=None)")
    assert not finds(made(OPTION, 'call = ["Trainer"]\n'), "f(use_it=True)")


def test_a_setting_opens_the_gate():
    assert re.search(made(SETTING)["settings"][1][0], "fast-path: on")
    assert made(SETTING, "gate = ['quick']\n")["settings"] == (["quick"], [])


def test_what_a_rule_adds():
    rule = RULE.replace(
        "[rule.message]", "gate = { python = ['\\bzlib\\b', 'deflate'], script = ['gzip'] }\n[rule.message]"
    )
    gate = build([("rules/a.toml", rule.encode())])["gate"]
    assert finds(gate, "zlib") and not finds(gate, "myzlib") and finds(gate, "xdeflated") and gate["script"] == "gzip"


BAD = {
    "a list": (RULE.replace("[rule.message]", "gate = ['x']\n[rule.message]"), "gate is not a table"),
    "another kind": (RULE.replace("[rule.message]", "gate = { perl = ['x'] }\n[rule.message]"), "kind of file 'perl'"),
    "no pattern": (
        RULE.replace("[rule.message]", "gate = { script = ['('] }\n[rule.message]"),
        "no regular expression",
    ),
    "slow": (RULE.replace("[rule.message]", "gate = { python = ['.*x'] }\n[rule.message]"), "begin with 3 letters"),
    "a package": (RULE + PACKAGE + "gate = 'x'\n", "gate is not true or false"),
    "any key": (RULE + SETTING.replace("fast_path", "*"), "needs a 'gate'"),
}


@pytest.mark.parametrize(("text", "complaint"), BAD.values(), ids=BAD)
def test_what_is_refused(text, complaint):
    with pytest.raises(RuleError, match=complaint):
        build([("rules/a.toml", text.encode())])


def test_a_file_of_torch_npu_alone_is_read():
    assert GATE.search(b"import torch_npu\n") and not GATE.search(b"import my_torch_npu, torch_npus\n")


def test_every_kind_of_file_has_words():
    assert all(opening()[kind] for kind in KINDS)


def test_the_example_of_a_rule_is_read():
    texts = Texts()
    befores = {code: texts.rule(code).before.encode() for code in texts.codes()}
    unread = [code for code, before in befores.items() if before and not GATE.search(before)]
    assert [code for code in unread if not any(concerns(kind, befores[code]) for kind in KINDS_OF_TEXT)] == []


@pytest.mark.parametrize(
    "code",
    ["import collections\ncollections.{}\n", "from collections import {}\n", "from collections import (\n    {},\n)\n"],
)
def test_all_names_that_python_moved_open_the_gate(code):
    for name in hints("moved-to-collections-abc"):
        assert GATE.search(code.format(name).encode()), name
    assert not GATE.search(code.format("OrderedDict").encode())


@pytest.mark.parametrize("name", sorted(NumpyNames.references))
def test_all_names_that_numpy_removed_open_the_gate(name):
    assert GATE.search(name.replace("numpy.", "np.").encode())
    assert GATE.search(name.replace("numpy.", "from numpy import array, ").encode())
    assert not GATE.search(b"from numpy import array")


@pytest.mark.parametrize(
    "code",
    [
        "from transformers import {}AdamW\n",
        "from transformers import (\n    {}AdamW,\n)\n",
        "x = transformers.{}AdamW(x)\n",
        "from torchvision.transforms import (\n    {}Scale,\n)\n",
    ],
)
def test_an_old_name_opens_the_gate(code):
    assert GATE.search(code.format("").encode()) and not GATE.search(code.format("My").encode())


def test_an_optimizer_of_another_library_does_not_open_the_gate():
    assert not GATE.search(b"optimizer = dict(type='AdamW')\n")
