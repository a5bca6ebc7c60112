"""One value is one decision: a default, its choices, its comparisons and the scripts that pass it are edited together, or not."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest
from command_line import Porter, git, process, write
from drawn import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from porter.analysis.analyse import analyse
from porter.analysis.session import open_session
from porter.engine.session import Quiet
from porter.finding import Held, apply
from porter.run.config import Settings
from porter.run.run import run

CONSTANT = 'DEVICE = "cuda"\n'
USER = """import torch
from config import DEVICE


def move(x):
    torch.cuda.synchronize()
    if DEVICE == "cuda":
        x = x.contiguous()
    return x.to(DEVICE)
"""
PROGRAM = """import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--backend", default="nccl", choices=["nccl", "gloo"])
args = parser.parse_args()
if args.backend == "nccl":
    torch.cuda.synchronize()
torch.distributed.init_process_group(args.backend)
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with these files, and porter in it."""
    folder = tmp_path / "r"
    folder.mkdir()

    def make(files: dict[str, str], ignored: str = "") -> Porter:
        git(folder, "init", "-q", "-b", "main")
        write(folder, {**files, **({".gitignore": ignored} if ignored else {})})
        return Porter(monkeypatch, folder)

    return make


def read(porter: Porter) -> dict[str, str]:
    files = (
        f
        for f in porter.folder.rglob("*")
        if f.is_file() and not {".git", ".porter"} & {*f.relative_to(porter.folder).parts}
    )
    return {f.relative_to(porter.folder).as_posix(): f.read_text() for f in files}


def statuses(porter: Porter, *args: str) -> dict[tuple[str, int, str], str]:
    found = json.loads(porter("analyze", *args, "--format", "json").text)["findings"]
    return {(f["path"], f["line"], f["code"]): f["status"] for f in found}


def ported(porter: Porter, *args: str) -> dict[str, str]:
    """What `migrate --inplace` makes of the project; it writes what `analyze` promised."""
    promised = porter("migrate", "--check", *args).code
    answer = porter("migrate", "--inplace", "--allow-dirty", *args)
    assert answer.code == 0, answer.err
    assert promised in (0, 1)
    assert porter("migrate", "--check", *args).code == 0, "a second run has nothing to do"
    return read(porter)


def outside(folder: Path) -> None:
    (folder / "config.py").rename(folder.parent / "shared.py")
    (folder / "config.py").symlink_to(folder.parent / "shared.py")


def in_a_linked_folder(folder: Path) -> None:
    write(folder.parent / "shared", {"config.py": CONSTANT})
    (folder / "config.py").unlink()
    (folder / "lib").symlink_to(folder.parent / "shared")
    text = (folder / "use.py").read_text().replace("from config", "from lib.config")
    write(folder, {"use.py": text})


def refused(folder: Path) -> None:
    write(folder, {"config.py": CONSTANT + "print 'python 2'\n"})


REASONS = {  # what is done to the project, what the call says, what the finding says
    "suppressed": (lambda r: write(r, {"config.py": 'DEVICE = "cuda"  # porter: ignore[PRT120] kept\n'}), ["."], "suppressed"),
    "skip-file": (lambda r: write(r, {"config.py": "# porter: skip-file ours\n" + CONSTANT}), ["."], "skip-file"),
    "excluded by the call": (None, [".", "--exclude", "config.py"], "leaves out"),
    "excluded by the settings": (lambda r: write(r, {"porter.toml": 'exclude = ["config.py"]\n'}), ["."], "leaves out"),
    "gitignored": (lambda r: write(r, {".gitignore": "config.py\n"}), ["."], "leaves out"),
    "per-file-ignores": (
        lambda r: write(r, {"porter.toml": '[per-file-ignores]\n"config.py" = ["PRT120"]\n'}),
        ["."],
        "switched off",
    ),
    "ignore": (None, [".", "--ignore", "PRT120"], "switched off"),
    "select": (None, [".", "--select", "PRT122,PRT101"], "switched off"),
    "a link to outside": (outside, ["."], "outside"),
    "a folder that is a link to outside": (in_a_linked_folder, ["."], "outside"),
    "read-only": (lambda r: (r / "config.py").chmod(0o444), ["."], "read-only"),
    "not named": (None, ["use.py"], "`porter migrate config.py use.py`"),
    "refused": (refused, ["."], "could not edit"),
    "left out for its folder": (
        lambda r: (
            (r / "third_party").mkdir(),
            (r / "config.py").rename(r / "third_party/config.py"),
            write(r, {"use.py": USER.replace("from config", "from third_party.config")}),
        ),
        ["."],
        "leaves out",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("reason", REASONS)
def test_a_comparison_stays_with_the_constant(project, reason):
    change, call, said = REASONS[reason]
    porter = project({"config.py": CONSTANT, "use.py": USER})
    if change:
        change(porter.folder)
    before = read(porter)
    shown = porter("analyze", *call, "-v").text
    where = "third_party/config.py" if "folder" == reason[-6:] else "config.py"
    assert "PRT122" in shown and said in shown and where in shown, shown
    after = ported(porter, *call)
    assert 'DEVICE == "cuda"' in after["use.py"], "half a port"
    assert "torch.npu.synchronize()" in after["use.py"], "the rest of the file is ported"
    assert {name: text for name, text in after.items() if name != "use.py"} == {
        k: v for k, v in before.items() if k != "use.py"
    }
    chinese = porter("analyze", *call, "--lang", "zh").text
    assert "须与 " in chinese and "stays as it is" not in chinese


@pytest.mark.slow
def test_both_move_where_nothing_stands_in_the_way(project):
    porter = project({"config.py": CONSTANT, "use.py": USER})
    whole = statuses(porter, ".")
    assert whole["config.py", 1, "PRT120"] == whole["use.py", 7, "PRT122"] == "auto"
    both = statuses(porter, "use.py", "config.py")
    assert both == whole, "a hook that is given both"
    after = ported(porter, "use.py", "config.py")
    assert 'DEVICE == "npu"' in after["use.py"] and after["config.py"] == 'DEVICE = "npu"\n'


@pytest.mark.slow
def test_a_log_with_the_program_in_it_holds_nothing_back(project):
    porter = project({"config.py": CONSTANT, "use.py": USER, "runs/one.txt": USER, "runs/two.log": USER})
    assert statuses(porter, "use.py", "config.py")["use.py", 7, "PRT122"] == "auto"
    write(porter.folder, {"tools/three": "#!/usr/bin/env python3\n" + USER})
    assert statuses(porter, "config.py")["config.py", 1, "PRT120"] == "manual", "a program without a suffix is one"


@pytest.mark.slow
def test_what_is_ported_already_holds_nothing_back(project):
    porter = project({"config.py": 'DEVICE = "npu"\n', "use.py": USER})
    assert statuses(porter, "use.py")["use.py", 7, "PRT122"] == "auto"
    assert 'DEVICE == "npu"' in ported(porter, "use.py")["use.py"]


USES = {  # another way to speak of the constant of config.py, in a file or more
    "an attribute of the module": {"use.py": "import torch, config\n\n\ndef f(x):\n    if config.DEVICE == 'cuda':\n        return x.to(config.DEVICE)\n"},
    "under another name": {"use.py": "import torch\nfrom config import DEVICE as D\n\nif D == 'cuda':\n    print(torch.zeros(3, device=D))\n"},
    "a star": {"use.py": "import torch\nfrom config import *\n\nif DEVICE == 'cuda':\n    print(torch.zeros(3, device=DEVICE))\n"},
    "handed on by a package": {
        "pkg/__init__.py": "from .names import DEVICE\n", "pkg/names.py": "from config import DEVICE\n",
        "use.py": "import torch\nfrom pkg import DEVICE\n\nif DEVICE == 'cuda':\n    print(torch.zeros(3, device=DEVICE))\n",
    },
    "handed on by a star": {
        "pkg/__init__.py": "from config import *\n",
        "use.py": "import torch\nimport pkg\n\nif pkg.DEVICE == 'cuda':\n    print(torch.zeros(3, device=pkg.DEVICE))\n",
    },
    "kept in another name": {"use.py": "import torch\nfrom config import DEVICE\n\ndevice = DEVICE\nif device == 'cuda':\n    print(torch.zeros(3, device=device))\n"},
    "asked of its beginning": {"use.py": "import torch\nfrom config import DEVICE\n\nif DEVICE.startswith('cuda'):\n    print(torch.zeros(3, device=DEVICE))\n"},
    "one of several": {"use.py": "import torch\nfrom config import DEVICE\n\nif DEVICE in ('cuda', 'mps'):\n    print(torch.zeros(3, device=DEVICE))\n"},
    "in a match": {"use.py": "import torch\nfrom config import DEVICE\n\nmatch DEVICE:\n    case 'cuda':\n        print(torch.zeros(3, device=DEVICE))\n"},
    "a notebook": {"use.ipynb": json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None,
        "source": ["import torch\n", "from config import DEVICE\n", "if DEVICE == 'cuda':\n", "    print(torch.zeros(3, device=DEVICE))"]}],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_ways_to_use_a_constant(project, use):
    """Named alone, the user waits; suppressed, it keeps the constant; together, both move."""
    porter = project({"config.py": CONSTANT, **USES[use]})
    user = next(name for name in USES[use] if name.startswith("use."))
    alone = read(porter)
    assert ported(porter, user) == alone
    assert ported(porter, "config.py") == alone
    both = ported(porter, ".")
    assert "npu" in both["config.py"] and "cuda" not in both[user]


@pytest.mark.slow
def test_a_program_its_comparisons_and_a_script_move_together(project):
    files = {"train.py": PROGRAM, "run.sh": "python train.py --backend nccl\n"}
    porter = project(files)
    for name in files:
        assert "hccl" not in ported(porter, name)[name], "the other is not named"
    after = ported(porter, ".")
    assert after["run.sh"] == "python train.py --backend hccl\n"
    assert after["train.py"].count('"hccl"') == 3 and '"nccl"' in after["train.py"], "the choice that was there stays"


@pytest.mark.slow
def test_a_script_that_cannot_be_edited_keeps_the_program(project):
    text = "# porter: ignore[PRT825] measured\npython train.py --backend nccl\n"
    porter = project({"train.py": PROGRAM, "run.sh": text})
    after = ported(porter, ".")
    assert (
        "hccl" not in after["train.py"] and "torch.npu.synchronize()" in after["train.py"] and after["run.sh"] == text
    )


SETTINGS = """import torch, yaml

