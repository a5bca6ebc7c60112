"""Every format, with numbers of our own: which steps, which losses, and what else it says. And how two runs are laid side by side."""

from __future__ import annotations

import gzip
import json
import sys

import pytest
from compare_world import curve, keys, records, written

from porter.compare.pair import Pair
from porter.compare.read import read
from porter.compare.series import FIRST, Series
from porter.compare.tree import judge
from porter.errors import UserError

LOSSES = (2.5, 2.25, 2.125, 1.75)
STEPS = (10, 20, 30, 40)


def lines(shape: str, steps=STEPS) -> str:
    return "".join(shape.format(s=s, loss=loss, e=s / 1000, t=s % 20) + "\n" for s, loss in zip(steps, LOSSES))


TEXTS = {
    "megatron": (
        lines(
            " iteration {s:8d}/     500 | consumed samples: 80 | elapsed time per iteration (ms): 1250.0 | learning rate: 1.500E-04 |"
            " global batch size: 8 | lm loss: {loss:.6E} | loss scale: 65536.0 | grad norm: 3.456 | number of skipped iterations: 0 |"
        ),
        {"lr": 1.5e-4, "grad_norm": 3.456, "scale": 65536.0, "seconds": 1.25},
    ),
    "deepspeed": (
        lines("[2025-01-02 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step={s}, skipped=0, lr=[1.5e-05], mom=[(0.9, 0.95)]\nsteps: {s} loss: {loss} iter time (s): 0.5 samples/sec: 16.0"),
        {"lr": 1.5e-5, "speed": 16.0},
    ),
    "meters": (lines("Epoch: [0]  [ {s}/500]  eta: 0:10:00  lr: 0.125  img/s: 250.5  loss: {loss} (9.9)  acc1: 3.1 (2.0)"), {"lr": 0.125, "speed": 250.5}),
    "mmengine": (lines("2025/01/02 10:00:00 - mmengine - INFO - Epoch(train)  [1][{s:4d}/500]  lr: 1.0000e-02  eta: 1:00:00  time: 0.3500  data_time: 0.0100  memory: 900  grad_norm: 2.5  loss: {loss}  loss_cls: 0.5"), {"lr": 0.01, "seconds": 0.35, "grad_norm": 2.5}),
    "detectron2": (lines("[01/02 10:00:00 d2.utils.events]:  eta: 0:10:00  iter: {s}  total_loss: {loss}  loss_cls: 0.9  loss_box_reg: 0.4  time: 0.3500  data_time: 0.0100  lr: 1e-05  max_mem: 2000M"), {"lr": 1e-5, "seconds": 0.35}),
    "mindformers": (lines("2025-01-02 10:00:00,123 - mindformers[mindformers/core/callback/callback.py:316] - INFO - {{ Epoch:[  1/  2], step:[ {s}/  500], loss: {loss}, per_step_time: 1752ms, lr: 1e-05, overflow cond: False, loss_scale: 65536.0, global_norm: [3.5]"), {"lr": 1e-5, "grad_norm": 3.5, "scale": 65536.0, "seconds": 1.752}),
    "text": (lines("step {s}: loss: {loss}"), {}),
}  # fmt: skip


def told(path, run=None):
    run = run or read(str(path))
    loss = run.first.loss
    return run.format, list(loss.steps), list(loss.values)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text(tmp_path, kind):
    text, others = TEXTS[kind]
    (tmp_path / "log").write_text("Downloading...\n" + text + "validation loss: 3.5\n")
    assert told(tmp_path / "log") == (kind, list(STEPS), list(LOSSES))
    series = read(str(tmp_path / "log")).first.series
    assert {name: series[name].values[0] for name in others} == pytest.approx(others)


JSON = {
    "llamafactory": '{{"current_steps": {s}, "total_steps": 500, "loss": {loss}, "lr": 1e-05, "epoch": {e}, "percentage": 2.0, "elapsed_time": "0:00:10"}}',
    "mmengine scalars": '{{"lr": 1e-05, "data_time": 0.01, "loss": {loss}, "time": 0.35, "epoch": 1, "iter": {s}, "memory": 900, "step": {s}}}',
    "detectron2 metrics": '{{"data_time": 0.01, "iteration": {s}, "lr": 1e-05, "time": 0.35, "total_loss": {loss}, "loss_cls": 0.5}}',
    "mmcv": '{{"mode": "train", "epoch": 1, "iter": {s}, "lr": 1e-05, "loss": {loss}}}',
}


