"""Libraries that the repositories of a fleet share: analysed once, and known in every analysis."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from command_line import TESTED, Porter
from fleet_world import TRAIN, result_bytes, served, tarred, written

from porter.errors import UserError
from porter.fleet.libraries import package_in

LIBRARY = Path(__file__).parents[1] / "libraries" / "shapes"
OVERLAP = "import torch\nfrom shapes.ops import overlap\n\n\ndef f(a, b):\n    return overlap(a, b)\n"
SPECTRUM = "import torch\nimport kit\n\n\ndef f(x):\n    return kit.spectrum(x), kit.fast(x)\n"
KIT = (
    "import torch\nimport triton\nimport triton.language as tl\n\n__version__ = '3.1'\n\n\n"
    "@triton.jit\ndef kernel(x):\n    pass\n\n\ndef fast(x):\n    kernel[(1,)](x)\n    return x\n\n\n"
    "def spectrum(x):\n    return torch.rfft(x, 1)\n"
)


@pytest.fixture
def porter(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTED))
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    here = tmp_path / "here"
    written(here / "repos" / "uses", {"train.py": OVERLAP})
    written(here / "repos" / "other", {"train.py": TRAIN})
    shutil.copytree(LIBRARY, here / "checkout")
    return Porter(monkeypatch, here)


def fleet(porter: Porter, *more: str, listed: str = "repos", code: int = 0) -> dict[str, str]:
    """The state of each, by name."""
    answer = porter("fleet", listed, "-o", "out", "--progress", "json", *more)
    assert (answer.code, answer.err) == (code, ""), answer
    events = [json.loads(line) for line in answer.text.splitlines()][1:]
    return {event["name"]: event["state"] for event in events}


def document(porter: Porter) -> dict:
    return json.loads((porter.folder / "out" / "fleet.json").read_bytes())


def result(porter: Porter, name: str) -> Path:
    row = next(row for row in document(porter)["repositories"] if row["name"] == name)
    return porter.folder / "out" / "repositories" / row["id"]


def found(porter: Porter, name: str) -> list[str]:
    """What is said of calls of libraries."""
    findings = json.loads((result(porter, name) / "findings.json").read_bytes())["findings"]
    return [one["message"] for one in findings if one["code"] == "PRT705"]


@pytest.mark.slow
def test_a_call_that_ends_in_a_kernel_of_a_library_is_found_with_it_alone_as_analyze_finds_it(porter):
    fleet(porter)
    assert found(porter, "uses") == [] and document(porter)["libraries"] == []
    assert fleet(porter, "--library", "checkout") == {"uses": "done", "other": "done"}
    assert len(found(porter, "uses")) == 1 and found(porter, "other") == []
    (row,) = document(porter)["libraries"]
    fact_file = porter.folder / "out" / row["files"][0]
    assert porter("analyze", "--library", "checkout/shapes", "-o", "shapes.json", "-q").code == 0
    assert fact_file.read_bytes() == (porter.folder / "shapes.json").read_bytes()
    assert row["library"] == "shapes" and row["files"][0] == f"libraries/{row['id']}/shapes.json"
    in_fleet = result_bytes(result(porter, "uses"))
    written(porter.folder / "repos" / "uses", {"porter.toml": f'facts = ["{fact_file}"]\n'})
    assert porter("analyze", "repos/uses", "-o", "alone.json", "-o", "alone.html", "-q").code in (0, 1)
    assert in_fleet["findings.json"] == (porter.folder / "alone.json").read_bytes()
    assert in_fleet["report.html"] == (porter.folder / "alone.html").read_bytes()
    page = (porter.folder / "out" / "index.html").read_text("utf-8")
    assert row["files"][0] in page and "共用的库" in page and "Shared libraries" in page


@pytest.mark.slow
def test_it_is_analysed_once_and_another_version_of_it_analyses_the_repositories_again(porter):
    fleet(porter, "--library", "checkout")
    (place,) = (porter.folder / "out" / "libraries").iterdir()
    made = place.stat().st_ino
    assert set(fleet(porter, "--library", "checkout").values()) == {"kept"} and place.stat().st_ino == made
    written(porter.folder / "checkout" / "shapes", {"unrelated.txt": "another input, the same facts"})
    assert set(fleet(porter, "--library", "checkout").values()) == {"kept"} and place.stat().st_ino != made
    init = porter.folder / "checkout" / "shapes" / "__init__.py"
    init.write_text(init.read_text().replace("1.4", "99.0"))
    assert set(fleet(porter, "--library", "checkout").values()) == {"done"}
    assert [row["version"] for row in document(porter)["libraries"]] == ["99.0"]
    assert set(fleet(porter).values()) == {"done"}  # without it, another input


@pytest.mark.slow
def test_what_a_repository_names_for_the_same_library_holds(porter):
    assert porter("analyze", "--library", "checkout/shapes", "-o", "facts.json", "-q").code == 0
    own = json.loads((porter.folder / "facts.json").read_bytes())
    own["version"] = "own"
    own["functions"] = {name: row for name, row in own["functions"].items() if name == "shapes.ops.overlap"}
    files = {"porter.toml": 'facts = ["own.json"]\n', "own.json": json.dumps(own), "train.py": OVERLAP + "import kit\n\nkit.fast(1)\n"}  # fmt: skip
    written(porter.folder / "repos" / "uses", {**files, "more.py": OVERLAP.replace("overlap", "iou")})
    written(porter.folder / "kit", {"__init__.py": KIT})
    fleet(porter, "--library", "checkout", "--library", "kit")
    told = found(porter, "uses")
    assert len(told) == 2 and any("shapes own" in text for text in told), told
    assert any("kit.fast" in text for text in told)


@pytest.mark.slow
def test_a_repository_with_the_package_in_it_runs_its_own(porter):
    written(porter.folder / "repos" / "vendored", {"train.py": OVERLAP, "src/shapes/__init__.py": ""})
    fleet(porter, "--library", "checkout")
    assert (len(found(porter, "uses")), found(porter, "vendored")) == (1, [])


@pytest.mark.slow
def test_what_a_torch_lacks_is_told_for_that_torch_alone(porter):
    written(porter.folder / "kit", {"__init__.py": KIT})
    written(porter.folder / "repos" / "uses", {"train.py": SPECTRUM})
    written(porter.folder / "repos" / "older", {"train.py": SPECTRUM, "porter.toml": 'target = "torch_npu=2.1"\n'})
    fleet(porter, "--library", "kit")
    assert (len(found(porter, "uses")), len(found(porter, "older"))) == (2, 1)
    (row,) = document(porter)["libraries"]
    anywhere = porter.folder / "out" / row["files"][1]
    porter("analyze", "repos/older", "--facts", str(anywhere), "-o", "alone.json", "-q")
    assert (result(porter, "older") / "findings.json").read_bytes() == (porter.folder / "alone.json").read_bytes()


@pytest.mark.slow
def test_a_library_that_cannot_be_had_is_one_line_before_any_repository_is_begun(porter):
    tarred(porter.folder / "climbs.tar.gz", {"../../evil.py": b"x"})
    tarred(porter.folder / "two.tgz", {f"{name}/__init__.py": b"" for name in ("a", "b")}, "two-1.0/")
    tarred(porter.folder / "shapes-2.0.tgz", {"shapes/__init__.py": b""}, "shapes-2.0/")
    os.mkdir(porter.folder / "empty")
    for given, why in (
        (["gone"], "--library gone: no such folder or archive"),
        (["climbs.tar.gz"], "--library climbs.tar.gz: the archive is refused: '../../evil.py' leads out of its folder"),
        (["empty"], "--library empty: there is no importable package in it"),
        (["two.tgz"], "--library two.tgz: there are several packages in it: a, b; say which with 'SOURCE name=NAME'"),
        (["checkout", "shapes-2.0.tgz"], "--library shapes-2.0.tgz: is shapes, as is checkout; name one"),
        (["checkout", "checkout"], "--library checkout: named before"),
    ):
        options = [word for name in given for word in ("--library", name)]
        answer = porter("fleet", "repos", "-o", "out", *options)
        assert answer.code == 2 and answer.err.startswith(f"porter: {why}") and answer.err.count("\n") == 1, answer
        assert not (porter.folder / "out" / "repositories").exists()
    answer = porter("fleet", "repos", "-o", "out", "--library", "empty", "--lang", "zh")
    assert answer.code == 2 and "--library empty：其中没有可导入的包" in answer.err
    assert set(fleet(porter, "--library", "two.tgz name=b").values()) == {"done"}
    assert [row["library"] for row in document(porter)["libraries"]] == ["b"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_facts_that_somebody_changed_are_refused(porter, number):
    written(porter.folder / "kit", {"__init__.py": KIT})
    fleet(porter, "--library", "kit")
    (porter.folder / "out" / document(porter)["libraries"][0]["files"][number]).write_text("{}")
    answer = porter("fleet", "repos", "-o", "out", "--library", "kit")
    assert answer.code == 2 and "is not as porter wrote it; delete that folder" in answer.err
    shutil.rmtree(porter.folder / "out" / "libraries")
    assert set(fleet(porter, "--library", "kit").values()) == {"kept"}


@pytest.mark.slow
def test_the_terminal_names_them(porter):
    written(porter.folder / "kit", {"__init__.py": KIT})
    assert "shared libraries: kit 3.1\n" in porter("fleet", "repos", "-o", "out", "--library", "kit").text
    assert "共用的库：kit 3.1\n" in porter("fleet", "repos", "-o", "out", "--library", "kit", "--lang", "zh").text


@pytest.mark.slow
def test_a_package_of_the_index(porter, monkeypatch):
    index = written(
        porter.folder / "web", {"kit-ops/index.html": '<a href="../kit_ops-1.0.tar.gz">kit_ops-1.0.tar.gz</a>'}
    )
    members = {"src/kit/__init__.py": KIT.encode(), "setup.py": b"raise SystemExit('run')\n"}
    tarred(index / "kit_ops-1.0.tar.gz", members, "kit_ops-1.0/")
    with served(index) as url:
        monkeypatch.setenv("PIP_INDEX_URL", url)
        fleet(porter, "--library", "kit-ops==1.0")
    (row,) = document(porter)["libraries"]
    assert (row["source"], row["library"], row["version"]) == ("kit-ops==1.0", "kit", "3.1")


@pytest.mark.parametrize(
    ("files", "name", "package"),
    [
        (["kit/__init__.py", "kit/ops/__init__.py", "tests/__init__.py", "tools/__init__.py"], "anything", "kit"),
        (["src/kit_ops/__init__.py", "more/__init__.py"], "Kit-Ops==1.0.post2", "src/kit_ops"),
        (["kit/__init__.py", "hopper/__init__.py"], "kit-2.5.8", "kit"),
        (["kit/__init__.py", "hopper/__init__.py"], "hopper", "hopper"),
        (["__init__.py", "kit/__init__.py"], "kit", "."),
    ],
)
def test_the_package_of_what_was_fetched(tmp_path, files, name, package):
    root = written(tmp_path / "root", dict.fromkeys(files, ""))
    assert package_in(root, name) == root / package


def test_a_package_without_a_name_is_none(tmp_path):
    with pytest.raises(UserError, match="its folder is 'kit-1.0'"):
        package_in(written(tmp_path / "kit-1.0", {"__init__.py": ""}), "kit")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "kit").symlink_to(written(tmp_path / "away", {"__init__.py": ""}))
    with pytest.raises(UserError, match="no importable package"):
        package_in(tmp_path / "linked", "kit")
