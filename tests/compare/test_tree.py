"""Every branch of the tree, each with a log that differs in one thing."""

from __future__ import annotations

import math
import random

import pytest
from compare_world import NAMES, curve, judged, keys, records, written

from porter.compare.pair import Pair
from porter.compare.read import read
from porter.compare.tree import judge

LOSSES = curve()


def told(verdict):
    return verdict.outcome, verdict.stage, verdict.reason


def rounded(by: float = 1e-7, seed: int = 1) -> list[float]:
    chance = random.Random(seed)
    return [loss * (1 + by * chance.uniform(-1, 1)) for loss in LOSSES]


def test_the_same_run(tmp_path):
    assert told(judged(tmp_path, records(), records())) == ("none", "", "near")


def test_rounding_is_no_fault(tmp_path):
    """It grows, as it does in every training."""
    chance = random.Random(2)
    grown = [loss * (1 + 1e-7 * 1.2**n * chance.uniform(-1, 1)) for n, loss in enumerate(LOSSES)]
    assert told(judged(tmp_path, records(), records(grown))) == ("none", "", "near")


def test_weights_of_one_layer(tmp_path):
    verdict = judged(tmp_path, records(), records(rounded(1e-2), weights={NAMES[1]: {"norm": 2.6}}))
    assert told(verdict) == ("difference", "weights", "weights")
    assert verdict.evidence[0].values["names"] == NAMES[1]


@pytest.mark.parametrize(("change", "key"), [({"shape": [2, 8]}, "weights.shapes"), ({"norm": 9.0}, "weights.norms")])
def test_weights_are_named(tmp_path, change, key):
    assert key in keys(judged(tmp_path, records(), records(weights={NAMES[3]: change})))


@pytest.mark.parametrize(("mark", "stage"), [(-0.3, "weights"), (0.3000001, "")])
def test_weights_in_another_order(tmp_path, mark, stage):
    one, other = (records(weights={NAMES[1]: {"mark": value}}) for value in (0.3, mark))
    verdict = judged(tmp_path, one, other)
    assert verdict.stage == stage and ("weights.turned" in keys(verdict)) == bool(stage)


def test_weights_that_are_missing(tmp_path):
    made = records()
    del made[1]["parameters"][NAMES[2]]
    assert keys(judged(tmp_path, records(), made))[0] == "weights.missing"


def test_wrappers_are_no_difference(tmp_path):
    made = records()
    made[1]["parameters"] = {f"module.{name}": about for name, about in made[1]["parameters"].items()}
    assert judged(tmp_path, records(), made).outcome == "none"


def everywhere(factor: float) -> dict:
    return {name: {"norm": (1.5 + n) * factor} for n, name in enumerate(NAMES)}


@pytest.mark.parametrize("seeds", [(1, 2), (None, None)])
def test_another_seed_is_not_comparable(tmp_path, seeds):
    one = records(header={"seed": seeds[0]})
    other = records(rounded(0.3), header={"seed": seeds[1]}, weights=everywhere(1.01), data="other")
    assert told(judged(tmp_path, one, other)) == ("unsure", "", "seed")


@pytest.mark.parametrize("option", [["--seed", "{}"], ["--random-seed={}"], ["train.seed={}"]])
def test_another_seed_of_the_command_line_is_not_comparable(tmp_path, option):
    """The data are in another order, and so many weights differ as the program draws itself: the rest is loaded."""
    one, other = ([word.format(number) for word in option] for number in (600, 601))
    given = records(header={"seed": None, "arguments": ["--lr", "3", *one]})
    other = records(rounded(0.3), header={"seed": None, "arguments": other}, weights=everywhere(1.01))
    assert told(judged(tmp_path, given, other)) == ("unsure", "", "seed")
    other[0]["arguments"] = given[0]["arguments"]
    assert told(judged(tmp_path, given, other)) == ("difference", "weights", "weights")


def test_another_seed_that_draws_the_data_alone(tmp_path):
    other = records(rounded(0.1), header={"seed": 2}, data="other")
    assert told(judged(tmp_path, records(), other)) == ("unsure", "", "seed")


def test_all_weights_differ_under_one_seed(tmp_path):
    """A checkpoint that was not loaded."""
    verdict = judged(tmp_path, records(), records(rounded(0.3), weights=everywhere(1.01)))
    assert told(verdict) == ("difference", "weights", "weights")


