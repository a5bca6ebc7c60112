"""One cause is one finding, and each of its places keeps its rights: to be suppressed, to be known, to be explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Porter, write

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.engine.together import lines_of

pytestmark = pytest.mark.slow  # each runs the command on a project

TABLE = """\
import torch


def angles(size, device):
    steps = torch.arange(size, dtype=torch.float64, device=device)
    scales = torch.ones(size, dtype=torch.float64, device=device)

    def inner():
        return torch.zeros(size, dtype=torch.float64, device=device)

    return steps * scales, inner


def offsets(size, device):
    return torch.full((size,), 2, dtype=torch.float64, device=device)
"""
SERVER = "from natten import NeighborhoodAttention2D\nimport torch\n\nlayer = NeighborhoodAttention2D(64, 4, 7)\nx = layer(torch.ones(2))\n"
ADVICE = ("PRT401", "natten")


@pytest.fixture
def porter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Porter:
    return Porter(monkeypatch, tmp_path)


def doubles(text: str) -> list[list[int]]:
    found = analyse("a.py", text.encode(), open_session()).findings
    return [lines_of(f) for f in found if f.code == "PRT307" and f.suppressed is None]


def told(porter: Porter, *how: str) -> dict[str, str]:
    """path -> the further places, of what is said of natten."""
    document = json.loads(porter("analyze", *(how or (".",)), "--format", "json").text)
    found = [f for f in document["findings"] if (f["code"], f["values"].get("name")) == ADVICE]
    return {f["path"]: f["values"].get("places", "") for f in found if f["suppressed"] is None and not f["baseline"]}


def test_a_function_is_told_once_and_another_by_itself() -> None:
    assert doubles(TABLE) == [[5, 6, 9], [15]]


@pytest.mark.parametrize(("line", "left"), [(5, [[6, 9], [15]]), (6, [[5, 9], [15]])])
def test_a_suppressed_place_hides_no_other(line: int, left: list[list[int]]) -> None:
    rows = TABLE.splitlines()
    rows[line - 1] += "  # porter: ignore[PRT307] kept on the CPU"
    assert doubles("\n".join(rows) + "\n") == left


def test_what_a_person_does_place_by_place_stays_apart() -> None:
    text = "import torch\n\nfor x in loader:\n    loss = model(x)\n    loss.backward()\n    a = loss.item()\n"
    text += "    y = net(x).sum()\n    optimizer.step()\n    b = y.item()\n"
    found = analyse("a.py", text.encode(), open_session()).findings
    assert [lines_of(f) for f in found if f.code == "PRT630"] == [[6], [9]]


def test_a_new_place_of_a_known_cause_is_told(porter: Porter) -> None:
    write(porter.folder, {"porter.toml": "", "a.py": TABLE})
    porter("analyze", ".", "--write-baseline", "base.json")
    entries = json.loads((porter.folder / "base.json").read_text())["findings"]
    assert len({entry["fingerprint"] for entry in entries}) == 4, "a mark for each place, as if it stood alone"
    assert porter("analyze", ".", "--baseline", "base.json", "--fail-on", "note").code == 0
    more = TABLE.replace(
        "    return steps", "    far = torch.ones(3, dtype=torch.float64, device=device)\n    return steps"
    )
    write(porter.folder, {"a.py": more})
    assert porter("analyze", ".", "--baseline", "base.json", "--fail-on", "note").code == 1


def test_each_place_has_its_comment_and_its_explanation(porter: Porter) -> None:
    write(porter.folder, {"porter.toml": "", "a.py": TABLE})
    text = porter("migrate", ".", "--annotate").text
    assert text.count("+    # PRT307") + text.count("+        # PRT307") == 4
    assert "the same cause" not in text
    assert "a float64 tensor" in porter("explain", "a.py:9").text


def test_sarif_points_at_the_other_places(porter: Porter) -> None:
    write(porter.folder, {"porter.toml": "", "a.py": TABLE, "b.py": SERVER, "c.py": SERVER})
    results = json.loads(porter("analyze", ".", "--format", "sarif").out)["runs"][0]["results"]
    more = {
        (place["artifactLocation"]["uri"], place["region"]["startLine"])
        for result in results
        for place in (location["physicalLocation"] for location in result.get("relatedLocations", ()))
    }
    assert more == {("a.py", 6), ("a.py", 9), ("c.py", 1)}


def test_one_file_of_a_program_speaks_for_the_others(porter: Porter) -> None:
    write(porter.folder, {"porter.toml": "", "b.py": SERVER, "c.py": SERVER, "a_test.py": SERVER})
    assert told(porter) == {"b.py": "c.py:1, a_test.py:1"}, "and a test for none but tests"
    assert told(porter, "c.py") == {"c.py": ""}, "alone, each speaks for itself"


def test_a_demo_is_no_program_of_its_own(porter: Porter) -> None:
    write(
        porter.folder,
        {"porter.toml": "", "b.py": SERVER, "demo/one/a.py": SERVER, "demo/one/requirements.txt": "torch\n"},
    )
    assert told(porter) == {"b.py": "demo/one/a.py:1"}


def test_a_suppressed_file_hides_no_other(porter: Porter) -> None:
    quiet = SERVER.replace("2D\n", "2D  # porter: ignore[PRT401] replaced there\n", 1)
    write(porter.folder, {"porter.toml": "", "b.py": quiet, "c.py": SERVER, "d.py": SERVER})
    assert told(porter) == {"c.py": "d.py:1"}


def test_each_program_is_told_by_itself(porter: Porter) -> None:
    lists = {"one/requirements.txt": "torch\n", "two/requirements.txt": "torch\n"}
    programs = {"one/a.py": SERVER, "one/sub/b.py": SERVER, "two/a.py": SERVER}
    write(porter.folder, {"porter.toml": "", **lists, **programs})
    assert told(porter) == {"one/a.py": "one/sub/b.py:1", "two/a.py": ""}


def places_of(porter: Porter, code: str) -> dict[str, str]:
    found = json.loads(porter("analyze", ".", "--format", "json").text)["findings"]
    return {f"{f['path']}:{f['line']}": f["values"].get("places", "") for f in found if f["code"] == code}


def test_the_job_scripts_of_a_program_ask_for_gpus_once(porter: Porter) -> None:
    job = "#!/bin/bash\n#SBATCH --gres=gpu:{}\npython train.py\n"
    jobs = {"jobs/a.sh": 4, "jobs/b.sh": 4, "jobs/c.sh": 8, "more/a.sh": 4}
    write(porter.folder, {"porter.toml": "", **{path: job.format(count) for path, count in jobs.items()}})
    assert places_of(porter, "PRT821") == {"jobs/a.sh:2": "jobs/b.sh:2, jobs/c.sh:2, more/a.sh:2"}


def test_copies_of_one_script_set_a_variable_once(porter: Porter) -> None:
    path = "export CUDA_HOME=/usr/local/cuda\nexport NCCL_DEBUG={}\n"
    levels = {"a/path.sh": "WARN", "b/path.sh": "INFO", "c/path.sh": "TRACE"}
    write(porter.folder, {"porter.toml": "", **{script: path.format(level) for script, level in levels.items()}})
    assert places_of(porter, "PRT803") == {
        "a/path.sh:1": "b/path.sh:1, c/path.sh:1",
        "b/path.sh:2": "c/path.sh:2",
    }, "and a value that asks for no log is no more than listed"


def test_one_import_of_the_adapter_serves_all_operators(porter: Porter) -> None:
    """Each keeps its place, also where the operators are others."""
    call = "import torchvision\n\n\ndef best(x, y):\n    return torchvision.ops.{}(x, y)\n"
    files = {"a.py": call.format("nms"), "b.py": call.format("roi_align"), "one/c.py": call.format("nms")}
    write(porter.folder, {"porter.toml": "", "one/requirements.txt": "torch\n", **files})
    assert places_of(porter, "PRT410") == {"a.py:5": "b.py:5", "one/c.py:5": ""}


def test_what_may_be_missing_is_another_thing(porter: Porter) -> None:
    tried = SERVER.replace("from", "try:\n    from", 1).replace("2D\n", "2D\nexcept ImportError:\n    pass\n", 1)
    write(porter.folder, {"porter.toml": "", "a.py": tried, "b.py": SERVER, "c.py": tried})
    assert told(porter) == {"a.py": "c.py:2", "b.py": ""}


def test_a_file_of_a_known_cause_is_known_alone_and_a_new_one_is_told(porter: Porter) -> None:
    write(porter.folder, {"porter.toml": "", "b.py": SERVER, "c.py": SERVER})
    porter("analyze", ".", "--write-baseline", "base.json")
    assert told(porter, ".", "--baseline", "base.json") == told(porter, "c.py", "--baseline", "base.json") == {}
    write(porter.folder, {"d.py": SERVER})
    assert told(porter, ".", "--baseline", "base.json") == {"b.py": "c.py:1, d.py:1"}
