"""Which call is named, and when none is: on nets whose numbers are waves."""

from __future__ import annotations

import pytest
from dumps_world import Made, net, reason, tensor, told, whole

from porter.dumps.compared import compare

NOISE = 2e-7


@pytest.mark.slow
def test_the_same_twice_and_rounding(tmp_path):
    assert reason(tmp_path / "a", net(), net()) == ("equal", "")
    assert reason(tmp_path / "b", net(), net(noise=NOISE))[0] == "rounding"
    assert reason(tmp_path / "c", net(dtype="bfloat16"), net(dtype="bfloat16", noise=8e-3))[0] == "rounding"
    assert reason(tmp_path / "d", net(), net(dtype="bfloat16", noise=8e-3))[0] == "rounding"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"blocks.1.up": 1.002}, ("outputs", "Module.blocks.1.up.Linear.forward.0")),
        ({"blocks.0.down": 0.0}, ("outputs", "Module.blocks.0.down.Linear.forward.0")),
        ({"blocks.0.down": float("nan")}, ("finite", "Module.blocks.0.down.Linear.forward.0")),
        ({"head": 1.001, "blocks.1.up": 0.9}, ("outputs", "Module.blocks.1.up.Linear.forward.0")),
        ({"blocks.1 between": 1.05}, ("inside", "Module.blocks.1.Block.forward.0")),
        ({"between": 1.05}, ("between", "Module.head.Linear.forward.0")),
        ({"blocks.1.up weight": 1.02}, ("weights", "Module.blocks.1.up.Linear.forward.0")),
        ({"ids": 1}, ("data", "Module.embed.Embedding.forward.0")),
        ({"embed": 1.3}, ("lookup", "Module.embed.Embedding.forward.0")),
        ({"embed": 30.0}, ("outputs", "Module.embed.Embedding.forward.0")),
        ({"loss": 1024.0}, ("scaled", "Module.head.Linear.parameters_grad.0")),
        ({"blocks.1.down backward": 1.3}, ("outputs", "Module.blocks.1.down.Linear.backward.0")),
        ({"blocks.1.down gradient": 1.3}, ("gradient", "Module.blocks.1.down.Linear.parameters_grad.0")),
        ({"blocks.1.down backward": 1.3, "blocks.0.up": 1.1}, ("outputs", "Module.blocks.0.up.Linear.forward.0")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("noise", [0.0, NOISE])
def test_a_fault_in_one_place(tmp_path, changed, expected, noise):
    assert reason(tmp_path, net(), net(changed, noise)) == expected


def test_most_weights_are_another_seed(tmp_path):
    names = ("embed", "blocks.0.up", "blocks.0.down", "blocks.1.up", "blocks.1.down", "head")
    found = told(tmp_path, net(), net({f"{name} weight": 1.2 + at / 10 for at, name in enumerate(names)}))
    assert (found.verdict.reason, found.verdict.values) == ("seed", {"n": 6, "all": 6})
    assert not found.verdict.is_at_fault and found.verdict.outcome == "unsure"


def test_a_fault_below_the_rounding_of_a_half_is_none(tmp_path):
    one, other = net(dtype="bfloat16"), net({"blocks.0.up": 1.002}, dtype="bfloat16")
    assert reason(tmp_path / "a", one, other)[0] == "rounding"
    assert reason(tmp_path / "b", net(dtype="bfloat16"), net({"blocks.0.up": 1.4}, dtype="bfloat16"))[0] == "outputs"


def test_a_half_in_one_module_is_a_fault_and_throughout_it_is_none(tmp_path):
    one, other = net(), net({"blocks.0.up": 1.003}, NOISE)
    row = other.data["Module.blocks.0.up.Linear.forward.0"]
    row["output"][0]["dtype"] = "torch.bfloat16"
    found = told(tmp_path, one, other)
    assert (found.verdict.reason, found.module) == ("outputs", "blocks.0.up")
    assert "types" in [fact.key for fact in found.verdict.evidence]
    found = told(tmp_path / "all", net(), net({"blocks.0.up": 1.003}, dtype="bfloat16"))
    assert found.verdict.reason == "rounding" and "mixed" in [fact.key for fact in found.verdict.evidence]


def drop(p_one: float, p_other: float) -> tuple[Made, Made]:
    sides = []
    for p in (p_one, p_other):
        x = tensor(1.0)
        out = tensor(1.0, scale=1 + p) if p else x
        made = Made(level="L0").forward("Module.fc.Linear.forward.0", [tensor(2.0)], [x])
        sides.append(
            made.forward("Module.drop.Dropout.forward.0", [x], [out]).forward(
                "Module.last.Linear.forward.0", [out], [out]
            )
        )
    return sides[0], sides[1]


def test_dropout(tmp_path):
    assert reason(tmp_path / "a", *drop(0, 0.2)) == ("dropout", "Module.drop.Dropout.forward.0")
    assert reason(tmp_path / "b", *drop(0.3, 0.2)) == ("random", "Module.drop.Dropout.forward.0")
    assert reason(tmp_path / "c", *drop(0, 0)) == ("equal", "")


def row(made: Made, name: str, seed: float, into: dict, scale: float = 1.0, **kwargs: object) -> dict:
    out = tensor(seed, scale=scale)
    arguments = {key: {"type": type(value).__name__, "value": value} for key, value in kwargs.items()}
    made.forward(name, [into], [out], kwargs=arguments)
    return out


def test_operators_of_one_side_are_one_place(tmp_path):
    def side(fused: bool, scale: float) -> Made:
        made = Made(level="L1")
        x = row(made, "Functional.linear.0.forward", 1.0, tensor(0.5))
        if fused:
            x = row(made, "NPU.npu_rms_norm.0.forward", 2.0, x, scale)
        else:
            for number, name in enumerate(("pow", "mean", "rsqrt", "mul")):
                x = row(made, f"Torch.{name}.0.forward", 1.3 + number if name != "mul" else 2.0, x)
        for number in (1, 2, 3):
            x = row(made, f"Functional.linear.{number}.forward", 3.0 + number, x, scale)
        return made

    assert reason(tmp_path / "same", side(False, 1), side(True, 1 + 1e-7))[0] == "rounding"
    assert reason(tmp_path / "other", side(False, 1), side(True, 1.01)) == ("several", "Torch.mul.0.forward")
    assert reason(tmp_path / "way back", side(True, 1), side(False, 1.0))[0] == "equal"


def test_arguments_that_differ_are_evidence(tmp_path):
    sides = []
    for eps, scale in ((1e-5, 1.0), (1e-3, 1.01)):
        made = Made(level="L1")
        row(made, "Functional.layer_norm.0.forward", 1.0, tensor(0.5), scale, eps=eps)
        sides.append(made)
    found = told(tmp_path, *sides)
    arguments = [fact.values for fact in found.verdict.evidence if fact.key == "argument"]
    assert arguments == [{"name": "eps", "one": "1e-05", "other": "0.001"}]


def test_what_memory_held_and_what_has_no_effect_are_passed_over(tmp_path):
    def side(garbage: float, inner: float) -> Made:
        made = Made(level="mix")
        block, x = "Module.block.Block.forward.0", tensor(1.0)
        made.forward("Torch.empty.0.forward", [], [tensor(9.0, scale=garbage)], block)
        made.forward("Module.block.aside.Linear.forward.0", [x], [tensor(2.0, scale=inner)], block)
        return made.forward(block, [x], [tensor(3.0)]).forward(
            "Module.head.Linear.forward.0", [tensor(3.0)], [tensor(4.0)]
        )

    assert reason(tmp_path, side(1, 1), side(1e6, 1.5))[0] == "grown"
    assert reason(tmp_path / "aside", side(1, 1), side(1, 1.5))[0] == "grown"


@pytest.mark.parametrize("garbage", [1e6, float("inf"), float("nan")])
def test_a_fault_behind_what_memory_held_is_seen(tmp_path, garbage):
    def side(held: float, scale: float) -> Made:
        made = Made(level="mix").forward("Torch.empty.0.forward", [], [tensor(9.0, scale=held)])
        made.forward("Tensor.copy_.0.forward", [tensor(9.0, scale=held), tensor(1.0)], [tensor(1.0)])
        made.forward("Module.a.Linear.forward.0", [tensor(1.0)], [tensor(2.0, scale=scale)])
        return made.forward("Module.b.Linear.forward.0", [tensor(2.0, scale=scale)], [tensor(3.0, scale=scale)])

    assert reason(tmp_path, side(1, 1), side(garbage, 1.3)) == ("outputs", "Module.a.Linear.forward.0")
    assert reason(tmp_path / "none", side(1, 1), side(garbage, 1))[0] == "rounding"


def test_a_sum_that_cancels_to_nothing_is_no_fault(tmp_path):
    """The gradient of the bias of keys is zero in theory: what is there is rounding, as large on each side as it likes."""

    def side(noise: float) -> Made:
        made = Made(level="L0").forward("Module.k.Linear.forward.0", [tensor(1.0)], [tensor(2.0)])
        made.gradients("Module.k.Linear.parameters_grad.0", bias=tensor(5.0, (8,), noise), weight=tensor(3.0, (8, 8)))
        return made.backward("Module.k.Linear.backward.0", [tensor(4.0)], [tensor(4.5)])

    assert reason(tmp_path, side(1e-9), side(-3e-9))[0] == "rounding"
    assert reason(tmp_path / "b", side(1.0), side(1.5))[0] == "gradient"

    def operator(noise: float) -> Made:
        """The same of a convolution before a batch norm, whose backward call has all its gradients."""
        made = Made(level="L1").forward("Functional.conv2d.0.forward", [tensor(1.0)], [tensor(2.0)])
        out = [tensor(3.0), tensor(4.0, (8, 8)), tensor(5.0, (8,), noise)]
        return made.backward("Functional.conv2d.0.backward", [tensor(4.0)], out)

    assert reason(tmp_path / "c", operator(1e-9), operator(-3e-9))[0] == "rounding"
    assert reason(tmp_path / "d", operator(1.0), operator(1.5))[0] == "outputs"


def test_a_choice_after_rounding(tmp_path):
    def side(noise: float, other: float) -> Made:
        made = Made(level="L1")
        x = row(made, "Functional.linear.0.forward", 1.0, tensor(0.5), 1 + noise)
        made.forward("Torch.topk.0.forward", [x], [tensor(2.0, scale=other), whole(7 if noise else 6)])
        row(made, "Torch.gather.0.forward", 3.0, whole(7 if noise else 6), other)
        return made

    assert reason(tmp_path, side(0, 1), side(1e-6, 1.3)) == ("discrete", "Torch.topk.0.forward")
    assert reason(tmp_path / "exact", side(0, 1), side(0, 1.3)) == ("outputs", "Torch.topk.0.forward")


def test_products_that_all_have_ten_bits(tmp_path):
    def side(apart: float, fault: float = 1.0) -> Made:
        made, x = Made(level="L0"), tensor(0.5)
        for number in range(5):
            scale = (1 + apart * (number + 1)) * (fault if number > 2 else 1)
            out = tensor(1.0 + number, scale=scale)
            made.forward(f"Module.layers.{number}.Linear.forward.0", [x], [out])
            x = out
        return made

    assert reason(tmp_path, side(0), side(3e-4)) == ("reduced", "Module.layers.0.Linear.forward.0")
    assert reason(tmp_path / "fault", side(0), side(3e-4, 1.5)) == ("outputs", "Module.layers.3.Linear.forward.0")


def test_md5_names_a_place_and_no_fault(tmp_path):
    def side(*sums: str) -> Made:
        made, x = Made(level="L0"), "00"
        for number, md5 in enumerate(sums):
            values = [
                {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4], "md5": each} for each in (x, md5)
            ]
            made.forward(f"Module.layers.{number}.Linear.forward.0", values[:1], values[1:])
            x = md5
        return made

    assert reason(tmp_path / "same", side("01", "02", "03"), side("01", "02", "03")) == ("equal", "")
    assert reason(tmp_path / "other", side("01", "02", "03"), side("01", "12", "13")) == (
        "md5",
        "Module.layers.1.Linear.forward.0",
    )