@pytest.mark.parametrize("step", [1, 4, 10])
def test_gradients_that_reach_the_optimiser_otherwise(tmp_path, step):
    """Adam hardly asks for their length, and the losses do not part."""
    updates = [1.0] * 10
    other = records(updates=updates[: step - 1] + [0.002] * (11 - step))
    verdict = judged(tmp_path, records(updates=updates), other)
    assert told(verdict) == ("difference", "optimiser", "update")
    assert keys(verdict)[0] == "update" and verdict.evidence[0].values["step"] == step
    assert verdict.evidence[0].values["before"].startswith("2.0")


def test_gradients_that_reach_the_optimiser_alike(tmp_path):
    one, other = [1.0] * 10, [1 + 1e-5 * 1.4**n for n in range(10)]
    assert judged(tmp_path, records(updates=one), records(rounded(), updates=other)).outcome == "none"


def test_an_optimiser_that_unscales_itself(tmp_path):
    scale = [1024.0] * 40
    one, other = records(updates=[1.0], loss_scale=scale), records(updates=[1024.0], loss_scale=scale)
    assert judged(tmp_path, one, other).outcome == "none"


def test_optimisers_that_move_other_parts_of_the_weights(tmp_path):
    other = records(updates=[0.5])
    next(record for record in other if record["kind"] == "update")["values"] = 32
    assert judged(tmp_path, records(updates=[1.0]), other).outcome == "none"


@pytest.mark.parametrize(("norm", "stage"), [(4.0, ""), (0.04, "optimiser")])
def test_two_optimisers_of_one_step(tmp_path, norm, stage):
    runs = []
    for of_second in (4.0, norm):
        made = records(updates=[3.0])
        at = next(n for n, record in enumerate(made) if record["kind"] == "update")
        made[at:at] = [{**made[at], "optimizer": 1, "grad_norm": of_second}] * 2  # and a line that is there twice
        runs.append(made)
    assert judged(tmp_path, *runs).stage == stage


def test_gradients_that_part_before_they_are_clipped(tmp_path):
    norms = [2.0, *([9.0] * 39)]
    other = records(rounded(1e-2), updates=[1.0, 0.002], grad_norm=norms)
    assert "update" not in keys(judged(tmp_path, records(updates=[1.0, 1.0]), other))


def test_gradients_that_reach_the_optimiser_otherwise_once_the_losses_have_parted(tmp_path):
    losses = [loss * (1.1 if n > 1 else 1) for n, loss in enumerate(LOSSES)]
    other = records(losses, updates=[1.0] * 4 + [0.5] * 6)
    assert judged(tmp_path, records(updates=[1.0] * 10), other).reason != "update"


def test_data(tmp_path):
    verdict = judged(tmp_path, records(), records(rounded(0.1), data="other"))
    assert told(verdict) == ("difference", "data", "data") and verdict.values["step"] == 1


def test_data_that_are_recorded_before_what_the_run_is(tmp_path):
    """As of a program that accumulates: its first pass comes before its first step."""
    runs = []
    for data in ("d", "other"):
        made = records(LOSSES if data == "d" else rounded(0.1), data=data, header={"rank": 1, "ranks": 2}, rank=1)
        at = next(n for n, record in enumerate(made) if record["kind"] == "batch")
        runs.append([made.pop(at), *made])
    verdict = judged(tmp_path, *runs)
    assert told(verdict) == ("difference", "data", "data") and verdict.values["step"] == 1
    run = read(str(tmp_path / "0.jsonl"))
    assert [*run.ranks] == [1] and "again" not in [key for key, _ in run.notes]


@pytest.mark.parametrize(("missing", "parts", "reason"), [(1, 1, "start"), (3, 5, "unhashed")])
def test_a_batch_that_is_not_recorded_may_be_at_fault(tmp_path, missing, parts, reason):
    losses = [loss * (1.1 if n + 1 >= parts else 1) for n, loss in enumerate(LOSSES)]
    kept = [record for record in records(losses) if record["kind"] != "batch" or record["step"] != missing]
    verdict = judged(tmp_path, records(), kept)
    assert told(verdict) == ("unsure", "", reason) and "data" in verdict.suspects


