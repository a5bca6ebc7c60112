"""What msProbe writes, of several versions and frameworks, and which folders belong together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dumps_world import STACK, Made, net, reason, tensor, told, whole

from porter.dumps.align import align
from porter.dumps.compared import compare
from porter.dumps.find import find
from porter.dumps.names import key, parsed, path_of
from porter.dumps.read import read
from porter.dumps.stack import is_library, stack


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Module.layers.0.fc.Linear.forward.1", ("Module", "layers.0.fc", "Linear", "forward", 1)),
        ("Cell.network.norm.RmsNorm.backward.0", ("Cell", "network.norm", "RmsNorm", "backward", 0)),
        ("Module.fc.Linear.parameters_grad.0", ("Module", "fc", "Linear", "parameters_grad", 0)),
        ("Module.fc.Linear.parameters_grad", ("Module", "fc", "Linear", "parameters_grad", 0)),
        ("Functional.linear.3.backward", ("Functional", "", "linear", "backward", 3)),
        ("Primitive.norm.RmsNorm.2.forward", ("Primitive", "", "RmsNorm", "forward", 2)),
        ("Distributed.all_reduce.0.forward", ("Distributed", "", "all_reduce", "forward", 0)),
    ],
)
def test_names(text, parts):
    assert parsed(text) == parts


def test_what_is_no_call():
    assert [parsed(text) for text in ("optimizer", "Module", "Functional.linear.forward", "a" * 9000)] == [None] * 4


def test_one_module_under_the_names_of_several_frameworks():
    names = (
        "0.module.decoder.layers.3.mlp.linear_fc2",
        "model.layers.3.mlp.down_proj",
        "model.layers.3.feed_forward.w2",
    )
    assert len({path_of(name) for name in names}) == 1


def test_frameworks_and_wrappers_align(tmp_path):
    """MindSpore has cells, its own types and no call of its own for a bias."""
    one, other = Made(level="L0"), Made("mindspore", "L0")
    for number, scale in ((0, 1.0), (1, 1.02)):
        into, out = tensor(1.0 + number), tensor(2.0 + number)
        one.forward(f"Module.module.layers.{number}.feed_forward.w1.Linear.forward.0", [into], [out])
        rows = [{**tensor(1.0 + number), "type": "mindspore.Tensor", "dtype": "Float32"}]
        rows += [{**tensor(2.0 + number, scale=scale), "type": "mindspore.Tensor", "dtype": "Float32"}]
        other.forward(f"Cell.model.layers.{number}.feed_forward.w1.Dense.forward.0", rows[:1], rows[1:])
    found = told(tmp_path, one, other)
    assert (found.verdict.reason, found.verdict.pair.other.text) == (
        "outputs",
        "Cell.model.layers.1.feed_forward.w1.Dense.forward.0",
    )
    assert found.aligned == (2, 2, 2)


def test_nested_values_and_arguments(tmp_path):
    made = Made(level="L1").forward(
        "Functional.f.0.forward",
        [tensor(1.0), [tensor(2.0), {"k": tensor(3.0)}], {"type": "int", "value": 3}, None],
        [[tensor(4.0)], {"last": tensor(5.0)}],
        kwargs={
            "eps": {"type": "float", "value": 1e-5},
            "mask": tensor(6.0),
            "dims": {"type": "slice", "value": [0, None]},
        },
    )
    call = read(str(made.write(tmp_path))).calls["Functional.f.0.forward"]
    assert list(call.inputs) == ["0", "1.0", "1.1.k", "kwargs.mask"] and list(call.outputs) == ["0.0", "1.last"]
    assert call.literals == {"2": "3", "eps": "1e-05", "dims": "[0, None]"}


def test_numbers_that_json_has_no_name_for(tmp_path):
    made = Made().forward("Functional.f.0.forward", [tensor(Max=float("nan"), Min="-inf", Mean=None, Norm=True)], [])
    value = read(str(made.write(tmp_path))).calls["Functional.f.0.forward"].inputs["0"]
    assert value.top != value.top and (value.bottom, value.mean, value.norm) == (float("-inf"), None, 1.0)


def test_parents_may_have_the_number_of_a_micro_batch(tmp_path):
    made = (
        Made()
        .forward("Module.a.Block.forward.0", [], [])
        .forward("Functional.f.0.forward", [], [], ["Module.a.Block.forward.0", 2])
    )
    assert read(str(made.write(tmp_path))).parents == {"Functional.f.0.forward": "Module.a.Block.forward.0"}


def test_stacks_of_both_versions(tmp_path):
    for number, rows in enumerate(({"0": [["a", "b"], STACK]}, {"a": STACK, "b": STACK[:2]})):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "stack.json").write_text(json.dumps(rows))
        assert stack(str(folder), "c") == ([], None)
        found, error = stack(str(folder), "b")
        assert error is None
        assert [(line.file, line.line, line.name) for line in found if not is_library(line)][0] == (
            "/data/repo/net.py",
            4,
            "forward",
        )
        assert found[1].source == "return self.fc(x).cuda()"


def test_folders(tmp_path):
    made = net()
    made.write(tmp_path / "gpu" / "step0" / "rank0")
    made.write(tmp_path / "gpu" / "step0" / "rank1")
    made.write(tmp_path / "gpu" / "PYNATIVE_MODE" / "step2" / "rank")
    steps = find(str(tmp_path / "gpu"))
    assert {step: list(ranks) for step, ranks in steps.items()} == {0: [0, 1], 2: [0]}
    assert find(str(tmp_path / "gpu" / "step0" / "rank1" / "dump.json")) == {
        0: {1: str(tmp_path / "gpu" / "step0" / "rank1")}
    }


def test_one_process_without_a_rank_is_the_other_sides(tmp_path):
    net().write(tmp_path / "gpu" / "step0" / "proc4711")
    net().write(tmp_path / "npu" / "step5" / "rank3")
    found = compare(str(tmp_path / "gpu"), str(tmp_path / "npu"))
    assert found.result.verdict.reason == "equal"


def test_the_first_step_and_rank_that_differ(tmp_path):
    for side in ("gpu", "npu"):
        for step in (0, 1):
            for rank in (0, 1, 2):
                faulty = side == "npu" and step == 1
                changed = {"head": 1.1} if rank == 1 else {"blocks.0.up": 1.1} if rank == 2 else {}
                net(changed if faulty else {}).write(tmp_path / side / f"step{step}" / f"rank{rank}")
    found = compare(str(tmp_path / "gpu"), str(tmp_path / "npu"))
    assert (found.result.step, found.result.rank, found.result.module, found.agreed) == (1, 2, "blocks.0.up", [0])


def test_another_update(tmp_path):
    names = ("embed", "blocks.0.up", "blocks.0.down", "blocks.1.up", "blocks.1.down", "head")
    for side, changed in (("gpu", {}), ("npu", {f"{name} weight": 1.05 for name in names})):
        net().write(tmp_path / side / "step0" / "rank0")
        net(changed).write(tmp_path / side / "step1" / "rank0")
    found = compare(str(tmp_path / "gpu"), str(tmp_path / "npu")).result
    assert (found.step, found.verdict.reason, found.verdict.outcome) == (1, "update", "difference")


def test_what_another_rank_began(tmp_path):
    """The sum over ranks differs in a rank whose own part agrees: the rank that made it is told, or that it is not there."""
    for side, scale in (("gpu", 1.0), ("npu", 1.3)):
        for rank in (0, 1):
            made = Made(level="L1")
            mine = tensor(1.0 + rank, scale=scale if rank else 1.0)
            made.forward("Functional.linear.0.forward", [tensor(0.5)], [mine])
            made.forward("Distributed.all_reduce.0.forward", [mine], [tensor(3.0, scale=scale)])
            made.write(tmp_path / side / "step0" / f"rank{rank}")
    found = compare(str(tmp_path / "gpu"), str(tmp_path / "npu")).result
    assert (found.rank, found.verdict.reason, found.verdict.pair.name) == (1, "outputs", "Functional.linear.0.forward")
    found = compare(str(tmp_path / "gpu" / "step0" / "rank0"), str(tmp_path / "npu" / "step0" / "rank0")).result
    assert (found.verdict.reason, found.verdict.outcome) == ("collective", "unsure")


@pytest.mark.parametrize("after", [True, False])
def test_operators_that_are_counted_otherwise_are_found_by_their_order(tmp_path, after):
    """An operator more on one side moves the numbers of all that follow, also beside one of its kind."""
    sides = []
    for more in (False, True):
        made, count = Made(level="L1"), 0
        for number in range(20):
            made.forward(f"Functional.linear.{number}.forward", [tensor(1.0 + number)], [tensor(2.0 + number)])
            rows = [(tensor(3.0 + number), tensor(4.0 + number))]
            if more and number == 7:
                rows.insert(after, (tensor(90.0), tensor(95.0)))
            for into, out in rows:
                made.forward(f"Tensor.mul.{count}.forward", [into], [out])
                count += 1
        sides.append(read(str(made.write(tmp_path / str(more)))))
    found = align(*sides)
    assert len(found.forward) == 40 and (found.missing, found.extra) == ([], [f"Tensor.mul.{7 + after}.forward"])
    assert reason(tmp_path / "again", *(_again(side) for side in sides))[0] == "equal"


def _again(dump) -> Made:
    made = Made(level="L1")
    made.data = json.loads(Path(dump.folder, "dump.json").read_text())["data"]
    return made


def test_levels_that_differ_are_compared_in_what_both_have(tmp_path):
    one, other = net(), net({"blocks.1.up": 1.1})
    other.forward("Functional.linear.0.forward", [tensor(1.0)], [tensor(2.0)])
    assert reason(tmp_path, one, other) == ("outputs", "Module.blocks.1.up.Linear.forward.0")


def test_a_key_tells_calls_of_one_module_apart(tmp_path):
    made = (
        Made().forward("Module.a.Linear.forward.0", [whole()], []).forward("Module.a.Linear.forward.1", [whole()], [])
    )
    calls = list(read(str(made.write(tmp_path))).calls.values())
    assert key(calls[0]) != key(calls[1])
