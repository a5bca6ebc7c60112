"""`porter doctor` on machines made for it: metadata, version files, device nodes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import Porter

from porter.commands import doctor as command
from porter.doctor.judge import Release, fits, judge
from porter.doctor.machine import Cann, Machine, look
from porter.rulebook.texts import Texts
from porter.rulebook.words import speaker

say = speaker("doctor")

RELEASES = [Release(row["name"], tuple(row["torch"]), row["cann"]) for row in Texts().named("releases").values()]
KNOWN = ["2.6.0.post5", "2.7.1.post11", "2.13.0"]
TOOLKIT = "usr/local/Ascend/ascend-toolkit/8.5.0"


def machine(**changes) -> Machine:
    plain = {"python": "3.11.7", "system": "Linux aarch64", "torch": "", "torch_is_cuda": False, "torch_npu": ""}
    return Machine(**{**plain, "cann": None, "driver": "", "devices": 0, **changes})


def cann(version: str, variable: str = "ASCEND_HOME_PATH", exists: bool = True) -> Cann:
    return Cann("/opt/cann", version, variable, exists)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Put packages before all others on the path, and nothing else of that name behind them."""

    def install(**versions: str) -> Path:
        for name, version in versions.items():
            folder = tmp_path / "site" / f"{name}-{version}.dist-info"
            folder.mkdir(parents=True)
            needs = "Requires-Dist: nvidia-cudnn-cu12==9\n" if name == "torch" and version == "2.6.0" else ""
            (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
        monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
        return tmp_path

    return install


def toolkit(root: Path, info: str = "package_name=Ascend-cann-toolkit\nversion=8.5.0\ninnerversion=V100R001\n") -> Path:
    folder = root / TOOLKIT / "aarch64-linux"
    folder.mkdir(parents=True)
    (folder / "ascend_toolkit_install.info").write_text(info)
    return root


def test_a_machine_without_any_of_it(installed):
    root = installed()
    found = look({}, root)
    assert (found.torch, found.torch_npu, found.cann, found.devices) == ("", "", None, 0)
    checks = judge(found, RELEASES, KNOWN)
    assert fits(checks) is None and {c.status for c in checks} == {"ok", "absent"}


def test_versions_are_read_and_nothing_is_imported(installed):
    root = toolkit(installed(torch="2.7.1+cpu", torch_npu="2.7.1.post11"))
    (root / "dev").mkdir()
    for name in ("davinci0", "davinci1", "davinci_manager"):
        (root / "dev" / name).touch()
    driver = root / "usr/local/Ascend/driver"
    driver.mkdir()
    (driver / "version.info").write_text("Version=24.1.rc3\n")
    before = set(sys.modules)
    found = look({"ASCEND_TOOLKIT_HOME": f"/{TOOLKIT}"}, root)
    assert not {"torch", "torch_npu"} & (set(sys.modules) - before)
    assert (found.torch, found.torch_is_cuda, found.torch_npu) == ("2.7.1+cpu", False, "2.7.1.post11")
    assert found.cann == Cann(f"/{TOOLKIT}", "8.5.0", "ASCEND_TOOLKIT_HOME", True)
    assert (found.driver, found.devices) == ("24.1.rc3", 2)
    assert fits(judge(found, RELEASES, KNOWN)) is True


@pytest.mark.parametrize("version", ["2.7.1+cu126", "2.6.0"])
def test_torch_for_cuda(installed, version):
    found = look({}, installed(torch=version))
    assert found.torch_is_cuda
    assert ("torch", "note") in {(c.name, c.status) for c in judge(found, RELEASES, KNOWN)}


@pytest.mark.parametrize(
    ("info", "version"),
    [
        ("version=8.3.RC1\n", "8.3.RC1"),
        ("[version]\nruntime_running_version=[7.3.0.1.231:8.0.RC2]\n", "8.0.RC2"),
        ("nothing\n", "8.5.0"),  # what its folder is called
    ],
)
def test_the_version_of_cann(installed, info, version):
    root = toolkit(installed(), info)
    assert look({"ASCEND_HOME_PATH": f"/{TOOLKIT}"}, root).cann.version == version


def test_installed_but_not_sourced(installed):
    root = toolkit(installed())
    (root / "usr/local/Ascend/ascend-toolkit/latest").symlink_to("8.5.0")
    found = look({}, root).cann
    assert found == Cann("/usr/local/Ascend/ascend-toolkit/latest", "8.5.0", "", True)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"torch": "2.7.1", "torch_npu": "2.7.1.post11"}, []),
        ({"torch": "2.7.1+cpu", "torch_npu": "2.7.1"}, []),
        ({"torch": "2.8.0", "torch_npu": "2.7.1.post11"}, ["pair.wrong"]),
        ({"torch": "2.7.0", "torch_npu": "2.7.1.post11"}, ["pair.wrong"]),
        ({"torch_npu": "2.7.1.post11"}, ["pair.no-torch"]),
        ({"cann": cann("8.5.0")}, []),
        ({"cann": cann("", exists=False)}, ["cann.gone"]),
        ({"cann": cann("8.5.0", "")}, []),  # nothing here needs it
        ({"torch": "2.7.1", "torch_npu": "2.7.1.post11", "cann": cann("8.5.0", "")}, ["cann.no-variable"]),
        ({"torch": "2.7.1", "torch_npu": "2.7.1.post11", "cann": cann("8.3.RC1.alpha002")}, []),
        ({"torch": "2.7.1", "torch_npu": "2.7.1.post11", "cann": cann("8.1.RC1")}, ["cann.wrong"]),
        ({"torch": "2.9.1", "torch_npu": "2.9.1", "cann": cann("9.1.0")}, []),
        ({"torch": "2.1.0", "torch_npu": "2.1.0.post17", "cann": cann("9.0.0")}, ["cann.wrong"]),
        ({"torch": "2.7.1", "torch_npu": "2.7.1", "cann": cann("9.9.0")}, []),  # newer than the table
        ({"torch": "2.99.0", "torch_npu": "2.99.0", "cann": cann("8.5.0")}, []),  # not in the table
        ({"torch": "2.7.1", "torch_npu": "2.7.1", "cann": cann("")}, []),
    ],
)
def test_what_fits(changes, wrong):
    checks = judge(machine(**changes), RELEASES, KNOWN)
    assert [c.key for c in checks if c.status == "wrong"] == wrong
    assert (fits(checks) is False) is bool(wrong)
    for check in checks:
        values = dict(check.values)
        for lang in ("en", "zh"):
            assert (
                say(f"name.{check.name}", lang)
                and say(f"status.{check.status}", lang)
                and say(check.key, lang, **values)
            )
            assert check.status != "wrong" or say(f"{check.key}.cure", lang, **values)