def test_a_log_of_two_runs_at_once(tmp_path):
    """Two processes that write into one file: neither batches nor losses are those of one run."""
    one, other = records(), records(rounded(0.1), data="other")
    both = one[:4] + [record for pair in zip(one[4:], other[4:]) for record in pair]
    verdict = judged(tmp_path, one, both)
    assert told(verdict) == ("unsure", "", "mixed")
    assert "mixed" in [key for key, _ in read(str(tmp_path / "1.jsonl")).notes]


def test_a_run_that_was_begun_again_before_its_first_step(tmp_path):
    judged(tmp_path, records(), records()[:4] + records())
    assert "again" in [key for key, _ in read(str(tmp_path / "1.jsonl")).notes]


def test_a_line_that_is_there_twice_is_no_other_run(tmp_path):
    twice = [record for record in records(updates=[1.0] * 10) for _ in range(2)]
    assert told(judged(tmp_path, records(updates=[1.0] * 10), twice)) == ("none", "", "near")


@pytest.mark.parametrize("factor", [1.005, 1.05])
def test_logs_that_begin_after_the_fault(tmp_path, factor):
    """What the first steps were, nothing shows: any stage may be at fault."""
    losses = [loss * factor * 1.001**n for n, loss in enumerate(LOSSES)]
    runs = [[r for r in made if r.get("step", 99) > 7] for made in (records(), records(losses))]
    verdict = judged(tmp_path, *runs)
    assert told(verdict) == ("unsure", "", "begins-late") and verdict.values["step"] == 8
    assert "forward" in verdict.suspects


def test_norms_that_fall_slowly_are_not_clipped(tmp_path):
    norms = [0.474 - 1e-5 * n if 5 <= n < 10 else 0.4 for n in range(40)]
    other = [norm * (1.002 if norm > 0.4 else 1) for norm in norms]
    header = {"device": "npu"}
    verdict = judged(tmp_path, records(grad_norm=norms), records(rounded(1e-5), grad_norm=other, header=header))
    assert told(verdict) == ("none", "", "near")


def test_a_seed_that_is_no_number(tmp_path):
    dropped = {"dropout": {"drop": 0.1}}
    runs = [records(made, header={"seed": {"a": 1}}, modules=dropped) for made in (LOSSES, rounded(0.1))]
    assert judged(tmp_path, *runs).outcome != "none"


def test_data_of_one_rank(tmp_path):
    for run, marks in (("a", ("d", "d")), ("b", ("d", "other"))):
        for rank, data in enumerate(marks):
            written(tmp_path / run / f"log.rank{rank}.jsonl", records(rank=rank, data=data, header={"ranks": 2}))
    verdict = judge(Pair(read(str(tmp_path / "a")), read(str(tmp_path / "b"))))
    assert told(verdict)[:2] == ("difference", "data")
    assert verdict.evidence[0].key == "data.differ.ranks" and verdict.evidence[0].values["ranks"] == "1"


def test_ranks_that_read_the_same(tmp_path):
    for run in "ab":
        for rank in (0, 1):
            made = records(rank=rank, header={"ranks": 2})
            for record in made:
                if record["kind"] == "batch" and run == "b":
                    record["inputs"][0]["hash"] = f"{record['step']:016x}"
                elif record["kind"] == "batch" and not rank:
                    record["inputs"][0]["hash"] = f"{record['step']:016x}"
            written(tmp_path / run / f"log.rank{rank}.jsonl", made)
    assert "data.same" in keys(judge(Pair(read(str(tmp_path / "a")), read(str(tmp_path / "b")))))


def test_data_in_another_order(tmp_path):
    one, other = records(), records(rounded(0.1))
    marks = [r["inputs"] for r in other if r["kind"] == "batch"]
    for record, inputs in zip((r for r in other if r["kind"] == "batch"), [*marks[5:], *marks[:5]]):
        record["inputs"] = inputs
    assert "data.order" in keys(judged(tmp_path, one, other))


