"""Which runs `--as` makes, what it says of them, and what it refuses: none of it needs torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from porter.commands.verify import verify
from porter.errors import UserError
from porter.rulebook.words import words
from porter.verify import differences
from porter.verify.install import Device
from porter.verify.launch import Outcome
from porter.verify.records import Change, Error, FirstUpdate, Operator, Point, Records
from porter.verify.result import Result, as_json, data
from porter.verify.sensitivity import Sensitivity, measure
from porter.verify.show import text

DEVICE = Device("2.13.0", "2.13.0", None, Path("s"), Path("l"))


def outcome(*losses: float, code: int = 0, **records) -> Outcome:
    points = [Point(loss, f"train.py:{n}") for n, loss in enumerate(losses)]
    return Outcome(code, "said\n", Records({"loss": points, "grad_norm SGD": points}, **records))


def asked(*names: str, changed: int = 0, furthest: float = 0.0) -> list[Change]:
    return [Change(name, "aten::mm", "train.py:3", 4, changed, furthest) for name in names]


class Runs:
    """Answers what it is told to, and remembers what it was asked."""

    def __init__(self, *answers: Outcome):
        self.answers, self.asked = list(answers), []

    def __call__(self, name: str, states: str) -> Outcome:
        self.asked.append((name, states))
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


def found(chip: str, port: Outcome, *answers: Outcome, only: tuple[str, ...] = (), certain: bool = True):
    runs = Runs(*(answers or [port]))
    return measure(chip, differences.of(chip, only), bool(only), port, certain, runs), runs.asked


def said(sensitivity: Sensitivity, port: Outcome, lang: str = "en") -> str:
    return "\n".join(text(data(Result(DEVICE, 1, port, sensitivity=sensitivity)), lang))


def test_what_no_operator_asks_for_is_not_run() -> None:
    port = outcome(1.0, 0.5, changes=asked("hf32-conv"))
    sensitivity, runs = found("A2", port)
    assert runs == [("hf32-conv", "hf32-conv=on")]
    assert "no operator of this program asks for it: hf32-matmul, tanh-gelu, float32-casts" in said(sensitivity, port)


def test_all_together_is_what_the_chip_does_by_itself() -> None:
    port = outcome(1.0, changes=asked("hf32-conv", "hf32-matmul", "tanh-gelu", "float32-casts"))
    sensitivity, runs = found("A2", port)
    assert runs == [
        ("hf32-conv", "hf32-conv=on"), ("hf32-matmul", "hf32-matmul=force"), ("tanh-gelu", "tanh-gelu=on"),
        ("float32-casts", "float32-casts=on"), ("together", "hf32-conv=on tanh-gelu=on"),
    ]  # fmt: skip
    assert "together: hf32-conv, tanh-gelu" in said(sensitivity, port)


def test_a_program_that_switches_hf32_on_has_it_in_the_run_with_all() -> None:
    port = outcome(1.0, changes=asked("hf32-matmul", "tanh-gelu"), settings={"hf32-matmul": True})
    assert found("A2", port)[1][-1] == ("together", "hf32-matmul=on tanh-gelu=on")


def test_what_is_named_is_forced_together() -> None:
    port = outcome(1.0, changes=asked("hf32-matmul", "tanh-gelu"))
    _, runs = found("A2", port, only=("hf32-matmul", "tanh-gelu"))
    assert runs[-1] == ("together", "hf32-matmul=force tanh-gelu=on")


def test_products_in_float16_may_overflow_where_nothing_did_before() -> None:
    port = outcome(1.0, changes=asked("fp16-products"))
    assert [name for name, _ in found("910", port)[1]] == ["fp16-products", "together"]
    assert found("910", port)[1][-1][1] == "saturation=on fp16-products=on"


def test_what_the_program_takes_away_is_said_and_not_run() -> None:
    port = outcome(1.0, settings={"hf32-conv": False})
    sensitivity, runs = found("A2", port)
    assert runs == []
    assert "hf32-conv: convolutions of float32" in said(sensitivity, port)
    assert "Not run: the program sets it otherwise." in said(sensitivity, port)


def test_operators_in_bfloat16_are_counted_by_their_type() -> None:
    short = Operator("aten::mm", "train.py:3", "native", False, 6, 6, "BFloat16", 1, ())
    port = outcome(1.0, operators=[short])
    sensitivity, runs = found("910", port)
    # without it there are operators in float32 and float16 that were not there before
    assert runs == [
        ("no-bfloat16", "no-bfloat16=on"), ("together", "saturation=on fp16-products=on no-bfloat16=on"),
    ]  # fmt: skip
    assert "6 of 6" in said(sensitivity, port)
    assert "aten::mm at train.py:3: 6 calls" in said(sensitivity, port)


def test_a_program_that_never_computes_the_same_is_run_once_more() -> None:
    port = outcome(1.0, 0.5, changes=asked("hf32-conv"))
    same, runs = found("A2", port, certain=False)
    assert runs[0] == ("again", "")
    assert "every number has the same bits" in said(same, port)
    other, _ = found("A2", port, outcome(1.0, 0.4), certain=False)
    assert "moved by up to 0.2" in said(other, port)


def test_how_far_from_which_step_and_through_what() -> None:
    port = outcome(4.0, 2.0, 1.0, changes=asked("hf32-conv"))
    update = FirstUpdate("SGD", 10, 2.0, 0.5, 0.25)
    moved = outcome(4.0, 2.5, 1.0, changes=asked("hf32-conv", changed=3, furthest=0.125), updates=[update])
    sensitivity, _ = found("A2", port, moved)
    shown = said(sensitivity, port)
    assert "hf32-conv   0.25 (0.5)  2          0.25 (0.5)     2          0.25 (0.25)   3 of 4" in shown
    assert "aten::mm at train.py:3: result moved by up to 0.12 in 3 calls" in shown
    (effect, *_) = json.loads(as_json(Result(DEVICE, 1, port, sensitivity=sensitivity)))["sensitivity"]["effects"]
    assert (effect["grade"], effect["calls"], effect["calls_changed"]) == ("V", 4, 3)
    assert effect["series"][1] == {
        "name": "loss", "points": 3, "missing": 0, "first": 1, "largest_absolute_difference": 0.5,
        "largest_relative_difference": 0.25,
    }  # fmt: skip
    assert effect["first_updates"][0]["relative_difference"] == 0.25


def test_infinities_are_far_and_nan_equals_nan() -> None:
    port = outcome(float("nan"), float("inf"), changes=asked("hf32-conv"))
    same, _ = found("A2", port)
    assert same.effects[0].moves[0].first is None
    far, _ = found("A2", port, outcome(float("nan"), 1.0))
    assert far.effects[0].moves[0].relative == float("inf")


def test_a_run_that_ends_badly_or_early_says_so() -> None:
    port = outcome(1.0, 0.5, changes=asked("hf32-conv"))
    failed = outcome(1.0, code=1, errors=[Error(0, "ValueError", "too far\noff", "train.py:9")])
    shown = said(found("A2", port, failed)[0], port)
    assert "hf32-conv (failed)" in shown
    assert "exit code 1" in shown
    assert "ValueError at train.py:9: too far" in shown
    assert "loss: 1 values that only one of the two runs has" in shown


def test_fused_operators_are_named_as_out_of_reach() -> None:
    fused = [
        Operator(f"npu::{n}", "m.py:1", "native", False, 1, 1, "Half", 1, ())
        for n in ("npu_fusion_attention", "npu_swiglu")
    ]
    port = outcome(1.0, operators=fused)
    assert "no difference reaches: npu::npu_fusion_attention" in said(found("A2", port)[0], port)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_difference_is_explained(lang: str) -> None:
    names = [difference.name for difference in differences.DIFFERENCES]
    for chip in differences.CHIPS:
        short = Operator("aten::mm", "train.py:3", "native", False, 6, 6, "BFloat16", 1, ())
        port = outcome(1.0, changes=asked(*names), operators=[short])
        shown = said(found(chip, port)[0], port, lang)
        for difference in differences.of(chip):
            assert words("verify", lang)[f"difference.{difference.name}"] in shown
            assert words("verify", lang)[f"difference.{difference.name}.assumed"] in shown
            assert difference.source in shown
    assert words("verify", lang)["sensitivity.claims"] in shown


def test_which_chip_has_which() -> None:
    assert {chip: [d.name for d in differences.of(chip)] for chip in differences.CHIPS} == {
        "A2": ["hf32-conv", "hf32-matmul", "tanh-gelu", "float32-casts"],
        "A3": ["hf32-conv", "hf32-matmul", "tanh-gelu", "float32-casts"],
        "910": ["tanh-gelu", "saturation", "fp16-products", "no-bfloat16", "float32-casts"],
    }


@pytest.mark.parametrize(
    ("chip", "only", "says"),
    [
        ("950", (), "--as 950: nothing is documented that could be computed here; choose A2, A3, 910"),
        ("A2", ("saturation",), "--only saturation: not a documented difference of A2; choose hf32-conv, hf32-matmul"),
        (None, ("tanh-gelu",), "--only belongs to --as"),
    ],
)
def test_what_is_refused(chip: str | None, only: tuple[str, ...], says: str) -> None:
    with pytest.raises(UserError) as error:
        verify(
            ("train.py",), False, None, None, False, False, 0, 1, 0, 0, None, None, None, None, None, None, chip=chip,
            only=only,
        )  # fmt: skip
    assert str(error.value).startswith(says)
