"""Third-party reach: which functions of a library end in CUDA, and where a program calls them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_line import Porter, write

LIBRARY = Path(__file__).parents[1] / "libraries" / "shapes"


@pytest.fixture
def porter(tmp_path, monkeypatch) -> Porter:
    folder = tmp_path / "work"
    shutil.copytree(LIBRARY, folder / "checkout")
    return Porter(monkeypatch, folder)


@pytest.fixture(scope="module")
def facts(tmp_path_factory) -> dict:
    from porter.analysis.session import open_session
    from porter.reach.fact_file import make

    folder = tmp_path_factory.mktemp("reach") / "checkout"
    shutil.copytree(LIBRARY, folder)
    return make(folder / "shapes", open_session())


def test_what_ends_in_a_kernel(facts):
    functions = facts["functions"]
    assert {name.rpartition(".")[2] for name in functions if name.startswith("shapes.ops.") and name.count(".") == 2} == {
        "overlap", "Overlap", "iou", "distance", "Head", "Tower", "warp", "warped"
    }  # fmt: skip
    assert "shapes.ops.boxes.elsewhere" in functions
    assert functions["shapes.ops.Head"]["chain"] == [
        "shapes.ops.layers.Head",
        "shapes.ops.layers.Head.__init__",
        "shapes.ops.boxes.Overlap",
        "shapes.ops.boxes.Overlap.forward",
        "shapes.ops.boxes.Overlap.compute",
        "shapes.ops.boxes.OverlapFunction.forward",
        "shapes._C.overlap",
    ]
    operators = {name.rpartition(".")[2]: row for name, row in functions.items() if ".operators." in name}
    assert {name for name, row in operators.items() if row["verdict"] == "kernel"} == {
        "warp", "warped", "sum_by", "blurred"
    }  # fmt: skip
    assert functions["shapes.ops.warp"] == {
        "verdict": "kernel",
        "end": "torch.ops.shapes.warp",
        "chain": ["shapes.ops.operators.warp", "torch.ops.shapes.warp"],
        "place": "ops/operators.py:10",
    }


@pytest.mark.parametrize(
    "name",
    [
        "ops.safe_overlap",  # is_cuda
        "ops.either",  # an option
        "ops.boxes.blended",  # an option, and both ways are calls
        "ops.boxes.newer",  # a number of the machine
        "ops.pooled",  # the sources have it for NPUs
        "ops.measured",  # on the CPU
        "ops.gather",  # falls back to the CPU
        "ops.operators.moved",  # for another device
        "ops.operators.count_by",  # no kernel
        "ops.build",  # try: ... except ImportError
        "ops.layers.Plain",  # only with an option
        "ops.operators.old_spectrum",  # asks first
        "ops.fast.chosen",  # one way only
        "scene.version",  # a version is no kernel
        "names.everything",  # what every module has is not compiled
    ],
)
def test_what_does_not(facts, name):
    assert f"shapes.{name}" not in facts["functions"]


def test_what_ends_there_for_some_numbers(facts):
    functions = facts["functions"]
    large = functions["shapes.ops.boxes.large"]
    assert large["when"] == "a.dim() > 3" and large["end"] == "shapes._C.overlap"
    assert large["chain"][:3] == [
        "shapes.ops.boxes.large",
        "shapes.ops.boxes._many",
        "shapes.ops.boxes.OverlapFunction.forward",
    ]
    assert functions["shapes.ops.boxes.small"]["when"] == "not n < 100"
    assert "when" not in functions["shapes.ops.boxes.overlap"]


def test_other_ends(facts):
    functions = facts["functions"]
    assert (functions["shapes.ops.operators.spectrum"]["verdict"], functions["shapes.ops.fast.build"]["verdict"]) == (
        "missing",
        "triton",
    )
    assert functions["shapes.lazy.voxelise"]["chain"] == ["shapes.lazy.voxelise", "shapes.voxels", "voxels_gpu"]
    assert "shapes.ops.fast._add" not in functions  # a kernel is launched, and not called
    assert "shapes.ops.boxes.OverlapFunction.apply" in functions


def test_what_is_named_is_not_called(facts):
    found = {name.rpartition(".")[2]: row["end"] for name, row in facts["functions"].items() if ".others." in name}
    assert found == {"spread": "torch.nn.DataParallel", "polygons": "mmcv.ops.min_area_polygons"}
    assert "shapes.others" not in facts["modules"]


def test_what_a_class_builds_and_loads(facts):
    functions = facts["functions"]
    found = {name.rpartition(".")[2]: row["end"] for name, row in functions.items() if name.startswith("shapes.built")}
    assert found == {"Warp": "WarpBuilder.load", "bend": "WarpBuilder.bend"}


def test_modules_that_cannot_be_imported(facts):
    assert sorted(facts["modules"]) == ["shapes.grids.cells", "shapes.scene", "shapes.voxels", "shapes.waves"]
    assert facts["modules"]["shapes.waves"]["chain"] == ["shapes.waves", "torch.rfft"]
    assert facts["modules"]["shapes.grids.cells"]["chain"] == ["shapes.grids.cells", "shapes.grids.grid_cuda"]
    assert facts["modules"]["shapes.scene"]["chain"] == ["shapes.scene", "shapes.voxels", "voxels_gpu"]


@pytest.mark.parametrize(
    ("code", "ends"),
    [(b"\0.nv_fatbin\0libcudart.so", True), (b"\0.text\0", False), (b".nv_fatbin libascendcl.so", False)],
)
def test_an_installed_package_tells_by_its_compiled_file(tmp_path, code, ends):
    from porter.analysis.session import open_session
    from porter.reach.fact_file import make

    shutil.copytree(LIBRARY / "shapes", tmp_path / "shapes")
    (tmp_path / "shapes" / "_C.cpython-311-x86_64-linux-gnu.so").write_bytes(b"\x7fELF" + b"\0" * 99 + code)
    (tmp_path / "shapes-1.5.dist-info").mkdir()
    (tmp_path / "shapes-1.5.dist-info" / "METADATA").write_text("Name: shapes\nVersion: 1.5\n")
    (tmp_path / "shapes" / "__init__.py").write_text("")
    facts = make(tmp_path / "shapes", open_session())
    assert facts["version"] == "1.5"
    assert ("shapes.ops.overlap" in facts["functions"]) is ends
    assert "shapes.names.everything" not in facts["functions"]


def test_what_cannot_be_read_says_nothing(tmp_path):
    from porter.analysis.session import open_session
    from porter.reach.fact_file import make

    files = {
        "__init__.py": "from .a import *\nfrom .b import *\n",
        "a.py": "from .b import f\n",
        "b.py": "from .a import f\n\n\nclass C(C):\n    pass\n\n\nx = x\ny = z\nz = y\n\n\ndef g():\n    return y(x())\n",
        "broken.py": "def f(:\n",
        "deep.py": "x = " + "(" * 500 + "1" + ")" * 500 + "\n",
        "binary.py": b"\xff\xfe",
    }
    facts = make(write(tmp_path / "odd", files), open_session())
    assert (facts["functions"], facts["modules"], facts["read"]["modules"]) == ({}, {}, 6)


@pytest.mark.slow
def test_from_the_command_line(porter):
    made = porter("analyze", "--library", "checkout/shapes", "-o", "shapes.json")
    assert made.code == 0 and made.err.startswith("shapes 1.4: ") and not made.out
    again = porter("analyze", "--library", "checkout/shapes", "-q")
    assert again.out == (porter.folder / "shapes.json").read_bytes() and not again.err
    document = json.loads(again.out)
    assert (document["layout"], document["library"], document["version"]) == (2, "shapes", "1.4")
    assert str(porter.folder) not in again.text


@pytest.mark.slow
def test_where_a_program_calls_it(porter, facts):
    program = "from shapes.ops import overlap, either\n\n\ndef keep(a, b):\n    return overlap(a, b) + either(a, b)\n"
    write(porter.folder, {"shapes.json": json.dumps(facts), "repo/train.py": program})
    found = porter("analyze", "repo", "--facts", "shapes.json", "-q")
    assert found.code == 1 and found.text.count("PRT705") == 1, found.text
    assert "train.py:5:12" in found.text
    full = porter("analyze", "repo", "--facts", "shapes.json", "-q", "--format", "full")
    assert "shapes.ops.boxes.OverlapFunction.forward -> shapes._C.overlap" in full.text
    assert porter("analyze", "repo", "-q").code == 0  # without facts nothing is known
    write(porter.folder, {"repo/porter.toml": 'facts = ["../shapes.json"]\n'})
    assert "PRT705" in porter("analyze", "repo", "-q").text
    assert "核函数" in porter("analyze", "repo", "-q", "--lang", "zh").text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "lib.json:1: not JSON"),
        ("{}", "lib.json: no fact file of porter"),
        ('{"layout": 99}', "lib.json: was written by another version of porter"),
        ('{"layout": 2, "library": "x"}', "lib.json: a fact file that is not as porter wrote it"),
    ],
)
def test_a_file_that_is_none(porter, text, said):
    write(porter.folder, {"lib.json": text})
    got = porter("analyze", ".", "--facts", "lib.json")
    assert got.code == 2 and said in got.err and got.err.count("\n") == 1


def test_what_a_torch_lacks_holds_for_that_torch(porter, facts):
    write(porter.folder, {"shapes.json": json.dumps(facts), "repo/a.py": ""})
    got = porter("analyze", "repo", "--facts", "shapes.json", "--target", "torch_npu=2.1.0")
    assert got.code == 2 and "made for torch_npu=2.7.1" in got.err
    rest = {
        kind: {name: row for name, row in facts[kind].items() if row["verdict"] != "missing"}
        for kind in ("functions", "modules")
    }
    write(porter.folder, {"shapes.json": json.dumps({**facts, **rest})})
    assert porter("analyze", "repo", "--facts", "shapes.json", "--target", "torch_npu=2.1.0").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--library", "nowhere"], "nowhere: no directory"),
        (["--library", "checkout"], "has no __init__.py, so it is no package; name checkout/shapes inside it"),
        (["--library", "checkout/shapes", "src"], "--library stands alone"),
        (["--library", "checkout/shapes", "-o", "a.html"], "name a file that ends in .json"),
        (["--library", "checkout/shapes", "--format", "sarif"], "--library writes facts as JSON only"),
        (["--facts", "missing.json"], "missing.json: no such file or directory"),
    ],
)
def test_what_is_asked_for_wrongly(porter, arguments, said):
    got = porter("analyze", *arguments)
    assert got.code == 2 and said in got.err and got.err.count("\n") == 1, got.err