cfg = yaml.safe_load(open("train.yaml"))
if cfg["dist"]["backend"] == "nccl":
    torch.distributed.init_process_group(cfg["dist"]["backend"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("alone", ["train.yaml", "train.py"])
def test_a_setting_and_its_reader(project, alone):
    porter = project({"train.py": SETTINGS, "train.yaml": "dist:\n  backend: nccl\n"})
    before = read(porter)
    assert ported(porter, alone) == before
    after = ported(porter, ".")
    assert "backend: hccl" in after["train.yaml"] and '== "hccl"' in after["train.py"]


FIELDS = {
    "options.py": 'from dataclasses import dataclass\nfrom typing import Literal\n\n\n@dataclass\nclass Machine:\n    device_type: Literal["cpu", "cuda"] = "cuda"\n',
    "devices.py": 'import torch\n\n\ndef get_available_devices():\n    devices = ["cpu"]\n    if torch.cuda.is_available():\n        devices.append("cuda")\n    return devices\n',
    "train.py": "import torch\nfrom devices import get_available_devices\nfrom options import Machine\n\n\ndef main(config: Machine):\n    known = get_available_devices()\n    if config.device_type not in known:\n        raise RuntimeError(config.device_type)\n    return 'nccl' if config.device_type == \"cuda\" else 'gloo'\n",
}  # fmt: skip


@pytest.mark.slow
def test_a_field_its_type_and_the_list_it_is_looked_up_in(project):
    porter = project(FIELDS)
    before = read(porter)
    for name in FIELDS:
        after = ported(porter, name)
        assert after["options.py"] == before["options.py"], name
        assert 'append("cuda")' in after["devices.py"] and '== "cuda"' in after["train.py"], name
    after = ported(porter, ".")
    assert 'Literal["cpu", "cuda", "npu"] = "npu"' in after["options.py"]
    assert 'append("npu")' in after["devices.py"] and '== "npu"' in after["train.py"]


@pytest.mark.slow
def test_other_programs_of_the_project_are_none_of_its_business(project):
    """Two programs with an option of one name share nothing, unless one imports the other."""
    other = PROGRAM.replace('choices=["nccl", "gloo"])', 'choices=["nccl", "gloo"])  # porter: ignore[PRT209] kept')
    engine = 'import torch\n\n\ndef start(args):\n    return args.backend == "nccl"\n'
    mine = "from engine import start\n" + PROGRAM
    porter = project({"one/train.py": mine, "one/engine.py": engine, "two/train.py": other})
    after = ported(porter, ".")
    assert '"nccl", "hccl"' in after["one/train.py"] and "hccl" not in after["two/train.py"]
    assert '== "hccl"' in after["one/engine.py"], "it belongs to the first program alone"
    write(porter.folder, {"one/train.py": "from engine import start\n" + other, "one/engine.py": engine})
    assert "hccl" not in "".join(ported(porter, ".").values())


@pytest.mark.slow
def test_within_one_file(project):
    text = "import torch\n\ndevice = 'cuda'  # porter: ignore[PRT120] kept\nif device == 'cuda':\n    print(torch.zeros(3, device=device))\n"
    porter = project({"a.py": text})
    assert ported(porter, ".")["a.py"] == text


@pytest.mark.slow
def test_the_question_before_a_value_goes_with_it(project):
    """Half of `args.device if torch.cuda.is_available() else "cpu"` would hand on "cuda" where there is an NPU."""
    options = "".join(
        f'parser.add_argument("--{name}", default="cuda"){kept}\n'
        for name, kept in (("device", "  # porter: ignore[PRT123] scripts read it"), ("cache-device", ""))
    )
    asked = "".join(
        f'torch.zeros(3, device=args.{name} if torch.cuda.is_available() or args.{name} == "cpu" else "cpu")\n'
        for name in ("device", "cache_device")
    )
    head = "import argparse\nimport torch\n\nparser = argparse.ArgumentParser()\n"
    after = ported(project({"a.py": head + options + "args = parser.parse_args()\n" + asked}), ".")["a.py"]
    assert "args.device if torch.cuda.is_available()" in after and 'cache-device", default="npu"' in after
    assert "args.cache_device if torch.npu.is_available()" in after


def test_a_question_beside_a_branch_for_npus_holds_nobody_up(project):
    """Nothing is said of it, so that it says nothing of the value either."""
    text = (
        "import argparse\nimport torch\nimport torch_npu\n\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--device", default="cuda")\nargs = parser.parse_args()\n'
        'if torch.npu.is_available():\n    device = "npu"\nelse:\n'
        '    device = args.device if torch.cuda.is_available() else "cpu"\n'
    )
    porter = project({"a.py": text})
    assert {status for key, status in statuses(porter).items() if key[2] == "PRT123"} == {"review"}


@pytest.mark.slow
def test_a_comparison_that_chooses_a_kernel_holds_nobody_up(project):
    """What has another way takes it, and the others are ported; what ends the program instead keeps all as they are."""
    device = 'import torch\n\ndevice = "cuda"\nx = torch.zeros(3, device=device)\n'
    chooses = (
        'half = torch.float16 if "cuda" in device and torch.cuda.get_device_capability()[0] >= 7 else torch.float32\n'
    )
    ends = 'assert device == "cuda" and HAS_FLASH_ATTN\n'
    after = ported(project({"a.py": device + chooses}), ".")["a.py"]
    assert 'device = "npu"' in after and chooses in after
    after = ported(project({"a.py": device + ends}), ".")["a.py"]
    assert 'device = "cuda"' in after and ends in after


@pytest.mark.slow
def test_a_command_line_made_of_a_dict_moves_with_the_option(project):
    """Its test passes the value as a script would; a dict of other keys is the start of a value of its own."""
    passing = 'import program\n\nARGS = {"--backend": "nccl", "--epochs": "3"}\n'
    files = {"program.py": "import torch\n" + PROGRAM, "test_it.py": "import torch\n" + passing}
    auto = {status for key, status in statuses(project(files)).items() if key[2] in ("PRT201", "PRT202", "PRT209")}
    assert auto == {"auto"}
    porter = project({**files, "ci.yml": "run: python program.py --backend nccl\n"})
    found = statuses(porter)
    assert {status for key, status in found.items() if key[0] == "test_it.py"} == {"review"}


@pytest.mark.slow
def test_review_is_shared_and_unsafe_applies_all_or_none(project):
    """One place is for a person to look at: then all are."""
    porter = project({"train.py": PROGRAM, "run.sh": "python /opt/other/train.py --backend nccl\n"})
    found = statuses(porter, ".")
    kinds = {status for (_, _, code), status in found.items() if code in ("PRT202", "PRT209", "PRT825")}
    assert kinds == {"review"}
    assert "hccl" not in "".join(ported(porter, ".").values())
    after = ported(porter, ".", "--unsafe")
    assert "hccl" in after["run.sh"] and after["train.py"].count('"hccl"') == 3
    write(porter.folder, {"train.py": PROGRAM, "run.sh": "python /opt/other/train.py --backend nccl\n"})
    after = ported(porter, "train.py", "--unsafe")
    assert "hccl" not in "".join(after.values()), "the script is not named"


def test_standard_input(project):
    porter = project({"config.py": CONSTANT, "use.py": USER})
    shown = porter("migrate", "-", "--stdin-filename", "use.py", stdin=USER.encode()).text
    assert "torch.npu.synchronize" in shown and '-    if DEVICE == "cuda"' not in shown
    write(porter.folder, {"config.py": 'DEVICE = "npu"\n'})
    shown = porter("migrate", "-", "--stdin-filename", "use.py", stdin=USER.encode()).text
    assert '+    if DEVICE == "npu"' in shown


@pytest.mark.slow
def test_a_hook_and_a_run_over_all_agree_where_all_is_ported_or_suppressed(project):
    """What keeps a value is the same for both, whether or not its file is named."""
    porter = project({"config.py": 'DEVICE = "cuda"  # porter: ignore[PRT120] kept\n', "use.py": USER})
    whole = {key: status for key, status in statuses(porter, ".").items() if key[0] == "use.py"}
    assert statuses(porter, "use.py") == whole
    assert statuses(porter, "use.py", "--no-cache") == whole


@pytest.mark.slow
def test_being_held_is_no_broken_promise(project):
    porter = project({"config.py": CONSTANT, "use.py": USER})
    assert porter("analyze", "use.py", "--fail-on", "blocker").code == 1
    answer = porter("migrate", "--inplace", "--allow-dirty", "use.py")
    assert answer.code == 0 and "PRT003" not in answer.text + answer.err


@pytest.mark.slow
def test_any_number_of_processes_any_order_of_hashes_and_the_cache(project):
    suppressed = {f"m{n}/use.py": USER.replace("config", f"m{n}.config") for n in range(6)}
    constants = {
        f"m{n}/config.py": CONSTANT if n % 2 else 'DEVICE = "cuda"  # porter: ignore[PRT120]\n' for n in range(6)
    }
    porter = project({**suppressed, **constants})
    shown = {
        process("migrate", ".", "-j", jobs, *more, cwd=porter.folder, PYTHONHASHSEED=seed).stdout
        for jobs, seed in (("1", "0"), ("2", "1"), ("2", "2"))
        for more in ([], ["--no-cache"])
    }
    (diff,) = shown
    assert diff.count(b'+    if DEVICE == "npu"') == 3


@pytest.mark.slow
def test_a_line_further_down_is_held_after_an_import_is_inserted(project):
    """What waits is found again in the ported text, where it stands elsewhere."""
    text = "import torch\nfrom config import DEVICE\n\nx = torch.zeros(3).cuda()\ny = torch.zeros(3, device='cuda:0')\nif DEVICE == 'cuda':\n    print(x, y, torch.zeros(3, device=DEVICE))\n"
    porter = project({"config.py": CONSTANT, "use.py": text})
    after = ported(porter, "use.py")["use.py"]
    assert "import torch_npu" in after and ".npu()" in after and "npu:0" in after and "== 'cuda'" in after


# random projects: a constant, a field and an option with everything that speaks of them, some of it out of reach

NAMES = ("alpha", "beta")
FORMS = {  # what a file says of the value NAME; every line with a value is marked, and ends in its mark
    "constant": ('{0}_DEVICE = "cuda"  # {0}',),
    "compared": ("from {0}_constant import {0}_DEVICE", 'if {0}_DEVICE == "cuda":  # {0}', "    print(1)"),
    "by module": ("import {0}_constant as m_{0}", 'if m_{0}.{0}_DEVICE in ("cuda", "mps"):  # {0}', "    print(2)"),
    "kept": ("from {0}_constant import {0}_DEVICE as kept_{0}", "{0}_device = kept_{0}", 'print({0}_device != "cuda")  # {0}'),
    "option": (
        "import argparse",
        "p_{0} = argparse.ArgumentParser()",
        'p_{0}.add_argument("--{0}-backend", default="nccl", choices=["nccl", "gloo"])  # {0}',
        'if p_{0}.parse_args().{0}_backend == "nccl":  # {0}',
        "    print(3)",
    ),
    "read": ("import {0}_option", "def f_{0}(args):", '    return args.{0}_backend == "nccl"  # {0}'),
    "settings": (
        "import yaml",
        's_{0} = yaml.safe_load(open("{0}.yaml"))',
        'torch.zeros(1, device=s_{0}["{0}_device"])',
        'if s_{0}["{0}_device"] == "cuda":  # {0}',
        "    print(4)",
    ),
    "taken": ('def take_{0}(device):', '    if device == "cuda":  # {0}', "        print(5)"),
    "given": ("from {0}_taken import take_{0}", 'take_{0}("cuda")  # {0}'),
    "named": ("import {0}_taken", '{0}_taken.take_{0}(device="cuda")  # {0}'),
    "made": ("class Make_{0}:", "    def __init__(self, device):", '        self.fast = device == "cuda"  # {0}'),
    "making": ("from {0}_made import Make_{0} as M_{0}", 'M_{0}("cuda")  # {0}'),
    "handed": ("def start_{0}(its_device):", '    return its_device == "cuda"  # {0}'),
    "begun": ("def begin_{0}(rank, its_backend):", '    return its_backend == "nccl" and rank  # {0}'),
    "looked up": ("import {0}_settings", "def g_{0}(given):", '    return given["{0}_device"] == "cuda"  # {0}'),
}  # fmt: skip
MARK = re.compile(r'  # (\w+)$|^  "(\w+)_device":')  # JSON has no comments
BESIDE = {  # files of other kinds that have the value
    "option": {"{0}.sh": "python {0}_option.py --{0}-backend nccl  # {0}\n"},
    "settings": {
        "{0}.yaml": "{0}_device: cuda  # {0}\n",
        "{0}.json": '{{\n  "{0}_device": "cuda",\n  "{0}": 0\n}}\n',
    },
}
# files without a value, which hand one on between two others
BETWEEN = {
    "handed": "from {0}_constant import {0}_DEVICE\nfrom {home} import start_{0}\n\nstart_{0}({0}_DEVICE)\n",
    "begun": "import {home}\nfrom {0}_option import p_{0}\n\n{home}.begin_{0}(0, p_{0}.parse_args().{0}_backend)\n",
}
GROUPS = {
    "constant": ("compared", "by module", "kept", "handed"),
    "option": ("read", "begun"),
    "settings": ("looked up",),
    "taken": ("given", "named"),
    "made": ("making",),
}
HINDRANCES = ("", "", "", "suppressed", "skip-file", "excluded", "unnamed", "quiet", "read-only", "refused")
CODES = "PRT120,PRT122,PRT123,PRT201,PRT202,PRT209,PRT825"


@st.composite
def projects(draw) -> tuple[dict[str, str], dict[str, str]]:
    """The files, and what stands in the way of each."""
    files: dict[str, list[str]] = {}
    scripts: dict[str, str] = {}
    between: dict[str, str] = {}
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)):
        kind = draw(st.sampled_from(sorted(GROUPS)))
        files[f"{name}_{kind}.py"] = [line.format(name) for line in FORMS[kind]]
        for form in draw(st.lists(st.sampled_from(GROUPS[kind]), min_size=1, max_size=3, unique=True)):
            homes = ["one.py", "two.py", f"{name}_three.py", "four.ipynb"]
            home = draw(st.sampled_from(homes[:3] if form in BETWEEN else homes))
            files.setdefault(home, []).extend(line.format(name) for line in FORMS[form])
            if form in BETWEEN:
                between[f"{name}_{form}_on.py"] = BETWEEN[form].format(name, home=home.removesuffix(".py"))
        beside = BESIDE.get(kind, {})
        several = (
            draw(st.lists(st.sampled_from(sorted(beside)), min_size=kind == "settings", unique=True)) if beside else []
        )
        scripts |= {path.format(name): beside[path].format(name) for path in several}
    programs = {path: "\n".join(["import torch", *lines, ""]) for path, lines in files.items()}
    made = {**programs, **scripts, **between}
    hindered = {}
    for path, text in sorted(made.items()):
        # which parameters a file has that nobody can parse is not known, and a file without a value is not looked at
        readable = between or re.search("def take_|class Make_", text)
        hindered[path] = draw(st.sampled_from(HINDRANCES[:-1] if readable else HINDRANCES))
    return made, hindered