def test_weights_of_one_type_are_the_same_number(tmp_path):
    """Also in a half, whose rounding hides two hundredths of all that is computed."""
    found = told(tmp_path, net(dtype="bfloat16"), net({"blocks.1.up weight": 1.02}, dtype="bfloat16"))
    assert (found.verdict.reason, found.module) == ("weights", "blocks.1.up")


def test_nothing_is_said_of_what_stands_behind_a_draw(tmp_path):
    sides = []
    for drawn, fault in ((0.9, 1.0), (1.1, 2.0)):
        made, x = Made(level="L0"), tensor(1.0)
        out = tensor(1.0, scale=drawn)
        made.forward("Module.drop.Dropout.forward.0", [x], [out]).forward(
            "Module.a.Linear.forward.0", [out], [tensor(2.0, scale=drawn)]
        )
        sides.append(made.forward("Module.b.Linear.forward.0", [tensor(3.0)], [tensor(4.0, scale=fault)]))
    assert reason(tmp_path, *sides) == ("random", "Module.drop.Dropout.forward.0")


def test_what_is_drawn_hides_more_than_an_update_before_it(tmp_path):
    for side, drawn, weight in (("gpu", 0.9, 1.0), ("npu", 1.1, 1.3)):
        net().write(tmp_path / side / "step0" / "rank0")
        made, x = Made(level="L0"), tensor(1.0)
        out = tensor(1.0, scale=drawn)
        made.forward("Module.fc.Linear.forward.0", [x], [x], weight=tensor(5.0, scale=weight))
        made.forward("Module.drop.Dropout.forward.0", [x], [out])
        made.forward("Module.other.Noise.forward.0", [x], [tensor(4.0, scale=drawn)])
        made.write(tmp_path / side / "step1" / "rank0")
    found = compare(str(tmp_path / "gpu"), str(tmp_path / "npu")).result
    assert (found.verdict.reason, found.verdict.pair.one.text) == ("random", "Module.drop.Dropout.forward.0")


