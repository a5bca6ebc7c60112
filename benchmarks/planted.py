"""Small trainings of fourteen kinds (trainings/*.py, programs for CUDA), and faults that are written into their text.

The baseline is the program on the CPU. The candidate is its port on the virtual NPU, with one fault in it. Both are recorded
by `porter instrument`, and ported by `porter migrate`, as a user would do it.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from porter.__main__ import main as porter
from porter.verify import install, interpreter
from porter.verify.launch import Limits
from porter.verify.launch import run as launch

PLACE = Path(__file__).with_name("trainings")
_MODEL = r"(?m)^( *)(model|net)((?: = .*)?\.to\(device\))$"
_CLIP = r"(?m)^( *)(?:torch\.)?nn\.utils\.clip_grad_(norm|value)_\((\w+)\.parameters\(\), .*\)$"
_HOOK = r"\1\2\3\n\1{}(\2.parameters()).register_hook(lambda gradient: {})"
# the stage that is to be named, and the ways to plant a fault: what is looked for in the text, and what it becomes
FAULTS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "weights": ("weights", [
        (_MODEL, r"\1\2\3\n\1next(\2.parameters()).data.mul_(1.02)"),
        (_MODEL, r"\1\2\3\n\1max(\2.parameters(), key=torch.numel).data.mul_(0.9)"),
        (_MODEL, r"\1\2\3\n\1torch.nn.init.zeros_([p for p in \2.parameters() if p.dim() == 1][0])"),
        (_MODEL, r"\1\2\3\n\1weight = max(\2.parameters(), key=torch.numel).data\n\1weight.copy_(weight.roll(1, 0))"),
    ]),
    "forward dtype": ("forward", [
        ("enabled=False", "enabled=True"),
        ("dtype=torch.bfloat16, enabled=False", "dtype=torch.float16, enabled=True"),
    ]),
    "wrong backward": ("backward", [
        (_MODEL, _HOOK.format("next", "gradient * 0.5")),
        (_MODEL, r"\1\2\3\n\1list(\2.parameters())[-1].register_hook(lambda gradient: gradient * 1.5)"),
        (_MODEL, _HOOK.format("next", "-gradient")),
        (_MODEL, r"\1\2\3\n\1max(\2.parameters(), key=torch.numel).register_hook(lambda gradient: gradient.flip(0))"),
    ]),
    "beta2": ("optimiser", [
        (r"betas=\(0\.9, 0\.999\)", "betas=(0.9, 0.95)"),
        (r"betas=\(0\.9, 0\.9[58]\)", "betas=(0.9, 0.999)"),
    ]),
    "weight decay": ("optimiser", [(r'weight_decay(=|": )[\d.e-]+', r"weight_decay\g<1>0.3")]),
    "lr schedule": ("schedule", [
        (r"(?m)^ +scheduler\.step\(\)\n", ""),
        (r"\(step \+ 1\) / (?:8|10)", "(step + 1) / 5"),
        (r"T_max=40", "T_max=25"),
        (r"step_size=12", "step_size=6"),
        (r"total_steps=40", "total_steps=60"),
        (r"gamma=0\.97", "gamma=0.9"),
        (r"total_iters=10", "total_iters=20"),
        (r"power=1\.0", "power=2.0"),
        (r"milestones=\[8, 25\]", "milestones=[15, 25]"),
        (r"T_0=10", "T_0=20"),
    ]),
    "data order": ("data", [
        (r"Generator\(\)\.manual_seed\(args\.seed\)", "Generator().manual_seed(args.seed + 1)"),
        (r"shuffle=True", "shuffle=False"),
        (r"set_epoch\(0\)", "set_epoch(1)"),
    ]),
    "dropout left on": ("randomness", [(r"Dropout\(0\.0\)", "Dropout(0.1)"), (r"dropout=0\.0", "dropout=0.1")]),
    "tokeniser": ("data", [
        (r"sentence\.lower\(\)\.split", "sentence.split"),
        (r'\[vocabulary\["<s>"\]\] \+ ', ""),
        (r"sorted\(set\(text\)\)", "sorted(set(text), reverse=True)"),
        (r'WORDS\.index\("<s>"\)', 'WORDS.index("<pad>")'),
        (r'f"\{number:03d\}"\]', 'f"{number:03d}"[::-1]]'),
    ]),
    "loss scale": ("scaling", [
        (r"(?m)^( *)loss\.backward\(\)", r"\1(loss * 1024).backward()"),
        (r"scaler\.scale\(loss\)", "scaler.scale(loss * 8)"),
        (r"\) / accumulation\n", ")\n"),
        (r"(?m)^ +parameter\.grad /= world_size\n", ""),
    ]),
    "clipping": ("optimiser", [
        (_CLIP, r"\1pass"),
        (_CLIP, r"\1torch.nn.utils.clip_grad_\2_(\3.parameters(), 0.002)"),
        (r"(?m)^ +scaler\.unscale_\(optimizer\)\n", ""),
    ]),
    "a rank that reads other data": ("data", [
        (r"rank=dist\.get_rank\(\)", "rank=0"),
        (r"seed=args\.seed\)", "seed=args.seed + dist.get_rank())"),
        (r"numbers\[rank::", "numbers[0::"),
    ]),
}  # fmt: skip


def kinds() -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(PLACE.glob("*.py"))}


def plants(fault: str, text: str) -> list[str]:
    """The text with this fault, in each way that fits."""
    _, ways = FAULTS[fault]
    return [made for old, new in ways if (made := re.sub(old, new, text, count=1)) != text]


def drawn(draw: random.Random, count: int) -> Iterator[tuple[str, str, str]]:
    """(fault, kind, text): twelve at a time have twelve faults and twelve kinds."""
    texts = kinds()
    while count > 0:
        for fault, kind in sorted(_matched(draw, texts).items(), key=lambda pair: draw.random())[:count]:
            yield fault, kind, draw.choice(plants(fault, texts[kind]))
        count -= len(FAULTS)


def _matched(draw: random.Random, texts: dict[str, str]) -> dict[str, str]:
    """Each fault with a kind of its own."""
    fitting = {fault: [kind for kind in texts if plants(fault, texts[kind])] for fault in FAULTS}
    while True:
        chosen: dict[str, str] = {}
        for fault in sorted(FAULTS, key=lambda fault: (len(fitting[fault]), draw.random())):
            free = [kind for kind in fitting[fault] if kind not in chosen.values()]
            if not free:
                break
            chosen[fault] = draw.choice(free)
        else:
            return chosen


class Runs:
    """Runs of programs, recorded. `seed`: of the program; `told`: whether the log says it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.interpreter = interpreter.ask()
        self._count = 0

    def baseline(self, text: str, seed: int, told: bool) -> Path:
        """On a GPU where one is, else on the CPU."""
        place = self._made(text, seed, told)
        many = ranks(text)
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={many}"] if many > 1 else []
        done = subprocess.run(
            [self.interpreter.path, *launcher, "train.py", "--seed", str(seed)],
            cwd=place, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        return _log(place, done.returncode, done.stderr)

    def candidate(self, text: str, seed: int, told: bool) -> Path:
        """The port, on the virtual NPU."""
        place = self._made(text, seed, told, port=True)
        many = ranks(text)
        words = ["torchrun", "--standalone", f"--nproc_per_node={many}"] if many > 1 else []
        done = launch(
            [*words, "train.py", "--seed", str(seed)], place, place, self.interpreter, install.find(self.interpreter),
            Limits(devices=many), original=False,
        )  # fmt: skip
        return _log(place, done.code, done.tail)

    def _made(self, text: str, seed: int, told: bool, port: bool = False) -> Path:
        self._count += 1
        place = self.folder / str(self._count)
        place.mkdir()
        (place / "train.py").write_text(text, encoding="utf-8")
        if port:
            _porter(place, "migrate", "train.py", "--inplace", "--no-undo")
            if "torch.npu" not in (place / "train.py").read_text(encoding="utf-8"):
                sys.exit(f"{place}: nothing was ported")
        given = ["--seed", str(seed)] if told else []
        _porter(
            place,
            "instrument",
            "train.py",
            "--loss-log",
            "log/run.jsonl",
            "--norms",
            "1",
            *given,
            "--inplace",
            "--no-undo",
        )
        return place


def ranks(text: str) -> int:
    return 2 if "init_process_group" in text else 1


def _porter(place: Path, *words: str) -> None:
    """The command line itself, without the price of a new interpreter."""
    before, argv, said = os.getcwd(), sys.argv, io.TextIOWrapper(io.BytesIO())
    os.chdir(place)
    sys.argv = ["porter", *words]
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            porter()
    except SystemExit as end:
        if end.code:
            said.seek(0)
            raise SystemExit(f"{place}: porter {words[0]} ended with {end.code}: {said.read()}") from None
    finally:
        os.chdir(before)
        sys.argv = argv


def _log(place: Path, code: int | None, said: str) -> Path:
    if code or "porter_recorder" in said:
        sys.exit(f"{place}: the training ended with {code}: {said}")
    return place / "log"