def hinder(text: str, path: str, how: str) -> str:
    if how == "suppressed":
        first = next((line for line in text.splitlines() if re.search(r"  # \w+$", line)), None)
        if first is None:
            return text
        indent = first[: len(first) - len(first.lstrip())]
        return text.replace(first, f"{indent}# porter: ignore[{CODES}] kept\n{first}", 1)
    if how == "skip-file":
        return "# porter: skip-file kept\n" + text
    return text + "print 'python 2'\n" if how == "refused" and path.endswith(".py") else text


def stored(path: str, text: str) -> str:
    """A program as its file holds it: a notebook has a cell for its imports, and one for the rest."""
    if not path.endswith(".ipynb"):
        return text
    first, *others = text.splitlines(keepends=True)
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**cell, "source": source} for source in ([first], others)]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=1) + "\n"


def lines_of(path: str, text: str) -> list[str]:
    if path.endswith(".ipynb"):
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text.splitlines()


@pytest.mark.slow
def test_a_file_without_a_value_hands_one_on(project):
    other = 'def start(backend):\n    return backend == "nccl"\n'
    main = "from holder import BACKEND\nfrom sub.other import start\n\nstart(BACKEND)\n"
    holder, left_out = 'import torch\n\nBACKEND = "nccl"\n', 'exclude = ["sub"]\n'
    porter = project({"holder.py": holder, "main.py": main, "sub/other.py": other, "porter.toml": left_out})
    assert statuses(porter, ".") == {("holder.py", 3, "PRT201"): "manual"}
    assert "migrate holder.py sub/other.py" in porter("analyze", ".").text
    assert ported(porter, "holder.py", "sub/other.py")["sub/other.py"] == other.replace("nccl", "hccl")