@pytest.mark.parametrize("kind", JSON)
def test_lines_of_json(tmp_path, kind):
    text = lines(JSON[kind]) + '{"mode": "val", "epoch": 1, "iter": 5, "loss": 9.0}\n{"eval_loss": 3.0, "step": 40}\n'
    (tmp_path / "log.json").write_text(text)
    assert told(tmp_path / "log.json") == (
        "llamafactory" if kind == "llamafactory" else "json lines",
        list(STEPS),
        list(LOSSES),
    )
    assert read(str(tmp_path / "log.json")).first.series["lr"].values[0] == 1e-5


def test_trainer_state(tmp_path):
    history = [
        {"epoch": s / 1000, "loss": loss, "grad_norm": 0.5, "learning_rate": 1e-5, "step": s}
        for s, loss in zip(STEPS, LOSSES)
    ]
    document = {
        "best_metric": None,
        "epoch": 0.04,
        "global_step": 40,
        "log_history": [*history, {"eval_loss": 9.0, "step": 40}],
    }
    (tmp_path / "trainer_state.json").write_text(json.dumps(document, indent=2))
    run = read(str(tmp_path / "trainer_state.json"))
    assert told("", run) == ("trainer_state", list(STEPS), list(LOSSES)) and run.averages


def test_the_trainer_prints_no_steps(tmp_path):
    text = lines("{{'loss': {loss}, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': {e}}}")
    (tmp_path / "log").write_text(
        "  2%|2    | 10/500 [00:10<08:10,  1.00s/it]\r" + text + "{'eval_loss': 9.0, 'epoch': 0.04}\n"
    )
    run = read(str(tmp_path / "log"))
    assert told("", run) == ("trainer", [1, 2, 3, 4], list(LOSSES)) and run.ordered


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("epoch,step,train_loss,val_loss,lr-AdamW", "0,{s},{loss},,1e-05"),
        ("step,loss,learning_rate", "{s},{loss},1e-05"),
        ("Iteration,lm loss,lr", "{s},{loss},1e-05"),
        (",step,loss", "7,{s},{loss}"),  # pandas writes the index without a name
    ],
)
def test_tables(tmp_path, head, row):
    (tmp_path / "metrics.csv").write_text(f"{head}\n{lines(row)}" + ("0,41,,3.5,\n" if "val" in head else ""))
    assert told(tmp_path / "metrics.csv") == ("csv", list(STEPS), list(LOSSES))
    (tmp_path / "log").write_text((tmp_path / "metrics.csv").read_text())
    assert told(tmp_path / "log")[1:] == (list(STEPS), list(LOSSES))


def test_two_lines_of_prose_are_no_table(tmp_path):
    (tmp_path / "log").write_text("training, started\nloss one, a word\n" + TEXTS["megatron"][0])
    assert told(tmp_path / "log") == ("megatron", list(STEPS), list(LOSSES))


def test_a_table_of_epochs(tmp_path):
    (tmp_path / "summary.csv").write_text(
        "epoch,train_loss,eval_loss\n" + "".join(f"{n},{loss},9.0\n" for n, loss in enumerate(LOSSES))
    )
    assert told(tmp_path / "summary.csv") == ("csv", [0, 1, 2, 3], list(LOSSES))


@pytest.mark.slow
def test_events_of_tensorboard(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed: it is in the `compare` extra")
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(tmp_path))
    for step, loss in zip(STEPS, LOSSES):
        for tag, value in (("train/loss", loss), ("train/learning_rate", 1e-5), ("eval/loss", 9.0)):
            writer.add_event(Event(step=step, summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)])))
    writer.close()
    run = read(str(tmp_path))
    assert told("", run) == ("tensorboard", list(STEPS), list(LOSSES))
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-40])  # the process was killed
    assert told(tmp_path)[1] == list(STEPS)


