"""A place that stays in any port holds no edit of the same value back."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Porter, write

from porter.checks.device.cuda_method import CudaMethod

pytestmark = pytest.mark.slow  # each runs the command on a project

PROGRAM = """import torch


def main(configs, model, gpus):
    configs.device = "cuda" if gpus else "cpu"
    if configs.device == "cuda":
        torch.backends.cudnn.benchmark = True
    if configs.device == "cuda":{}
        {}
    return model.to(configs.device)
"""


def ported(tmp_path: Path, monkeypatch, statement: str, comment: str = "") -> str:
    write(tmp_path, {"porter.toml": "", "main.py": PROGRAM.format(comment, statement)})
    Porter(monkeypatch, tmp_path)("migrate", ".", "--inplace", "--allow-dirty")
    return (tmp_path / "main.py").read_text()


def test_a_comparison_that_leads_to_data_parallel_alone(tmp_path: Path, monkeypatch) -> None:
    text = ported(tmp_path, monkeypatch, "model = torch.nn.DataParallel(model)")
    assert text.count('"npu"') == 2  # the value, and the comparison that leads elsewhere
    assert text.count('== "cuda"') == 1


def test_a_comparison_that_chooses_a_provider_of_another_library(tmp_path: Path, monkeypatch) -> None:
    text = ported(tmp_path, monkeypatch, 'providers = ["CUDAExecutionProvider"]')
    assert text.count('"npu"') == 2  # the value, and the comparison that leads elsewhere
    assert text.count('== "cuda"') == 1


def test_a_comparison_that_a_person_leaves(tmp_path: Path, monkeypatch) -> None:
    assert '"npu"' not in ported(tmp_path, monkeypatch, "model = model.half()", "  # porter: ignore[PRT122] kept")


def test_a_file_in_which_a_rule_fails(tmp_path: Path, monkeypatch) -> None:
    """All of its places are known, and none has the value: it holds nothing back."""
    failing = 'import torch\n\ndevice = None\n\n\ndef load(data):\n    """Takes the device "cuda"."""\n    return data.cuda()\n'
    program = 'import torch\n\nimport data\n\nargs.device = "cuda"\ndata.device = args.device\nif data.device == "cuda":\n    torch.cuda.synchronize()\n'
    write(tmp_path, {"porter.toml": "", "main.py": program, "data.py": failing})
    monkeypatch.setattr(CudaMethod, "visit", lambda *_: 1 / 0)
    Porter(monkeypatch, tmp_path)("migrate", ".", "--inplace", "--allow-dirty")
    assert (tmp_path / "main.py").read_text().count('"npu"') == 2


@pytest.mark.slow
def test_a_branch_waits_with_the_comparison_that_opens_it(tmp_path: Path, monkeypatch) -> None:
    tool = 'import torch\n\n\ndef start(args):\n    if args.device == "cuda":\n        torch.cuda.empty_cache()\n'
    main = (
        "import argparse\nfrom tool import start\nfrom env import is_npu_available\n\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--device", default="cuda")\nprint(is_npu_available())\nstart(parser.parse_args())\n'
    )
    write(tmp_path, {"porter.toml": "", "tool.py": tool, "main.py": main})
    porter = Porter(monkeypatch, tmp_path)
    porter("migrate", ".", "--inplace", "--allow-dirty")
    assert (tmp_path / "tool.py").read_text() == tool
    assert b"waits for main.py:6" in porter("analyze", ".", "--format", "grouped").out
    porter("migrate", ".", "--inplace", "--allow-dirty", "--unsafe")
    assert tool.replace("cuda", "npu").partition("\n")[2] in (tmp_path / "tool.py").read_text()


def test_a_question_waits_with_the_comparison_that_opens_it(tmp_path: Path, monkeypatch) -> None:
    program = 'import torch\n\n\ndef start(kind):\n    if kind == "cuda":\n        assert torch.cuda.is_available()\n'
    write(tmp_path, {"porter.toml": "", "main.py": program})
    porter = Porter(monkeypatch, tmp_path)
    assert b"with the comparison in line 5" in porter("analyze", ".", "--format", "grouped").out
    porter("migrate", ".", "--inplace", "--allow-dirty")
    assert (tmp_path / "main.py").read_text() == program
    porter("migrate", ".", "--inplace", "--allow-dirty", "--unsafe")
    assert program.replace("cuda", "npu").partition("\n")[2] in (tmp_path / "main.py").read_text()


def test_what_is_made_of_a_function_takes_its_parameters(tmp_path: Path, monkeypatch) -> None:
    program = (
        'import torch\n\n\ndef build(device):\n    if device == "cuda":{}\n        print("on a GPU")\n'
        '    return torch.zeros(1, device=device)\n\n\nprepare(build)("cuda")\n'
    )
    porter = Porter(monkeypatch, tmp_path)
    for comment, times in (("", 2), ("  # porter: ignore[PRT122] kept", 0)):
        write(tmp_path, {"porter.toml": "", "main.py": program.format(comment)})
        porter("migrate", ".", "--inplace", "--allow-dirty")
        assert (tmp_path / "main.py").read_text().count('"npu"') == times


TESTED = """import pytest
import torch
from main import Config, start


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_start():
    config = Config()
    config.device = "cuda"
    x = start(config, torch.zeros(3).cuda())
    assert x.device.type == "cuda"


