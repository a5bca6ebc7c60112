"""apex.amp: a training loop is ported as a whole or not at all, and the port trains."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from porter.analysis.python import analyse
from porter.analysis.session import open_session
from porter.engine.session import Quiet, Session
from porter.finding import apply
from porter.target import Target

pytestmark = pytest.mark.slow

LOOP = """\
import torch
from apex import amp


def train(args, model, optimizer, loader, criterion):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    for step, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
        optimizer.step()
"""
STATEMENT = '    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")\n'


def ported(text: str, session: Session = open_session()) -> str:
    found = analyse("train.py", text.encode(), session)
    assert not [f for f in found.findings if f.code.startswith("PRT00")]
    assert b"GradScaler" not in apply(text.encode(), found.auto)
    return apply(text.encode(), found.review).decode()


def test_the_loop_is_ported():
    new = ported(LOOP)
    assert "apex" not in new and "amp.initialize" not in new
    assert [
        f.code for f in analyse("train.py", new.encode(), open_session()).findings if f.code.startswith("PRT35")
    ] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"O1"', '"O3"'),  # half weights
        ('"O1"', '"O0"'),
        ('opt_level="O1"', 'opt_level="O1", loss_scale=128.0'),  # GradScaler's scale always moves
        ('opt_level="O1"', 'opt_level="O2", keep_batchnorm_fp32=False'),
        ('opt_level="O1"', 'opt_level="O1", num_losses=2'),
        ('opt_level="O1"', "**args.apex"),
        ("model, optimizer = amp.initialize(model, optimizer", "net, optimizer = amp.initialize(model, optimizer"),
        ("model, optimizer = amp.initialize(model, optimizer", "model, optimizer = amp.initialize(model, [optimizer]"),
        ("amp.scale_loss(loss, optimizer)", "amp.scale_loss(loss, optimizer, loss_id=0)"),
        ("amp.scale_loss(loss, optimizer)", "amp.scale_loss(loss, args.optimizer)"),
        ("            scaled.backward()\n", "            scaled.backward()\n            print(scaled)\n"),
        (
            "            scaled.backward()\n",
            "            scaled.backward()\n        model(x).sum().backward()\n",
        ),  # unscaled
        ("        optimizer.step()\n", ""),
        ("        optimizer.step()\n", "        optimizer.step(lambda: loss)\n"),
        (
            "        optimizer.step()\n",
            "        if step % 2:\n            optimizer.step()\n",
        ),  # unscaled twice for one step
        ("        loss = criterion(model(x), y)\n", "        loss = args.loss(x, y)\n"),  # where is the forward pass?
        ("        loss = criterion(model(x), y)\n", '        loss = criterion(model(x), y, """a\nb""")\n'),
        ("criterion(model(x), y)", "criterion(model(x.half()), y)"),
        ("criterion(model(x), y)", "torch.nn.BCELoss()(model(x), y)"),  # autocast refuses it
        ("def train", "scaler = grad_scaler = None\n\n\ndef train"),
        ("def train", "half = amp.half_function(print)\n\n\ndef train"),
        ("def train", "helper = [amp]\n\n\ndef train"),
        (
            "def train",
            "def other(loss, optimizer):\n    with amp.scale_loss(loss, optimizer):\n        pass\n\n\ndef train",
        ),
        (STATEMENT, f"    if args.fp16:\n    {STATEMENT}    else:\n        print()\n"),
        (STATEMENT, f"    if args.fp16():\n    {STATEMENT}"),
        (
            STATEMENT,
            f"    if args.fp16:\n    {STATEMENT}    \tmodel = args.wrap(model)\n".replace("    \t", "        "),
        ),
        (STATEMENT, STATEMENT.replace("\n", "  # porter: ignore[PRT350] later\n")),
        ("from apex import amp", "from apex import amp  # noqa: F401"),
        ("import torch\n", "try:\n    import torch\nexcept ImportError:\n    torch = None\n"),
    ],
)
def test_one_unknown_piece_and_nothing_is_written(old, new):
    text = LOOP.replace(old, new)
    assert text != LOOP
    result = ported(text)
    assert "autocast" not in result and "GradScaler" not in result and result.count("amp.") == text.count("amp.")
    open_ones = [f for f in analyse("train.py", text.encode(), open_session()).findings if f.code == "PRT350"]
    assert open_ones and {f.status for f in open_ones} == {"manual"}


def test_a_code_that_is_off_takes_the_whole_pattern_with_it():
    for code in ("PRT350", "PRT355"):
        assert ported(LOOP, open_session(quiet=Quiet(frozenset({code})))).count("amp.") == LOOP.count("amp.")


def test_an_import_that_the_program_can_do_without_stays():
    text = LOOP.replace(
        "from apex import amp\n", "try:\n    from apex import amp\nexcept ImportError:\n    amp = None\n"
    )
    new = ported(text)
    assert "try:\n    from apex import amp\nexcept ImportError:\n    amp = None\n" in new and "scaler.update()" in new


def test_a_flag_of_the_import_decides_no_more():
    guarded = "try:\n    from apex import amp\n    APEX = True\nexcept ImportError:\n    APEX = False\n"
    text = LOOP.replace("from apex import amp\n", guarded).replace(STATEMENT, f"    if APEX:\n    {STATEMENT}")
    assert "autocast" not in ported(text)


def test_tabs_and_line_ends_stay_as_they_are():
    new = ported(LOOP.replace("    ", "\t").replace("\n", "\r\n"))
    assert (
        "\t\twith torch.autocast(" in new and "\t\t\tloss = criterion" in new and new.count("\n") == new.count("\r\n")
    )


def test_a_finding_shows_its_own_edits_in_order():
    for finding in analyse("train.py", LOOP.encode(), open_session()).findings:
        if finding.code in ("PRT350", "PRT355"):
            assert finding.edit and list(finding.edit) == sorted(finding.edit)


def test_only_the_style_that_names_the_device_writes_it():
    assert ported(LOOP, open_session(target=Target(style="portable"))) == LOOP


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("as scaled:\n            scaled.backward()", "as scaled: scaled.backward()", "        scaler.scale(loss).backward()\n"),
        (STATEMENT, "    if args.fp16 and not args.cpu: " + STATEMENT.lstrip(), "enabled=bool(args.fp16 and not args.cpu))\n"),
        ('opt_level="O1"', 'opt_level=args.level, enabled=not args.cpu', '("npu", enabled=not args.cpu and args.level != "O0")\n'),
        ('opt_level="O1"', 'opt_level=args.level or "O1"', '("npu", enabled=(args.level or "O1") != "O0")\n'),
        (STATEMENT, "    if args.level != 'O0':\n    " + STATEMENT.replace('"O1"', "args.level"), "enabled=args.level != 'O0')\n"),
        (STATEMENT, "    if args.fp16:\n    " + STATEMENT.replace('"O1"', "args.fp16"), 'enabled=bool(args.fp16) and args.fp16 != "O0")\n'),
        ("        loss = criterion(model(x), y)\n", "        # why\n        out = model(x)\n\n        # and\n        loss = (\n            criterion(out, y)\n        )\n", "            # and\n            loss = (\n                criterion(out, y)\n            )\n"),
        ("            scaled.backward()\n", "            # gradients\n            scaled.backward()  # of the scaled loss\n", "        # gradients\n        # of the scaled loss\n        scaler.scale(loss).backward()\n"),
        ("def train(", "class Trainer:\n    pass\n\n\ndef train(", "            loss = criterion(model(x), y)\n"),
    ],
)  # fmt: skip
def test_forms_of_a_piece(old, new, expected):
    text = LOOP.replace(old, new)
    assert text != LOOP and expected in ported(text)


def test_older_torch_has_the_scaler_of_the_device():
    assert "torch.npu.amp.GradScaler()" in ported(LOOP, open_session(target=Target(torch_npu="2.1.0.post17")))


PROGRAM = """\
import sys