@pytest.mark.slow
@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
@given(made=projects(), unsafe=st.booleans())
def test_never_half_a_group(made, unsafe):
    files, hindered = made
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        written = {path: stored(path, hinder(text, path, hindered[path])) for path, text in files.items()}
        write(root, {**written, "pyproject.toml": ""})
        for path, how in hindered.items():
            if how == "read-only":
                (root / path).chmod(0o444)
        quiet = tuple((path, frozenset(CODES.split(","))) for path, how in hindered.items() if how == "quiet")
        excluded = tuple(path for path, how in hindered.items() if how == "excluded")
        named = [str(root / path) for path, how in hindered.items() if how not in ("unnamed", "excluded")]
        options = Settings(exclude=excluded, jobs=1)
        found = run(root, named, options, open_session(quiet=Quiet(below=quiet))) if named else None
        after = dict(written)
        for result in found.files if found else ():
            edits = result.review if unsafe else result.auto
            after[result.path] = apply(written[result.path].encode(), edits).decode() if edits else written[result.path]
        assert not found or not found.broken
        marked = [line for path, text in after.items() for line in lines_of(path, text) if MARK.search(line)]
        for name in NAMES:
            mine = [line for line in marked if name in MARK.search(line).groups()]
            ported = ["npu" in line or "hccl" in line for line in mine]
            assert all(ported) or not any(ported), (hindered, mine)
            if mine and not any(hindered.values()):
                assert all(ported), mine