def test_more():
    assert torch.zeros(3).cuda().is_cuda
"""


def test_a_test_waits_as_a_whole(tmp_path: Path, monkeypatch) -> None:
    """The value in it is one with a place that a person leaves: what asks for a GPU before it and what it finds after it are not
    ported alone."""
    main = (
        "class Config:\n    device = None\n\n\ndef start(config, x):\n"
        '    if config.device == "cuda":\n        x = x.half()\n    return x.to(config.device)\n'
    )
    files = {"porter.toml": "", "main.py": f"import torch\n\n\n{main}", "tests/test_main.py": TESTED}
    write(tmp_path, files)
    Porter(monkeypatch, tmp_path)("migrate", ".", "--inplace", "--allow-dirty")
    assert "cuda" not in (tmp_path / "tests/test_main.py").read_text()
    write(tmp_path, files | {"main.py": files["main.py"].replace('"cuda":', '"cuda":  # porter: ignore[PRT122] kept')})
    Porter(monkeypatch, tmp_path)("migrate", ".", "--inplace", "--allow-dirty")
    tests, _, more = (tmp_path / "tests/test_main.py").read_text().partition("def test_more")
    assert "npu" not in tests.replace("import torch_npu", "") and "cuda" not in more


ROWS = """from unittest import TestCase, skip

import torch
from models import build
from parameterized import parameterized

configs = ["resnet", "hrnet"]
configs_with_devices = [(config, ("cpu", "cuda")) for config in configs]


class TestModels(TestCase):
    @parameterized.expand(configs_with_devices)
    def test_forward(self, config, devices):
        for device in devices:
            model = build(config)
            if device == "cuda":
                if not torch.cuda.is_available():
                    return skip("test requires GPU and torch+cuda")
                model = model.cuda()
            self.assertIsInstance(model.forward(), torch.Tensor)
"""


@pytest.mark.parametrize("own", [True, False])
def test_a_list_in_a_row_of_a_test_waits_with_what_it_is_compared_with(tmp_path: Path, monkeypatch, own) -> None:
    models = "import torch\n\n\nclass Own:\n    def {}(self):\n        return self\n\n\ndef build(config):\n    return Own()\n"
    write(
        tmp_path,
        {"porter.toml": "", "tests/test_it.py": ROWS, "models.py": models.format("cuda" if own else "half")},
    )
    Porter(monkeypatch, tmp_path)("migrate", ".", "--inplace", "--allow-dirty")
    text = (tmp_path / "tests/test_it.py").read_text()
    assert text.count('"npu"') == (0 if own else 2)
    assert text.count('"cuda"') == (2 if own else 0)


def test_what_a_method_is_given_by_position_waits_for_it(tmp_path: Path, monkeypatch) -> None:
    strategy = (
        "import torch\n\n\nclass Strategy:\n    def wrap(self, model, backend):\n"
        '        return model.cuda() if backend == "nccl" else model{}\n'
    )
    main = 'from strategy import make\n\nmodel = make().wrap(build(), "nccl")\n'
    for comment, ported in ((0, True), (1, False)):
        root = tmp_path / str(comment)
        write(
            root,
            {
                "porter.toml": "",
                "strategy.py": strategy.format("  # porter: ignore[PRT202]" * comment),
                "main.py": main,
            },
        )
        Porter(monkeypatch, root)("migrate", ".", "--inplace", "--allow-dirty")
        assert ('wrap(build(), "hccl")' in (root / "main.py").read_text()) is ported
        assert ('backend == "hccl"' in (root / "strategy.py").read_text()) is ported