@pytest.mark.parametrize("third", [0.25, -2e-4])  # a batch around zero has a mean that is nearly nothing
def test_the_last_bits_of_an_input_are_no_other_data(tmp_path, third):
    one, other = records(), records(data="other")
    for made in (one, other):
        for record in made:
            if record["kind"] == "batch":
                mean = third if record["step"] == 3 else 0.25
                record["inputs"][0] |= {"dtype": "float32", "mean": mean + (made is other) * 2e-9}
    verdict = judged(tmp_path, one, other)
    assert verdict.outcome == "none" and "data.rounded" in keys(verdict)


@pytest.mark.parametrize("odd", [float("inf"), 1e9])
def test_one_strange_batch_of_the_candidate_does_not_make_all_others_alike(tmp_path, odd):
    one, other = records(), records(data="other")
    for made in (one, other):
        for record in made:
            if record["kind"] == "batch":
                mean = odd if made is other and record["step"] == 5 else 0.25 + (made is other) * 0.01
                record["inputs"][0] |= {"dtype": "float32", "mean": mean}
    assert judged(tmp_path, one, other).stage == "data"


def test_data_that_part_after_the_losses_are_not_the_cause(tmp_path):
    one, other = records(), records([LOSSES[0] * 1.01, *LOSSES[1:]])
    for record in other:
        if record["kind"] == "batch" and record["step"] > 20:
            record["inputs"][0]["hash"] = "0" * 16
    assert judged(tmp_path, one, other).stage == "forward"


@pytest.mark.parametrize("modules", [{"dropout": {"drop": 0.1}}, {"training": False}])
def test_dropout_and_the_mode(tmp_path, modules):
    verdict = judged(tmp_path, records(), records(rounded(1e-2), modules=modules))
    assert told(verdict) == ("difference", "randomness", "randomness")


@pytest.mark.parametrize("broken", [{"dropout": None}, {"dropout": "0.1"}, {"training": "yes"}, {"training": None}])
def test_a_record_of_modules_that_says_nothing_is_no_difference(tmp_path, broken):
    assert (
        judged(
            tmp_path, records(), [*records(), {"kind": "modules", "training": True, "dropout": {}, **broken}]
        ).outcome
        == "none"
    )


def test_dropout_that_hardly_shows(tmp_path):
    """A small net with little dropout stays within what two devices may differ by."""
    one = records(header={"device": "cuda"})
    other = records(rounded(1e-3), modules={"dropout": {"drop": 0.1}}, header={"device": "npu"}, norms={NAMES[0]: 0.13})
    assert judged(tmp_path, one, other).stage == "randomness"


def test_dropout_on_both_devices_tells_nothing(tmp_path):
    modules = {"dropout": {"drop": 0.1}}
    one = records(modules=modules, header={"device": "cuda"})
    other = records(rounded(0.1), modules=modules, header={"device": "npu"})
    assert told(judged(tmp_path, one, other)) == ("unsure", "", "dropout")


def test_forward(tmp_path):
    verdict = judged(tmp_path, records(), records(rounded(1e-3)))
    assert told(verdict) == ("difference", "forward", "forward")
    assert keys(verdict)[0] == "loss" and verdict.evidence[0].values["step"] == 1


def test_another_precision(tmp_path):
    halves = {name: {"dtype": "bfloat16"} for name in NAMES}
    assert told(judged(tmp_path, records(), records(weights=halves)))[1:] == ("forward", "precision")
    one, other = ({"autocast": kind} for kind in (None, "bfloat16"))
    assert judged(tmp_path, records(modules=one), records(modules=other)).stage == "forward"


@pytest.mark.parametrize(
    ("kind", "by", "stage"),
    [("float32", 1e-3, ""), ("float32", 2e-2, "forward"), ("bfloat16", 3e-3, ""), ("bfloat16", 2e-2, "forward")],
)
def test_two_devices_round_apart(tmp_path, kind, by, stage):
    """Without a word of autocast, a loss may be as far off as in bfloat16."""
    weights = {name: {"dtype": kind} for name in NAMES}
    losses = [loss * (1 + by) for loss in LOSSES[:1]] + LOSSES[1:]
    one, other = (
        records(made, weights=weights, header={"device": device})
        for made, device in ((LOSSES, "cuda"), (losses, "npu"))
    )
    assert judged(tmp_path, one, other).stage == stage


