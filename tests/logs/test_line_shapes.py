"""Lines whose shape is known are read as if it were not."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from porter.logs.clean import decoded, split
from porter.logs.records import WORDS, Reader
from porter.logs.shapes import Shapes

LOGS = sorted((Path(__file__).parents[1] / "diagnose" / "logs").glob("*.log"))
ALL = (*WORDS, "lr", "learning", "samples", "step")


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_every_log_is_read_the_same(log):
    shapes, reader = Shapes(ALL), Reader(ALL)
    for raw in log.read_bytes().splitlines(keepends=True):
        process, text, _ = split(decoded(raw))
        assert repr(shapes.read(process, text)) == repr(reader.read(process, text)), text


NUMBERS = st.sampled_from(
    ["0", "7", "12", "0.5", "-3.25", "1e-05", "2.5E+00", "nan", "inf", "-inf", "1.", "99999999999", "1_0", "3.4.5"]
)
SHAPES = st.sampled_from(
    [
        "step {} loss {} lr {}", "iteration {}/ {} | lm loss: {} | grad norm: {} |", "Epoch: [{}][ {}/{}] Loss {} ({})  Time {} ({})",
        "{{'loss': {}, 'grad_norm': {}, 'learning_rate': {}}}", "loss: {}, per_step_time: {}ms, lr: {}", "time: {}s, loss={}", "loss {}% of {}",
        "a1 loss {}x grad_norm {}", "  {}%|5 | {}/{} [00:10<00:20,  2.5s/it, loss={}]", "reducing loss scale to {} loss {}", "val loss {} step {}", "updt_s:{} data_s:{} loss:{}",
    ]
)  # fmt: skip


RATIO = "Epoch: [{}][ {}/{}] Loss {} ({})  Time {} ({})"


@pytest.mark.slow
@settings(max_examples=examples(300))
@example([(RATIO, [*"0", "1.5", "3", *"1111"]), (RATIO, [*"0", "1", "3", *"1111"])])  # of the second, a step counts
@given(st.lists(st.tuples(SHAPES, st.lists(NUMBERS, min_size=8, max_size=8)), max_size=12))
def test_any_numbers_are_read_the_same(lines):
    shapes, reader = Shapes(ALL), Reader(ALL)
    for shape, numbers in lines:
        text = shape.format(*numbers)
        assert repr(shapes.read("", text)) == repr(reader.read("", text)), text