@pytest.mark.parametrize(
    ("changes", "known"),
    [
        ({"torch": "2.7.1", "torch_npu": "2.7.1.post11", "cann": cann("8.5.0")}, True),
        ({}, None),
        ({"torch": "2.7.1"}, None),
        ({"torch": "2.7.1", "torch_npu": "2.7.1.post11"}, None),  # with no CANN there is no pair
        ({"torch": "2.99.0", "torch_npu": "2.99.0", "cann": cann("8.5.0")}, None),  # no release has it
        ({"torch": "2.7.1", "torch_npu": "2.7.1", "cann": cann("9.9.0")}, None),
    ],
)
def test_only_what_is_there_and_known_fits(changes, known, capsys, monkeypatch):
    assert fits(judge(machine(**changes), RELEASES, KNOWN)) is known
    monkeypatch.setattr(command, "look", lambda environ, root: machine(**changes))
    assert command.doctor("json", "en") == 0
    assert json.loads(capsys.readouterr().out)["fits"] is known
    assert command.doctor("text", "en") == 0
    assert (say("fits", "en") in capsys.readouterr().out) is (known is True)


def test_the_version_to_install():
    [npu] = [c for c in judge(machine(torch="2.7.1+cpu"), RELEASES, KNOWN) if c.name == "torch_npu"]
    assert (npu.key, dict(npu.values)) == ("npu.install", {"version": "2.7.1.post11"})


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_command(capsys, monkeypatch, lang):
    monkeypatch.setattr(command, "look", lambda environ, root: machine(torch="2.8.0", torch_npu="2.7.1.post11"))
    assert command.doctor("text", lang) == 1
    said = capsys.readouterr().out
    assert say("fits.not", lang) in said and "pip install torch==2.7.1" in said and "CANN 9.1" in said
    assert command.doctor("json", lang) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["fits"] is False and [c["name"] for c in document["checks"] if c["status"] == "wrong"] == [
        "torch_npu"
    ]


def test_on_this_machine(tmp_path, monkeypatch):
    porter = Porter(monkeypatch, tmp_path)
    done = porter("doctor", "--format", "json")
    assert done.code in (0, 1) and (json.loads(done.out)["fits"] is False) is (done.code == 1)
    assert porter("doctor", "--format", "xml").code == 2