def test_a_rank_alone(tmp_path):
    for run in "ab":
        for rank in (0, 1):
            losses = rounded(1e-2) if run == "b" and rank else LOSSES
            written(tmp_path / run / f"log.rank{rank}.jsonl", records(losses, rank=rank, header={"ranks": 2}))
    verdict = judge(Pair(read(str(tmp_path / "a")), read(str(tmp_path / "b"))))
    assert verdict.stage == "forward" and "loss.ranks" in keys(verdict)


def test_other_numbers_of_ranks(tmp_path):
    verdict = judged(tmp_path, records(header={"ranks": 8}), records(rounded(0.1), header={"ranks": 4}, data="other"))
    assert told(verdict) == ("unsure", "", "ranks")


def test_backward_names_the_parameters(tmp_path):
    """Those before the wrong module, and of them the one nearest to the loss."""
    norms = {NAMES[0]: 0.13, NAMES[1]: 0.26}
    verdict = judged(tmp_path, records(), records([LOSSES[0], *rounded(1e-2)[1:]], norms=norms))
    assert told(verdict) == ("difference", "backward", "backward")
    assert verdict.evidence[0].values["n"] == 2
    assert [f.values["name"] for f in verdict.evidence if f.key == "norms.last"] == [NAMES[1]]


@pytest.mark.parametrize(
    ("loss", "apart", "stage"), [(2.5e-5, 1.4e-3, ""), (2e-6, 1.4e-3, "backward"), (2.5e-5, 0.04, "backward")]
)
def test_gradients_a_little_apart_where_no_log_names_the_precision(tmp_path, loss, apart, stage):
    """As a GPU and a run in bfloat16 are; the last is a backward pass that is wrong, beside a loss that is rounded."""
    norms = {name: 0.1 * (n + 1) * (1 + apart * (n == 2)) for n, name in enumerate(NAMES)}
    losses = [LOSSES[0] * (1 + loss), *rounded(1e-2)[1:]]
    other = records(losses, header={"device": "npu"}, norms=norms)
    verdict = judged(tmp_path, records(header={"device": "cuda"}), other)
    assert (verdict.stage, verdict.reason) == ((stage, "backward") if stage else ("", "rounded"))


@pytest.mark.parametrize(("mark", "stage"), [(-0.05, "backward"), (0.0499999, "")])
def test_gradients_of_one_norm_with_other_signs(tmp_path, mark, stage):
    moved = [LOSSES[0], *(rounded(1e-2)[1:] if stage else LOSSES[1:])]
    verdict = judged(tmp_path, records(marks={}), records(moved, marks={NAMES[1]: mark}))
    assert verdict.stage == stage
    assert ("norms.turned" in keys(verdict)) == bool(stage)
    assert [f.values["name"] for f in verdict.evidence if f.key == "norms.last"] == ([NAMES[1]] if stage else [])


def test_backward_by_the_norm_of_the_whole(tmp_path):
    norms = [2.5, *[None] * 39]
    verdict = judged(tmp_path, records(without=("norms",)), records(without=("norms",), grad_norm=norms))
    assert verdict.stage == "backward" and "norms.asked" in keys(verdict)


def test_a_gradient_of_nothing_but_rounding(tmp_path):
    """A bias in front of a norm has none."""
    one, other = ({NAMES[2]: norm} for norm in (1e-9, 3e-9))
    assert judged(tmp_path, records(norms=one), records(norms=other)).outcome == "none"


@pytest.mark.parametrize("factor", [1024.0, 0.5])
def test_a_loss_that_is_scaled_before_it_is_told(tmp_path, factor):
    norms = {name: 0.1 * (n + 1) * factor for n, name in enumerate(NAMES)}
    other = records([loss * factor for loss in LOSSES], norms=norms)
    verdict = judged(tmp_path, records(), other)
    assert told(verdict) == ("difference", "scaling", "loss-scaled") and "factor.loss" in keys(verdict)
    assert judged(tmp_path, records(), records([loss * factor for loss in LOSSES])).stage == "forward"


@pytest.mark.parametrize(
    ("factor", "key", "series"),
    [(1024, "factor.scale", {"loss_scale": [1024.0] * 40}), (3, "factor.whole", {}), (0.77, None, {})],
)
def test_one_factor(tmp_path, factor, key, series):
    norms = {name: 0.1 * (n + 1) * factor for n, name in enumerate(NAMES)}
    verdict = judged(tmp_path, records(), records(norms=norms, grad_norm=[2.05 * factor] * 40, **series))
    assert told(verdict) == ("difference", "scaling", "scaling")
    assert key is None or key in keys(verdict)


