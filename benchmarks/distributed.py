"""Does a script compute the same on two ranks as on one card?

    python benchmarks/distributed.py REPOSITORY SCRIPT [--python PYTHON] [--epoch 0] [--still] [--given KIND=PATH]... [--edit [FILE::]OLD=>NEW]... -- words
    python benchmarks/distributed.py --count      # what benchmarks/ledgers/distributed.jsonl says

The original runs on one device of the virtual NPU, with one batch; `porter migrate --distribute SCRIPT --unsafe` makes the port, which
torchrun starts on two. Both import benchmarks/distributed_stand_in.py first. The losses of the first three backward passes of
the one run are compared with the mean over the ranks of the other; 1e-5, relative, is what has to hold. `--given` makes data
with benchmarks/given.py; `--edit` writes another text into the script, or another file, of both runs, as another size of the batch.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import one_script
from porter.verify import install, interpreter
from porter.verify.launch import Limits, run

HERE = Path(__file__).parent
LEDGER = HERE / "ledgers" / "distributed.jsonl"
STEPS, NEAR = 3, 1e-5


def main() -> None:
    parser = one_script.parser(__doc__, 500)
    parser.add_argument("--epoch", default="0", help="the number of the first epoch")
    parser.add_argument("--still", action="store_true", help="noise is off")
    parser.add_argument("--given", action="append", default=[])
    parser.add_argument("--edit", action="append", default=[])
    asked = one_script.asked(parser)
    if asked.count:
        rows = [json.loads(line) for line in LEDGER.read_text("utf-8").splitlines()]
        print(Counter((row["kind"], row.get("result", "not run")) for row in rows))
        return
    with one_script.place(asked.keep) as place:
        _check(asked, place)


def _check(asked: argparse.Namespace, place: Path) -> None:
    one, two = place / "one", place / "two"
    shutil.copytree(asked.repository, one, ignore=shutil.ignore_patterns(".git"))
    script = one / asked.script
    for edit in [edit for edit in asked.edit if "::" in edit]:
        name, _, words = edit.partition("::")
        _edited(one / name, words)
    before, future, rest = script.read_text("utf-8").rpartition("from __future__ import print_function\n")
    text = before + future + "import distributed_stand_in\n" + rest
    script.write_text(text, "utf-8")
    for edit in [edit for edit in asked.edit if "::" not in edit]:
        _edited(script, edit)
    for given in asked.given:
        kind, _, name = given.partition("=")
        (one / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([asked.python, HERE / "given.py", kind, one / name], check=True)
    shutil.copytree(one, two)
    (two / ".git").mkdir()  # the root of a project
    env = {**os.environ, "PYTHONPATH": str(HERE.parent), "PORTER_STATE_DIR": str(place / "state")}
    words = ["--distribute", asked.script, "--unsafe", "--inplace", "--allow-dirty", "--no-cache"]
    done = subprocess.run(
        [sys.executable, "-m", "porter", "migrate", *words], cwd=two, env=env, capture_output=True, text=True
    )
    print(done.stderr.strip())
    if done.returncode:
        return
    alone = _losses(asked, one, [asked.script, *asked.words], 1)
    ranks = _losses(asked, two, ["torchrun", "--nproc_per_node", "2", asked.script, *asked.words], 2)
    together = [(a + b) / 2 for a, b in zip(ranks.get("loss", []), ranks.get("loss of rank 1", []))]
    pairs = list(zip(alone.get("loss", []), together))[:STEPS]
    if ranks.get("loss") == ranks.get("loss of rank 1"):
        print("both ranks read the same samples")
    for number, (a, b) in enumerate(pairs):
        print(f"{number}: {a:.9g} {b:.9g} {abs(a - b) / max(abs(a), 1e-30):.2g}")
    same = len(pairs) == STEPS and all(abs(a - b) <= NEAR * abs(a) for a, b in pairs)
    print("equal" if same else "apart" if pairs else "no losses")


def _edited(file: Path, edit: str) -> None:
    old, _, new = edit.partition("=>")
    text = file.read_text("utf-8")
    if old not in text:
        sys.exit(f"{file.name} does not say {old!r}")
    file.write_text(text.replace(old, new), "utf-8")


def _losses(asked: argparse.Namespace, root: Path, words: list[str], count: int) -> dict[str, list[float]]:
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, [HERE, HERE / "stand_ins", root, root / "src"]))
    os.environ["DISTRIBUTED_EPOCH"] = asked.epoch
    os.environ["DISTRIBUTED_STILL"] = "1" if asked.still else ""
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["MASTER_PORT"] = str(20000 + os.getpid() % 20000)
    ours = interpreter.ask(asked.python)
    limits = Limits(asked.seconds, 0, STEPS, count)
    folder = root / asked.folder
    if asked.folder != ".":
        words = [os.path.relpath(word, asked.folder) if word == asked.script else word for word in words]
    ended = run(words, folder, root, ours, install.find(ours), limits, count == 1)
    series = {name: [point.value for point in points] for name, points in ended.records.series.items()}
    errors = [f"rank {e.rank}: {e.kind}: {e.text} at {e.where}" for e in ended.records.errors]
    print(
        f"{'one card' if count == 1 else 'two ranks'}: exit {ended.code}, {ended.records.steps} steps",
        *errors[:2],
        sep="\n  ",
    )
    if ended.code or not series:
        print("  " + "\n  ".join(ended.output.strip().splitlines()[-12:]))
    return series


if __name__ == "__main__":
    main()