HALF = """import torch


def skips(device):
    return device == "cuda" and not torch.cuda.is_available()


def picks(device):
    return torch.device("cuda" if torch.cuda.is_available() else "cpu") if device else None
"""


@pytest.mark.parametrize(("status", "statuses"), [("review", ["review", "review"]), ("manual", ["manual", "manual"])])
def test_one_condition_is_one_decision(status: str, statuses: list[str]) -> None:
    """Half of it would ask for an NPU and mean a GPU, and the next look would take it for code that knows both."""
    place = Held("a.py", HALF.index('"cuda"'), status, "review", "b.py:1")
    found = analyse("a.py", HALF.encode(), open_session(held=(place,)))
    assert [f.status for f in found.findings if f.line == 5] == statuses
    lines = apply(HALF.encode(), found.auto).decode().splitlines()
    assert HALF.splitlines()[4] in lines and '"npu" if torch.npu.is_available()' in lines[-1]
    unsafe = apply(HALF.encode(), found.review).decode()
    assert ('device == "npu" and not torch.npu.is_available()' in unsafe) is (status == "review")
    whole = analyse("a.py", HALF.encode(), open_session())
    assert {f.status for f in whole.findings} == {"auto"}


ASKED = """import torch


def select(device):
    if device.startswith("cuda"):
        if not torch.cuda.is_available():
            return "cpu"
        elif int(device[5:]) < torch.cuda.device_count():
            return torch.device(device)
    torch.cuda.empty_cache()
    return device


def first(device=None):
    if torch.cuda.is_available():
        device = "cuda:0"
    return torch.zeros(torch.cuda.device_count(), device=device)
"""