def test_clipping_in_one_run(tmp_path):
    free = [1.5 + n % 7 / 5 for n in range(40)]
    clipped = [min(norm, 2.0) for norm in free]
    other = [*LOSSES[:5], *rounded(1e-2)[5:]]
    verdict = judged(tmp_path, records(grad_norm=clipped), records(other, grad_norm=free))
    assert verdict.stage == "scaling" and "factor.unclipped" in keys(verdict)


def test_learning_rates(tmp_path):
    one, other = ([0.001 * min(1, step / warm) for step in range(1, 41)] for warm in (10, 20))
    verdict = judged(tmp_path, records(lr=one), records([LOSSES[0], *rounded(1e-2)[1:]], lr=other))
    assert told(verdict) == ("difference", "schedule", "schedule")
    late = [0.0, *one[:-1]]
    assert "rate.lag" in keys(judged(tmp_path, records(lr=one), records(lr=late)))


@pytest.mark.parametrize("setting", [{"betas": [0.9, 0.95]}, {"weight_decay": 0.1}, {"eps": 1e-6}, {"parameters": 3}])
def test_settings_of_the_optimiser(tmp_path, setting):
    verdict = judged(tmp_path, records(), records([LOSSES[0], *rounded(1e-3)[1:]], optimiser=setting))
    assert told(verdict) == ("difference", "optimiser", "optimiser")
    assert verdict.evidence[0].values["name"] in setting


def test_how_an_optimiser_is_computed_is_no_difference(tmp_path):
    other = records(optimiser={"fused": True}, name="NpuFusedAdamW")
    assert judged(tmp_path, records(optimiser={"fused": None}), other).outcome == "none"


def test_another_optimiser(tmp_path):
    assert "optimiser.name" in keys(judged(tmp_path, records(), records(name="SGD")))


def test_settings_are_told_where_the_forward_pass_is_at_fault(tmp_path):
    """They have no part in the first loss."""
    verdict = judged(tmp_path, records(), records(rounded(1e-2), optimiser={"weight_decay": 0.1}))
    assert verdict.stage == "forward" and "optimiser.setting" in keys(verdict)


def test_the_second_step(tmp_path):
    verdict = judged(tmp_path, records(), records([LOSSES[0], *rounded(1e-2)[1:]]))
    assert told(verdict) == ("difference", "optimiser", "optimiser") and "norms.agree" in keys(verdict)


def test_the_second_step_without_norms(tmp_path):
    bare = [None] * 40
    one, other = records(without=("norms",)), records([LOSSES[0], *rounded(1e-2)[1:]], without=("norms",))
    for made in (one, other):
        for record in made:
            record.pop("grad_norm", None)
    verdict = judged(tmp_path, one, other)
    assert bare and told(verdict) == ("unsure", "", "between") and verdict.suspects == ("backward", "optimiser")


def test_batches_that_were_not_recorded_so_far(tmp_path):
    other = [*LOSSES[:6], *rounded(0.05)[6:]]
    assert told(judged(tmp_path, records(batches=3), records(other, batches=3))) == ("unsure", "", "unhashed")


@pytest.mark.parametrize("kind", ["loss", "norm"])
def test_a_learning_rate_of_zero_leaves_out_the_optimiser(tmp_path, kind):
    losses = [*LOSSES[:4], LOSSES[4] * 1.1, *LOSSES[5:]] if kind == "loss" else LOSSES
    norms = [None] * 4 + [7.0] + [None] * 35 if kind == "norm" else [None] * 40
    verdict = judged(tmp_path, records(lr=[0.0] * 40), records(losses, lr=[0.0] * 40, grad_norm=norms))
    assert told(verdict)[1:] == ("forward" if kind == "loss" else "backward", "still")


def test_numbers_that_are_none(tmp_path):
    other = [*LOSSES[:25], *["nan"] * 15]
    verdict = judged(tmp_path, records(), records(other))
    assert told(verdict) == ("difference", "overflow", "overflow") and verdict.values["step"] == 26
    assert told(judged(tmp_path, records(other), records()))[2] == "baseline-bad"
    assert told(judged(tmp_path, records(other), records(other)))[2] == "both-bad"