def test_without_tensorboard(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.backend.event_processing.event_file_loader", None)
    (tmp_path / "events.out.tfevents.1").write_bytes(b"x")
    for name in (tmp_path, tmp_path / "events.out.tfevents.1"):
        with pytest.raises(UserError, match=r"pip install 'npu-porter\[compare\]'"):
            read(str(name))


def test_porters_own(tmp_path):
    run = read(written(tmp_path / "log.jsonl", records(list(LOSSES))))
    assert told("", run) == ("porter", [1, 2, 3, 4], list(LOSSES)) and run.first.ended


def test_packed_and_piped(tmp_path):
    (tmp_path / "log.gz").write_bytes(gzip.compress(TEXTS["megatron"][0].encode()))
    assert told(tmp_path / "log.gz")[1] == list(STEPS)
    (tmp_path / "windows.log").write_bytes(TEXTS["megatron"][0].encode("utf-16"))
    assert told(tmp_path / "windows.log")[1] == list(STEPS)


def test_epochs_are_counted_on(tmp_path):
    text = "".join(f"Epoch: [{e}][{s}/30]  loss: {1 + e + s / 100:.2f} (9.9)\n" for e in range(3) for s in (0, 10, 20))
    (tmp_path / "log").write_text(text)
    assert list(read(str(tmp_path / "log")).first.loss.steps) == [0, 10, 20, 30, 40, 50, 60, 70, 80]


def test_a_run_that_was_resumed(tmp_path):
    """What it computes anew takes the place of what it had computed."""
    shape = " iteration {s:8d}/     500 | lm loss: {loss:.6E} | loss scale: 1.0 |"
    (tmp_path / "log").write_text(lines(shape) + lines(shape, (30, 40, 50, 60)))
    assert told(tmp_path / "log")[1:] == ([10, 20, 30, 40, 50, 60], [2.5, 2.25, *LOSSES])


def test_ranks_in_one_log_and_in_many(tmp_path):
    text = "".join(f"[rank{r}]: step {s} loss: {loss + r}\n" for s, loss in zip(STEPS, LOSSES) for r in (0, 1))
    (tmp_path / "log").write_text(text)
    assert {number: rank.loss.values[0] for number, rank in read(str(tmp_path / "log")).each()} == {0: 2.5, 1: 3.5}
    for rank in (0, 1):
        (tmp_path / "logs" / str(rank)).mkdir(parents=True)
        (tmp_path / "logs" / str(rank) / "stdout.log").write_text(lines("step {s} loss: {loss}"))
    assert list(read(str(tmp_path / "logs")).ranks) == [0, 1]


def test_ranks_that_nobody_keeps_apart(tmp_path):
    """The order in which processes write is no order."""
    text = "".join(f"step {s} loss: {loss + r}\n" for s, loss in zip(range(40), curve()) for r in (0, 1))
    (tmp_path / "a").write_text(text)
    (tmp_path / "b").write_text(text.replace("loss: 2", "loss: 3"))
    verdict = judge(Pair(read(str(tmp_path / "a")), read(str(tmp_path / "b"))))
    assert (verdict.outcome, verdict.reason) == ("unsure", "mixed")


def test_a_folder_of_checkpoints(tmp_path):
    """The last of them knows of all steps."""
    for n in (2, 4):
        history = [{"loss": loss, "step": s} for s, loss in zip(STEPS[:n], LOSSES)]
        (tmp_path / f"checkpoint-{STEPS[n - 1]}").mkdir()
        (tmp_path / f"checkpoint-{STEPS[n - 1]}" / "trainer_state.json").write_text(
            json.dumps({"log_history": history}, indent=1)
        )
    assert told(tmp_path)[1] == list(STEPS)


# ---- two runs, side by side


def both(tmp_path, one: str, other: str) -> Pair:
    for name, text in (("a", one), ("b", other)):
        (tmp_path / name).write_text(text)
    return Pair(read(str(tmp_path / "a")), read(str(tmp_path / "b")))


def test_steps_from_zero_and_from_one(tmp_path):
    pair = both(
        tmp_path,
        *("".join(f"step {n + start} loss {loss:.7f}\n" for n, loss in enumerate(curve())) for start in (0, 1)),
    )
    assert pair.shift == -1 and [note.key for note in pair.notes] == ["shifted"]
    assert (pair.first, len(pair.loss.steps), judge(pair).outcome) == (0, 40, "none")


def test_other_intervals_have_steps_in_common(tmp_path):
    texts = (
        "".join(f"step {n} loss {loss:.7f}\n" for n, loss in enumerate(curve(100)) if n % every == 0)
        for every in (2, 5)
    )
    pair = both(tmp_path, *texts)
    assert list(pair.loss.steps) == list(range(0, 100, 10)) and judge(pair).outcome == "none"


def test_means_of_other_intervals(tmp_path):
    """Megatron prints the mean since its last line."""
    losses = curve(100)

    def text(every: int) -> str:
        means = [(n, sum(losses[n - every : n]) / every) for n in range(every, 101, every)]
        return "".join(f" iteration {n:8d}/     100 | lm loss: {loss:.9E} | loss scale: 1.0 |\n" for n, loss in means)

    pair = both(tmp_path, text(2), text(10))
    assert pair.averaged == 10 and judge(pair).outcome == "none"
    assert max(abs(a - b) for a, b in zip(pair.loss.one, pair.loss.other)) < 1e-6


def test_steps_that_are_missing(tmp_path):
    texts = (
        "".join(f"step {n} loss {loss:.7f}\n" for n, loss in enumerate(curve(100)) if n % 7 != gone) for gone in (2, 3)
    )
    assert judge(both(tmp_path, *texts)).outcome == "none"


def test_no_step_in_common(tmp_path):
    verdict = judge(both(tmp_path, lines("step {s} loss {loss}"), lines("step {s} loss {loss}", (15, 25, 35, 45))))
    assert (verdict.outcome, verdict.reason) == ("unsure", "apart")


def text_of(losses, norms=None) -> str:
    norms = norms or [1.5] * len(losses)
    return "".join(f"step {n} loss {loss:.6f} grad_norm {g:.5f}\n" for n, (loss, g) in enumerate(zip(losses, norms)))


def test_a_text_shows_neither_weights_nor_data(tmp_path):
    """So that a first loss that differs may be anything, unless it is the same to the last digit."""
    losses = curve()
    verdict = judge(both(tmp_path, text_of(losses), text_of([loss * 1.02 for loss in losses])))
    assert (verdict.outcome, verdict.stage) == ("unsure", "") and verdict.suspects == (
        "data",
        "weights",
        "randomness",
        "forward",
    )
    verdict = judge(both(tmp_path, text_of(losses), text_of(losses, [1.9] * 40)))
    assert verdict.stage == "backward"
    nearly = [losses[0] * 1.001, *losses[1:]]
    assert judge(both(tmp_path, text_of(losses), text_of(nearly, [1.9] * 40))).outcome == "unsure"


def test_few_digits_prove_nothing(tmp_path):
    one, other = (
        "".join(f"step {n} loss {loss:.1f} grad_norm {g}\n" for n, loss in enumerate(curve())) for g in (1.5, 1.9)
    )
    assert judge(both(tmp_path, one, other)).stage == ""


def test_rounding_of_print_is_no_difference(tmp_path):
    one, other = ("".join(f"step {n} loss {loss + d:.3f}\n" for n, loss in enumerate(curve())) for d in (0.0, 0.0004))
    assert judge(both(tmp_path, one, other)).outcome == "none"


def test_two_texts_of_other_seeds(tmp_path):
    """Smoothed they agree, or else nothing shows that they should."""
    assert judge(both(tmp_path, text_of(curve(400, 1)), text_of(curve(400, 2)))).stage == ""
    far = [1.2 * loss for loss in curve(400, 2)]
    verdict = judge(
        both(
            tmp_path,
            *(
                "".join(f"step {n} loss {loss:.6f}\n" for n, loss in enumerate(made, 5))
                for made in (curve(400, 1), far)
            ),
        )
    )
    assert (verdict.outcome, verdict.reason) == ("unsure", "other-batches")


def test_a_late_gap_in_a_text(tmp_path):
    """The swings of both are those of the same batches."""
    losses = curve(400)
    late = [loss * (1 + 0.1 * max(0, n - 250) / 150) for n, loss in enumerate(losses)]
    texts = ("".join(f"step {n} loss {loss:.6f}\n" for n, loss in enumerate(made, 5)) for made in (losses, late))
    verdict = judge(both(tmp_path, *texts))
    assert (verdict.outcome, verdict.stage, verdict.pattern) == ("difference", "long-run", "late-gap")


def test_learning_rates_of_a_text(tmp_path):
    texts = (
        "".join(f"step {n} loss {loss:.6f} lr {rate}\n" for n, loss in enumerate(curve(), 5)) for rate in (1e-4, 2e-4)
    )
    verdict = judge(both(tmp_path, *texts))
    assert verdict.stage == "schedule" and "rate" in keys(verdict)


@pytest.mark.slow
def test_a_long_series_is_thinned_at_the_same_steps():
    one, other = Series(20_000), Series(20_000)
    for step in range(1, 200_001):
        one.add(step, float(step))
        if step % 3:
            other.add(step, float(step))
    assert len(one) <= 20_001 and one.stride > 1
    assert list(one.steps[:FIRST]) == list(range(1, FIRST + 1))
    kept = set(one.steps) & set(other.steps)
    assert len([step for step in kept if step > FIRST]) > 2000