@pytest.mark.parametrize("status", ["manual", "review"])
@pytest.mark.parametrize(("literal", "lines"), [('"cuda")', {5, 6, 8}), ('"cuda:0"', {15, 16})])
def test_a_question_waits_with_the_device_that_it_decides_about(literal: str, lines: set[int], status: str) -> None:
    """Ported alone it would lead an NPU to a device that is none there, and not to the CPU as before."""
    place = Held("a.py", ASKED.index(literal), status, "review", "b.py:1")
    found = analyse("a.py", ASKED.encode(), open_session(held=(place,)))
    assert {f.line for f in found.findings if f.status == status} == lines
    assert {f.line for f in found.findings if f.status == "auto"} == {5, 6, 8, 10, 15, 16, 17} - lines


@pytest.mark.slow
def test_a_statement_that_was_not_analysed_holds_back_what_stands_in_it_alone(project):
    """Of a file in newer grammar all but a statement is known, and the rest of it is edited."""
    newer = 'print(f"{str("x")}")\n'  # Python 3.12
    train = f'import torch\nfrom use import Settings\n\nmodel = torch.nn.Linear(2, 2).to_empty(device="cuda")\n{newer}'
    use = """from dataclasses import dataclass

import torch


@dataclass
class Settings:
    device: str = "cuda"


def zeros(settings: Settings):
    return torch.zeros(2, device=settings.device)
"""
    made = ported(project({"use.py": use, "train.py": train}))
    assert 'device: str = "npu"' in made["use.py"] and 'to_empty(device="npu")' in made["train.py"]