def test_a_loss_that_does_not_move(tmp_path):
    text = [("a", LOSSES), ("b", [LOSSES[0]] * 40)]
    names = [str(tmp_path / name) for name, _ in text]
    for name, losses in text:
        (tmp_path / name).write_text("".join(f"step {10 * n} loss {loss:.6f}\n" for n, loss in enumerate(losses, 5)))
    verdict = judge(Pair(*map(read, names)))
    assert told(verdict) == ("difference", "", "flat") and verdict.suspects == ("backward", "optimiser")


# ---- long runs: the first steps agree, and no stage can be named

LONG = curve(400)


def long(shape) -> list[float]:
    return [loss * (1 + shape(n)) for n, loss in enumerate(LONG)]


@pytest.mark.parametrize(
    ("pattern", "shape"),
    [
        ("late-gap", lambda n: 0.1 * max(0, n - 250) / 150),
        ("drift", lambda n: 0.05 * max(0, n - 12) / 400),
        ("spikes", lambda n: 4.0 if n in (120, 260) else 0.0),
    ],
)
def test_patterns(tmp_path, pattern, shape):
    verdict = judged(tmp_path, records(LONG), records(long(shape)))
    assert told(verdict)[:2] == ("difference", "long-run") and verdict.pattern == pattern


def noisy(by: float, seed: int) -> list[float]:
    chance = random.Random(seed)
    return long(lambda n: by * chance.uniform(-1, 1) * min(1, max(0, n - 12) / 50))


@pytest.mark.slow
def test_the_noise_of_the_baseline(tmp_path):
    """3 % of noise in both is none; half of it above is one."""
    verdict = judged(tmp_path, records(LONG), records(noisy(0.08, 1)), records(noisy(0.08, 2)))
    assert told(verdict) == ("none", "", "noise")
    assert told(judged(tmp_path, records(LONG), records(noisy(0.08, 1))))[0] != "none"
    gap = judged(tmp_path, records(LONG), records(long(lambda n: 0.4 * max(0, n - 250) / 150)), records(noisy(0.08, 2)))
    assert gap.stage == "long-run"


def test_a_baseline_that_repeats_itself(tmp_path):
    verdict = judged(tmp_path, records(LONG), records(long(lambda n: 1e-4 * math.sin(n) * (n > 12))), records(LONG))
    assert told(verdict) == ("none", "", "near") and "band.exact" in keys(verdict)


def test_below_a_hundredth_and_yet_outside_of_the_noise(tmp_path):
    other = long(lambda n: 0.008 * (n > 12) * min(1, n / 100))
    verdict = judged(tmp_path, records(LONG), records(other), records(noisy(1e-5, 2)))
    assert told(verdict) == ("unsure", "", "small")


def test_a_scale_that_falls(tmp_path):
    scales = [65536.0] * 400
    other = records(
        long(lambda n: 0.1 * max(0, n - 100) / 300), loss_scale=[65536.0 / 2 ** (n // 50) for n in range(400)]
    )
    verdict = judged(tmp_path, records(LONG, loss_scale=scales), other)
    assert told(verdict) == ("difference", "overflow", "overflow") and "scale.falls" in keys(verdict)


def test_throughput_is_no_part_of_the_verdict(tmp_path):
    one, other = ([value] * 40 for value in (310.0, 120.0))
    assert judged(tmp_path, records(samples_per_second=one), records(samples_per_second=other)).outcome == "none"


def test_rounding_that_has_grown(tmp_path):
    """To any size, in a training that is not stable; what is added at each step grows in another way."""
    chance = random.Random(4)
    grown = [loss * (1 + min(0.2, 1e-7 * 1.4**n) * chance.uniform(0.5, 1)) for n, loss in enumerate(curve(60))]
    assert told(judged(tmp_path, records(curve(60)), records(grown))) == ("unsure", "", "grown")
    added = [loss * (1 + 4e-6 * n**2.5 * chance.uniform(0.9, 1.1)) for n, loss in enumerate(curve(60))]
    assert judged(tmp_path, records(curve(60)), records(added)).outcome == "difference"
