"""`porter explain NAME`, of every kind of name that porter prints: variables, advice, error codes, packages, APIs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import Porter

from porter.advice import load
from porter.commands.explain_others import other_page
from porter.report.rule_page import Page
from porter.rulebook import table
from porter.rulebook.texts import Texts
from porter.terminal import plain

TEXTS, TABLES = Texts(), table.load()
ENGLISH, CHINESE = Page("en", 100), Page("zh", 100)
CAUSES = TEXTS.named("causes")
ADVICE = sorted(row["id"] for row in load.advice()["advice"])
WRITTEN = sorted({*TEXTS.named("exports"), *(row.to for row in TABLES.variables.values() if row.to)})
CODES = sorted(
    {str(number) for cause in CAUSES.values() for number in cause.get("numbers", ())}
    | {
        code
        for c in CAUSES.values()
        for line in c.get("lines", ())
        for code in re.findall(r"E[A-Z]\d{4}|ERR\d{5}", line)
    }
)


@pytest.fixture
def porter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Porter:
    (tmp_path / "here").mkdir()
    return Porter(monkeypatch, tmp_path / "here")


def test_there_are_some_of_each() -> None:
    assert len(ADVICE) > 50 and len(WRITTEN) > 20 and len(CODES) > 20 and len(TEXTS.npu.variables()) > 50


def both(name: str) -> tuple[str, str]:
    english, chinese = (plain(other_page(name, TEXTS, page)) for page in (ENGLISH, CHINESE))
    return english, chinese


def test_every_variable_that_porter_writes_has_a_page() -> None:
    """`porter env` writes them, and variables of the GPU side become them."""
    for name in sorted({*WRITTEN, *TEXTS.npu.variables()}):
        english, chinese = both(name)
        if not english:  # of both sides, or no variable of an NPU: it has a page as what is ported
            assert TEXTS.api(name) is not None, name
            continue
        assert english.startswith(f"{name}  is read on the NPU side\n") and chinese.startswith(f"{name}  "), name
        assert english != chinese, name


@pytest.mark.slow
def test_every_advice_has_a_page() -> None:
    for name in ADVICE:
        english, chinese = both(name)
        assert english.startswith(f"{name}: ") and "known from: " in english and "{value}" not in english, name
        assert chinese != english, name


@pytest.mark.slow
def test_every_error_code_has_a_page() -> None:
    """One that `porter diagnose` knows says there what it says here."""
    for code in CODES:
        english, chinese = both(code)
        assert english.startswith(f"{code}  ") and "What to do" in english and "porter diagnose" in english, code
        assert chinese.startswith(f"{code}  ") and chinese != english, code


def test_a_variable(porter: Porter) -> None:
    said = porter("explain", "HCCL_BUFFSIZE").text
    assert "Unset it means 200." in said and "NCCL_BUFFSIZE" in said and "Grade V; known from: HCCL" in said
    assert "TORCH_NCCL_TRACE_BUFFER_SIZE" in porter("explain", "TORCH_HCCL_TRACE_BUFFER_SIZE").text


def test_an_advice_and_an_error_code(porter: Porter) -> None:
    assert porter("explain", "adam-beta2").text.startswith("adam-beta2: ")
    assert "HCCL_CONNECT_TIMEOUT" in porter("explain", "ei0006").text


@pytest.mark.parametrize("name", ["mmcv", "lightning", "triton", "ultralytics"])
def test_a_plugin_is_named_and_no_rule_denies_it(porter: Porter, name: str) -> None:
    said = porter("explain", name).text
    assert "runs with a plugin" in said and "What to do" in said
    assert "only runs on GPUs" not in said and "blocker" not in said


def test_a_package_that_is_a_finding_shows_its_rule(porter: Porter) -> None:
    assert "PRT401" in porter("explain", "bitsandbytes").text
    assert "PRT355" in porter("explain", "apex").text


@pytest.mark.parametrize(
    "name", ["torch.cuda.empty_cashe", "torch.nn.Lineer", "HCCL_BUFSIZE", "EI9998", "507999", "adam-beta3"]
)
def test_what_is_not_known(porter: Porter, name: str) -> None:
    answer = porter("explain", name)
    assert answer.code == 2 and "nothing is known about" in answer.err


def test_of_another_library(porter: Porter) -> None:
    assert "PRT410" in porter("explain", "torchvision.ops.nms").text


def test_rules_of_other_chips_are_named(porter: Porter) -> None:
    said = porter("explain", "torch.bfloat16").text
    assert "limit (soc 910, 310P): these chips have no bfloat16" in said
    assert "PRT310 bfloat16-unsupported  blocker (only on soc 910, 310P)" in said
    assert "not on this chip" in porter("explain", "torch.bfloat16", "--target", "soc=910").text


def test_limits_in_chinese(porter: Porter) -> None:
    assert "限制（proj_size）：不支持" in porter("explain", "torch.nn.LSTM", "--lang", "zh").text