import torch
from torch import nn

FP16, EVERY = sys.argv[1] == "half", int(sys.argv[2])


def batches():
    generator = torch.Generator().manual_seed(0)
    for _ in range(24):
        x = torch.randn(16, 8, generator=generator)
        yield x, (x[:, 0] > 0).long()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    if FP16:
        from apex import amp
        model, optimizer = amp.initialize(model, optimizer, opt_level="O2")
    for step, (x, y) in enumerate(batches()):
        output = model(x)
        loss = nn.functional.cross_entropy(output, y)
        loss = loss / EVERY
        if FP16:
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
        else:
            loss.backward()
        if (step + 1) % EVERY == 0:
            if FP16:
                nn.utils.clip_grad_norm_(amp.master_params(optimizer), 0.5)
            else:
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()
        print(loss.item())


main()
"""


def losses(python: str, path: Path, *arguments: str) -> list[float]:
    env = os.environ | {"PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run([python, path, *arguments], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [float(line) for line in done.stdout.split()]


STEP = "        if (step + 1) % EVERY == 0:\n"
CLIP = PROGRAM[PROGRAM.index(STEP) + len(STEP) : PROGRAM.index("            optimizer.step()")]
IN_EVERY_BATCH = (
    PROGRAM.replace(CLIP, "")
    .replace("scaled_loss.backward()\n", "scaled_loss.backward()\n" + CLIP.splitlines(True)[1][4:])
    .replace("loss.backward()\n        if (", "loss.backward()\n" + CLIP.splitlines(True)[3][4:] + "        if (")
)


@pytest.mark.parametrize(
    ("program", "every"),
    [(PROGRAM, "1"), (PROGRAM, "4"), (IN_EVERY_BATCH, "4")],
    ids=["each-step", "now-and-then", "clipped-in-every-batch"],
)
def test_the_port_trains_as_the_original_does(python_with_torch, tmp_path, program, every):
    assert program.count("clip_grad_norm_") == 2
    new = re.sub(r"import torch_npu.*\n", "", ported(program)).replace('"npu"', '"cpu"')
    assert "GradScaler" in new
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(program, "utf-8")
    after.write_text(new, "utf-8")
    exact = losses(python_with_torch, before, "full", every)
    assert losses(python_with_torch, after, "full", every) == exact
    half = losses(python_with_torch, after, "half", every)
    assert half != exact and half == pytest.approx(exact, abs=0.02)
