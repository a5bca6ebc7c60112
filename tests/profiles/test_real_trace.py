"""A trace that torch.profiler really writes, on the host alone: porter's own times are those that torch itself adds up."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from porter.profiles.find import read_run
from porter.profiles.sums import formula

PROGRAM = """
import json, sys
import torch
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 5))
optimizer = torch.optim.AdamW(model.parameters())
data = DataLoader(TensorDataset(torch.randn(40, 3, 8, 8), torch.randint(0, 5, (40,))), batch_size=8)

def done(prof):
    prof.export_chrome_trace(sys.argv[1])
    rows = {row.key: [row.count, row.self_cpu_time_total] for row in prof.key_averages()}
    with open(sys.argv[2], "w") as stream:
        json.dump(rows, stream)

with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=3, repeat=1), on_trace_ready=done, record_shapes=True, with_stack=True) as prof:
    for x, y in data:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        prof.step()
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_own_times_are_those_of_torch(tmp_path, needs_torch, name):
    file, sums = tmp_path / name, tmp_path / "sums.json"
    subprocess.run([sys.executable, "-c", PROGRAM, file, sums], check=True, capture_output=True, timeout=300)
    (profile,) = read_run(str(file)).profiles
    assert (profile.device, profile.steps, profile.parts.total) == ("cpu", 3, None)
    expected = json.loads(sums.read_text())
    ops = {op: counted for op, counted in expected.items() if op.startswith("aten::")}
    assert len(ops) > 40
    for op, (count, own) in ops.items():
        found = profile.torch[op]
        assert found.count == count and found.time == pytest.approx(own, rel=1e-6, abs=0.05 * count), op
    parts = {part.key: part.time for part in formula(profile)}
    loading = [own for op, (_, own) in expected.items() if op.startswith("enumerate(DataLoader)#")]
    assert parts["computing"] is None and 0 < parts["host-optimizer"] < profile.total / 3
    assert parts["loading"] * 3 > sum(loading) > 0
