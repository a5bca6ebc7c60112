"""The reader of lines: what it makes of every spelling, what it leaves alone, and that no line is slow."""

from __future__ import annotations

import math
import time

import pytest

from porter.logs.records import LONG, Reader


def read(line: str, *before: str):
    reader = Reader()
    for earlier in before:
        reader.read("", earlier)
    return reader.read("", line)


def values(line: str, *before: str) -> dict[str, object]:
    """By kind and name; "nan" for what is no number."""
    return {
        f"{kind} {name}": value if math.isfinite(value) else "nan" for kind, name, value in read(line, *before).readings
    }


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("Epoch: [1][20/99]\tTime 0.3 (0.4)\tLoss nan (nan)\tAcc@1 70.5 (69.0)", {"seconds Time": 0.3, "loss Loss": "nan", "metric Acc@1": 70.5}),
        ("loss 6.3 (6.1)  grad_norm 2.1 (inf)", {"loss loss": 6.3, "grad_norm grad_norm": 2.1}),
        ("Train: 2 [3/9 (6%)]  Loss:       nan (nan)  Time: 2.5s, 126.1/s  Data: 1.8 (0.3)", {"loss Loss": "nan", "seconds Time": 2.5, "data Data": 1.8}),
        ("{'loss': 1.5, 'grad_norm': nan, 'learning_rate': 1e-05}", {"loss loss": 1.5, "grad_norm grad_norm": "nan", "lr learning_rate": 1e-05}),
        ('{"loss": 2.2, "acc": 0.26, "grad_norm": NaN}', {"loss loss": 2.2, "metric acc": 0.26, "grad_norm grad_norm": "nan"}),
        ("loss_dict = {'loss_cls': tensor(nan, device='npu:0')}", {"part loss_cls": "nan"}),
        (" iteration 3/ 9 | elapsed time per iteration (ms): 1500.0 | lm loss: 2.0E+00 | loss scale: 1.0 | grad norm: 0.5 |", {"seconds time per iteration": 1.5, "loss lm loss": 2.0, "scale loss scale": 1.0, "grad_norm grad norm": 0.5}),
        ("Epoch 1/5, Step 100/300, step time: 654.40 ms", {"seconds step time": 0.6544}),
        ("step:[ 2/19], loss: 10.6, per_step_time: 1752ms, lr: 1e-05", {"loss loss": 10.6, "seconds per_step_time": 1.752, "lr lr": 1e-05}),
        ("lr: 0.1  img/s: 250.5  loss: 6.5 (7.0)", {"lr lr": 0.1, "speed img/s": 250.5, "loss loss": 6.5}),
        ("loss: 2.5, loss_scale: 1024, global_norm: [3.5]", {"loss loss": 2.5, "scale loss_scale": 1024, "grad_norm global_norm": 3.5}),
        ("batch_cost: 4.5, reader_cost: 0.25, loss: 2", {"seconds batch_cost": 4.5, "data reader_cost": 0.25, "loss loss": 2}),
        ("step:9 loss:1.05 updt_s:0.25 data_s:1.5", {"loss loss": 1.05, "seconds updt_s": 1.75, "data data_s": 1.5}),
        ("  5%|5   | 3/20 [00:10<00:20,  2.5s/it, loss=1.2]", {"loss loss": 1.2, "seconds s/it": 2.5}),
        ("  5%|5   | 3/20 [00:10<00:20,  4.0it/s]", {"seconds it/s": 0.25}),
        ("Loading shards: 5%|5   | 3/20 [00:10<00:20,  4.0it/s]", {}),
        ("训练次数：100, Loss：nan", {"loss Loss": "nan"}),
        ("Val, Epoch [3] mAP: 0.25", {"metric val mAP": 0.25}),
        ("val Loss: 0.5 Acc: 0.75", {"part val Loss": 0.5, "metric val Acc": 0.75}),
        ("best loss: 0.5, train loss: 1.5", {"loss train loss": 1.5}),
        ("overflow detected, setting loss scale to: 0.25", {"scale loss scale": 0.25}),
        ("===> Epoch 3 Complete: Avg. Loss: 0.5", {"loss Avg. Loss": 0.5}),
        ("total time: 350 s", {}),
        ("time: 1.5", {}),
        ("best_loss: inf", {}),
        ("Loss is nan, stopping", {}),
        ("the loss of 3 files", {}),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)  # fmt: skip
def test_a_line(line, wanted):
    assert values(line) == pytest.approx(wanted)


def test_a_table_is_read_with_its_header():
    header = "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size"
    row = "      1/100      3.41G        nan        0.5        1.5         10        640: 100%|####| 9/9 [00:52<00:00,  2.30it/s]"
    assert values(row, header) == {"part box_loss": "nan", "part cls_loss": 0.5, "part dfl_loss": 1.5}
    assert values(row) == {}


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("iter 6000: loss 2.5", 6000),
        (" iteration        1/     500 | lm loss: 2.5E+00 |", 1),
        ("Epoch: [3][ 0/500] loss 2.5", 0),
        ("| epoch 003:  75 / 609 loss=0.5, num_updates=1292, gnorm=4.5", 1292),
        ("Steps:  5% loss 2.5", None),
        ("{'loss': 1.5, 'step': 12}", 12),
    ],
)
def test_the_step(line, step):
    assert read(line).step == step


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("[ERROR] (PID:7, Device:3, RankID:3) ERR02002 DIST invalid type", ("ERR02002",)),
        ("[PID: 94] Resource_Busy(EL0005): The resources are busy.", ("EL0005",)),
        ("EE9999[PID: 43] The error from device", ("EE9999",)),
        ("EK0001: [PID: 7] bad path, runtime result = 507054", ("EK0001", "runtime result = 507054")),
        ("NPU function error, error code is 507010", ("error code is 507010",)),
        ("EI0009-2054-2055: Notice of a course", ()),
        ("ERR05321 of a mail server, error code: 404", ()),
        ("order 507054 was sent", ()),
    ],
)
def test_codes(line, codes):
    assert read(line).codes == codes


@pytest.mark.parametrize(
    "piece", ["loss ", "a loss: ", "loss: 1.", "[1/", "x.y/z@loss ", "| 1/9 [", "Epoch mem loss  "]
)
def test_no_line_is_slow(piece):
    line, reader = piece * LONG, Reader()
    start = time.process_time()
    for _ in range(5):
        reader.read("", line)
    assert time.process_time() - start < 2