@pytest.mark.parametrize(("broken", "end"), [("when it", "hccl"), ("when BACKEND is nccl", "nccl")])
def test_a_cell_that_is_no_python_holds_back_what_stands_in_it_alone(project, broken, end):
    """The other cells were analysed, and what a cell has printed is no code."""
    text = ["{'DISTRIBUTED': {'BACKEND': 'nccl',\n"]
    cells = [
        {"cell_type": "code", "outputs": [], "source": ["x = 1\n", f"{broken}\n"]},
        {
            "cell_type": "code",
            "outputs": [{"name": "stdout", "output_type": "stream", "text": text}],
            "source": "x = 1",
        },
    ]
    train = "import torch\n\n\ndef main(cfg):\n    torch.distributed.init_process_group(cfg.DIST.BACKEND)\n"
    book = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    files = {"train.py": train, "a.yaml": "DIST:\n  BACKEND: nccl\n", "a.ipynb": book}
    assert ported(project(files))["a.yaml"] == f"DIST:\n  BACKEND: {end}\n"


@pytest.mark.slow
def test_a_file_that_is_only_called_after_kernels_moves_with_its_default(project):
    """The path makes a comparison a question for kernels; what it is compared with is one value all the same."""
    text = """import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
args = parser.parse_args()
if args.device == "cuda" and not torch.cuda.is_available():
    args.device = "cpu"
if args.device == "cuda":
    print(torch.ones(2, device=args.device))
"""
    made = ported(project({"bench_triton_sums.py": text}))["bench_triton_sums.py"]
    assert made.count('"cuda"') in (0, 3)