def test_gradients_without_what_came_in_are_not_judged(tmp_path):
    sides = [
        Made(level="L0")
        .forward("Module.a.Linear.forward.0", [tensor(1.0)], [tensor(2.0)])
        .gradients("Module.a.Linear.parameters_grad.0", weight=tensor(3.0, scale=scale))
        for scale in (1.0, 1.4)
    ]
    assert reason(tmp_path, *sides)[0] == "grown"


def test_another_shape(tmp_path):
    one, other = net(), net()
    other.data["Module.blocks.1.up.Linear.forward.0"]["output"] = [tensor(3.1, (4, 16))]
    assert reason(tmp_path, one, other) == ("shape", "Module.blocks.1.up.Linear.forward.0")


def test_names_that_do_not_align(tmp_path):
    one, other = net(), Made(level="L0")
    for number in range(6):
        other.forward(f"Module.other.{number}.Thing.forward.0", [tensor()], [tensor()])
    assert reason(tmp_path, one, other) == ("unaligned", "")


def test_a_dump_that_ends_early(tmp_path):
    one, other = net(), net()
    for name in [
        name for name in other.data if "head" in name or "backward" in name or "grad" in name or "blocks.1" in name
    ]:
        del other.data[name]
    assert reason(tmp_path, one, other) == ("ends", "Module.blocks.0.Block.forward.0")
    other = net({"embed": 40.0})
    for name in [name for name in other.data if "head" in name or "backward" in name or "grad" in name]:
        del other.data[name]
    assert reason(tmp_path / "fault", one, other) == ("outputs", "Module.embed.Embedding.forward.0")


def test_a_side_without_a_backward_pass_ends_early(tmp_path):
    one, other = net(), net()
    other.data = {name: row for name, row in other.data.items() if ".forward." in name}
    assert reason(tmp_path / "a", one, other) == ("ends", "Module.head.Linear.forward.0")
    assert reason(tmp_path / "b", other, net()) == ("ends", "Module.head.Linear.forward.0")
    assert reason(tmp_path / "c", other, other)[0] == "equal"