HELPERS = """import torch


def wrapped(model, setting=None):
    if setting == "cuda_data_parallel":
        return torch.nn.DataParallel(model)
    return model.to("cuda:0") if setting == "cuda" else model


def placed(model, spot):
    return model.to(spot) if spot in ("cuda", "cpu") else model
"""
TESTS = """import torch
from helpers import placed, wrapped
from parameterized import parameterized

settings = ["", "cuda"] if torch.cuda.is_available() else [""]
spots = ["", "cuda"] if torch.cuda.is_available() else [""]


class TestModels:
    @parameterized.expand([(size, setting) for size in (1, 2) for setting in settings])
    def test_sizes(self, size, setting):
        assert wrapped(torch.nn.Linear(size, size), setting=setting)

    @parameterized.expand([(spot,) for spot in spots])
    def test_spots(self, spot):
        assert placed(torch.nn.Linear(1, 1), spot)
"""


@pytest.mark.slow
def test_the_rows_of_a_test_go_with_what_compares_their_values(project):
    after = ported(project({"helpers.py": HELPERS, "test_models.py": TESTS}), "--unsafe")
    assert 'if setting == "cuda" else' in after["helpers.py"] and '"npu:0"' in after["helpers.py"]
    assert 'settings = ["", "cuda"] if torch.cuda' in after["test_models.py"]
    assert 'spot in ("npu", "cpu")' in after["helpers.py"]
    assert 'spots = ["", "npu"] if torch.npu' in after["test_models.py"]


@pytest.mark.slow
def test_a_comparison_stays_with_the_row_that_gives_its_value(project):
    rows = """import torch
from absl.testing import parameterized


def chosen(where):
    return torch.device("cuda:0") if where == "cuda" else torch.device("cpu")


class TestNorms(parameterized.TestCase):
    @parameterized.named_parameters(("SmallGPU", 3, "cuda"), ("SmallCPU", 3, "cpu"))
    def test_small(self, size, where):
        assert torch.ones(size).to(chosen(where)).sum() == size
"""
    after = ported(project({"test_norms.py": rows}), "--unsafe")["test_norms.py"]
    assert 'where == "cuda"' in after and '3, "cuda")' in after
    after = ported(project({"test_norms.py": rows.replace("where", "device_name")}), "--unsafe")["test_norms.py"]
    assert 'device_name == "npu"' in after and '3, "npu")' in after


@pytest.mark.slow
def test_what_a_test_is_given_stays_with_what_it_expects(project):
    rows = """import torch
from absl.testing import parameterized


class TestParsed(parameterized.TestCase):
    @parameterized.parameters((torch.device("cuda:0"), "cuda"), ("cpu", "cpu"))
    def test_parsed(self, given, expected):
        self.assertEqual(torch.ones(1).to(given).device.type, expected)

    @parameterized.parameters(("cuda", "cuda"), ("cpu", "cpu"))
    def test_moved(self, label, device):
        self.assertEqual(torch.ones(1).to(device).device.type, device)
"""
    after = ported(project({"test_parsed.py": rows}), "--unsafe")["test_parsed.py"]
    assert '(torch.device("cuda:0"), "cuda")' in after and '("cuda", "npu")' in after
