"""One mistake planted into the port of a program, of kinds that ports have; whether `porter verify` sees it, and names its line.

    python benchmarks/planted_ports.py draw CHECKOUTS --python PYTHON --seed N   # ledgers/planted_ports.jsonl
    python benchmarks/planted_ports.py run CHECKOUTS --python PYTHON [--only REGEX] [--keep DIR]
    python benchmarks/planted_ports.py --count                                   # the table, from the ledger alone

The programs are those of ledgers/verified.jsonl that are verified, those of EXTRA, and tests/programs. A draw takes only
statements that the verified port executes. A row says kind, place and which of the ways; the text follows from both.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LEDGER = HERE / "ledgers/planted_ports.jsonl"
PROGRAMS = ROOT / "tests/programs"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from benchmarks import verified
from benchmarks.tables import line, table
from porter.commands import verify as verify_command
from porter.commands.job import prepare
from porter.finding import apply
from porter.verify import install, interpreter, launch
from porter.verify.compare import compare

NANO = """train.py --dataset=tiny --compile=False --eval_iters=2 --eval_interval=1000 --log_interval=1 --block_size=32
    --batch_size=4 --n_layer=2 --n_head=2 --n_embd=32 --max_iters=3 --gradient_accumulation_steps=2 --dtype=float16
    --dropout=0.1 --always_save_checkpoint=False"""
EXTRA: list[dict] = [
    {
        "repository": "karpathy/nanoGPT", "commit": "3adf61e154c3fe3fca428ad6bc3818b27a3b8291", "folder": "",
        "script": "train.py", "command": NANO.split(),
        "given": {"data/tiny/train.bin": "tokens", "data/tiny/val.bin": "tokens"},
    },
    {
        "repository": "karpathy/minGPT", "commit": "37baab71b9abea1b76ab957409a1cc2fbfba8a26", "folder": "projects/adder",
        "script": "adder.py", "command": ["adder.py", "--trainer.num_workers=0", "--trainer.max_iters=40"],  # it has no end of its own
        "environment": {"PYTHONPATH": "../.."},
    },
    {
        "repository": "pytorch/examples", "commit": "77f55b912142e11fcfdf5b530231fb9c52f181e8",
        "folder": "distributed/ddp-tutorial-series", "script": "multigpu.py",
        "command": ["multigpu.py", "1", "1", "--batch_size", "256"], "options": ["--devices", "2"],
    },
]  # fmt: skip
# what is looked for in the text of a port, and what it becomes: mistakes of people who port, or merge a port, by hand
STEPS = 3
FEW = re.compile(
    "TCN|egnn|glow|makemore|NCRFpp|LLMs-from|VAE|grokking|nanoGPT|minGPT|ddp-tutorial|programs (?:amp|transformer|fsdp2|ddp|data_l|rnn|channels)"
)
_TO = r"(?<=[\w)\]])\.(?:npu\(\)|to\((?:self\.)?device\))$"
KINDS: dict[str, list[tuple[str, str]]] = {
    "a tensor left on the CPU": [(r"(?<== )([\w.]+(?:\[\w+\])?)\.(?:npu\(\)|to\((?:self\.)?device\))$", r"\1"),
                                 (r", device=(?:self\.)?\w*device\)", ")")],
    "another device": [(_TO, '.to("npu:1")')],
    "a name of CUDA left": [(r"\.npu\(\)", ".cuda()"), (r"""device\((["'])npu\b""", r"device(\1cuda"),
                            (r"torch\.npu\.(manual_seed(?:_all)?|synchronize)\(", r"torch.cuda.\1("),
                            (r"""= (["'])npu\1""", r"= \1cuda\1")],
    "autocast to another type": [(r"(autocast\(.*dtype=)torch\.bfloat16", r"\1torch.float16"),
                                 (r"(autocast\(.*dtype=)(?!torch)\w+", r"\1torch.bfloat16")],
    "autocast left out": [(r"autocast\((?=.*\):$)", "autocast(enabled=False, "), (r"(autocast\()enabled=[\w.]+", r"\1enabled=False")],
    "no GradScaler": [(r"(GradScaler\().*\)", r"\1enabled=False)")],
    "another epsilon, with foreach": [(r"(optim\.(?:Adam\w*|RMSprop)\((?:[^()]|\([^()]*\))*)\)", r"\1, eps=1e-4, foreach=True)")],
    "the other Adam": [(r"\bAdamW\(", "Adam("), (r"optim\.Adam\(", "optim.AdamW(")],
    "a term of the loss without gradients": [(r"^( *(?:\w*loss\w*|L|l) = .+?) \+ (.+)$", r"\1 + (\2).detach()"),
                                             (r"^( *)((?:\w*loss\w*) = .+\))$", r"\1with torch.no_grad(): \2")],
    "a transpose lost": [(r"\.transpose\((?:1, 2|-2, -1|2, 1)\)", "")],
    "contiguous lost": [(r"\.contiguous\(\)", "")],
    "the backend of NCCL": [(r"""(["'])hccl\1""", r"\1nccl\1")],
    "no seed of the NPU": [(r"torch\.npu\.manual_seed(?:_all)?\(.*\)", "pass")],
    "another order of draws": [(r"^( *)(\w[\w, ]* = .*torch\.rand\w*\(.*)$", r"\1torch.rand(1, device='npu'); \2")],
    "a mask the other way round": [(r"masked_fill\(([^,]+) == 0,", r"masked_fill(\1 != 0,"), (r"is_causal=True", "is_causal=False"),
                                   (r"attn_mask=(\w+)\b", r"attn_mask=~\1")],
    "float() lost": [(r"\.float\(\)", ""), (r"\.to\(torch\.float32\)", "")],
    "another reduction": [(r"ReduceOp\.SUM", "ReduceOp.MAX"), (r"""reduction=(["'])mean\1""", r"reduction=\1sum\1"),
                          (r"""reduction=(["'])sum\1""", r"reduction=\1mean\1"), (r"(?<=\w)\.mean\(\)$", ".sum()")],
    "gradients not unscaled": [(r"(?:self\.)?scaler\.unscale_\([\w.]+\)", "pass")],
    "gradients not clipped": [(r"(?:torch\.)?(?:nn\.)?utils\.clip_grad_norm_\(.*\)$", "pass")],
    "no set_device": [(r"torch\.npu\.set_device\([\w.]+\)", "pass")],
    "weights in another type": [(r"((?:model|vae|unet|net)\w*\.(?:npu\(\)|to\(device\)))$", r"\1.bfloat16()")],
    "dropout left out": [(r"\.train\(\)$", ".eval()")],
    "another scale of attention": [(r"\* *\(?1\.0 / math\.sqrt\(([^()]|\([^()]*\))*\)\)?", "* 0.5"), (r"C\*\*-0\.5", "C**-1")],
    "channels_last left": [(r"memory_format=torch\.contiguous_format", "memory_format=torch.channels_last")],
    "not divided by the steps that are gathered": [(r"loss / (?:gradient_accumulation_steps|\w*accum\w*)", "loss")],
}  # fmt: skip
_AT_MOST = 2  # of one kind in a draw
SKIPPED = re.compile(r"^\s*(?:#|import |from |print|\"|')")


def subjects() -> list[dict]:
    """Those that are small enough to run again and again; three steps of each."""
    ours = [
        {"repository": "tests/programs", "commit": "", "folder": program.name, "script": program.words[-1],
         "command": list(program.words), "options": ["--devices", str(program.devices)]}
        for program in _programs() if not program.twin and "{port}" not in program.words
    ]  # fmt: skip
    all_of_them = [row for row in verified.rows() if row["now"]["exit"] == 0] + EXTRA + ours
    return [row for row in all_of_them if FEW.search(title(row))]


def _programs() -> tuple:
    from verify_programs import PROGRAMS as found

    return found


def title(row: dict) -> str:
    return f"{row['repository']} {row['folder']} {row['script']}".replace("  ", " ")


class Trees:
    """A program as it was, and as porter ports it."""

    def __init__(self, row: dict, checkouts: Path, python: str, scratch: Path) -> None:
        self.row = row
        name = row["repository"].rpartition("/")[2]
        self.original, self.port = scratch / "original" / name, scratch / "port" / name
        if row["commit"]:
            verified.clone(row, checkouts, python, self.original)
            shutil.rmtree(self.original / ".git")
        else:
            shutil.copytree(PROGRAMS / row["folder"], self.original / row["folder"])
        run = prepare((str(self.original),), no_cache=True).run(quiet=True)
        shutil.copytree(self.original, self.port, symlinks=True)
        for file in run.files:
            changes = file.review if row in EXTRA or not row["commit"] else file.auto
            if changes:
                (self.port / file.path).write_bytes(apply(run.data(file.path), changes))
        self.folders = self.original / row["folder"], self.port / row["folder"]


def executed(trees: Trees, python: str) -> set[tuple[str, int]] | None:
    """The lines of the port that run, of files below its folder; None where the port is not verified."""
    ours = interpreter.ask(python)
    device = install.find(ours)
    limits = launch.Limits(steps=STEPS, devices=devices(trees.row))
    os.environ |= trees.row.get("environment", {})
    port = trees.port
    lines = {
        str(path.relative_to(port)): ((1, path.read_bytes().count(b"\n") + 1),)
        for path in sorted(port.rglob("*.py"))
        if not path.is_symlink()
    }
    legs = []
    runs = [(trees.original, trees.folders[0], None)] if trees.row in EXTRA else []  # of the others it is known
    for root, folder, asked in (*runs, (port, trees.folders[1], lines)):
        copy = root.with_name(root.name + " run")
        shutil.copytree(root, copy, symlinks=True)
        there = copy / folder.relative_to(root)
        words = trees.row["command"]
        homes = (trees.original, trees.port)
        legs.append(launch.run(words, there, copy, ours, device, limits, asked is None, homes, asked))
        shutil.rmtree(copy)
        print(f"    {root.parent.name}: {legs[-1].code}", flush=True)
    for name in trees.row.get("environment", {}):
        os.environ.pop(name)
    first, second = legs[0], legs[-1]
    if not (first.ran and second.ran) or compare(first, second).verdict not in ("equal", "close"):
        print(second.tail[-800:] if first.ran else first.tail[-800:], flush=True)
        return None
    return second.records.ran


def devices(row: dict) -> int:
    words = row.get("options", [])
    return int(dict(zip(words[::2], words[1::2])).get("--devices", 0)) or launch.devices_asked_for(row["command"])


def plants(text: str, kind: str) -> Iterator[tuple[int, int, str]]:
    """Line, number of the way, and the line with the mistake."""
    for number, was in enumerate(text.splitlines(), 1):
        if SKIPPED.match(was):
            continue
        for way, (old, new) in enumerate(KINDS[kind]):
            now = re.sub(old, new, was, count=1)
            if now != was and _compiles(text, number, now):
                yield number, way, now


def _compiles(text: str, number: int, now: str) -> bool:
    try:
        compile(planted(text, number, now), "planted", "exec")
    except SyntaxError:
        return False
    return True


def planted(text: str, number: int, now: str) -> str:
    lines = text.splitlines()
    lines[number - 1] = now
    return "\n".join(lines) + "\n"


def draw(options: argparse.Namespace) -> int:
    """Round after round, each program one mistake, of a kind that was drawn least so far; repositories first."""
    chance, found = random.Random(options.seed), []
    places = json.loads(options.places.read_text()) if options.places and options.places.exists() else {}
    for row in subjects():
        if title(row) in places or not re.search(options.only, title(row)):
            continue
        print(title(row), flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            try:
                trees = Trees(row, options.checkouts, options.python, Path(scratch))
            except subprocess.CalledProcessError as error:
                print("   ", error, flush=True)
                continue
            ran = executed(trees, options.python)
            places[title(row)] = list(_fitting(trees, ran)) if ran is not None else []
        if options.places:
            options.places.write_text(json.dumps(places, indent=1))
    used: Counter[str] = Counter()
    rows = {title(row): row for row in subjects()}
    real = [name for name in sorted(places) if rows[name]["commit"]]
    others = [name for name in sorted(places) if not rows[name]["commit"]]
    for names in (real, real, others, real, others):
        for name in chance.sample(names, len(names)):
            free = sorted({kind for kind, *_ in places[name] if used[kind] < _AT_MOST})
            least = [kind for kind in free if used[kind] == min(used[k] for k in free)]
            if not least or len(found) >= options.number:
                continue
            kind = chance.choice(least)
            used[kind] += 1
            _, file, number, way = place = chance.choice([p for p in places[name] if p[0] == kind])
            places[name].remove(place)
            row = rows[name]
            found.append({
                **{key: row[key] for key in ("repository", "commit", "folder", "script")},
                "seed": options.seed, "kind": kind, "at": f"{file}:{number}", "way": way,
            })  # fmt: skip
    LEDGER.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    print(len(found), "drawn of", sum(bool(p) for p in places.values()), "programs")
    return 0


def _fitting(trees: Trees, ran: set[tuple[str, int]]) -> Iterator[tuple[str, str, int, int]]:
    for file in sorted({path for path, _ in ran}):
        text = (trees.port / file).read_text(encoding="utf-8")
        for kind in KINDS:
            for number, way, _ in plants(text, kind):
                if (file, number) in ran:
                    yield kind, file, number, way


class Originals:
    """In place of porter's launcher: what an original did is what it does, so that it runs once for all its ports."""

    def __init__(self) -> None:
        self.known: dict[tuple, launch.Outcome] = {}

    def __call__(self, words, folder, root, ours, device, limits, original, homes, edited, settings):  # type: ignore[no-untyped-def]
        def launched() -> launch.Outcome:
            return launch.run(words, folder, root, ours, device, limits, original, homes, edited, settings)

        if not original:
            return launched()
        key = limits.steps, *settings
        if key not in self.known:
            self.known[key] = launched()
        return self.known[key]


def run(options: argparse.Namespace) -> int:
    rows = [json.loads(text) for text in LEDGER.read_text(encoding="utf-8").splitlines()]
    programs = {title(row): row for row in subjects()}
    missed = 0
    for name in sorted({title(row) for row in rows}):
        planned = [row for row in rows if title(row) == name and re.search(options.only, f"{name} {row['kind']}")]
        planned = [row for row in planned if options.again or options.when not in row]
        if not planned:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            trees = Trees(programs[name], options.checkouts, options.python, Path(scratch))
            verify_command.interpreter.ask = ASKED  # type: ignore[assignment]
            verify_command.launch = Originals()  # type: ignore[assignment]
            for row in planned:
                found = judged(row, trees, options)
                missed += not (found["caught"] and found["named"])
                row[options.when] = found
                LEDGER.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
                print(name, row["kind"], row["at"], json.dumps(found), flush=True)
    return 1 if missed else 0


ASKED = functools.cache(interpreter.ask)  # what an interpreter has does not change between two mistakes


def judged(row: dict, trees: Trees, options: argparse.Namespace) -> dict:
    """What verify says of the port with the mistake in it."""
    file, _, number = row["at"].rpartition(":")
    before = (trees.port / file).read_text(encoding="utf-8")
    now = next(now for at, way, now in plants(before, row["kind"]) if (at, way) == (int(number), row["way"]))
    text = planted(before, int(number), now)
    (trees.port / file).write_text(text, encoding="utf-8")
    output = trees.port.parent / "verify.json"
    printed, here, environment = io.StringIO(), os.getcwd(), dict(os.environ)
    os.environ |= trees.row.get("environment", {})
    os.chdir(trees.folders[1])
    try:
        with contextlib.redirect_stdout(printed):
            code = verify_command.verify(
                trees.row["command"], False, str(trees.original), str(trees.port), False, False, STEPS, 600, 0,
                devices(trees.row), None, options.python, None, "text", str(output), "en",
            )  # fmt: skip
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(environment)
        (trees.port / file).write_text(before, encoding="utf-8")
    said = json.loads(output.read_text(encoding="utf-8"))
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        kept = options.keep / re.sub(r"\W+", "-", f"{title(row)} {row['kind']}")
        kept.with_suffix(".txt").write_text(f"{row['at']}: {now}\n\n{printed.getvalue()}")
        shutil.copy(output, kept.with_suffix(".json"))
    statement = statement_of(text, int(number))
    places = printed_places(said)
    hits = [place for place in places if place in {f"{file}:{line}" for line in statement}]
    return {
        "caught": code != 0 and not said["verified"], "verdict": said["verdict"], "named": bool(hits),
        "named_first": bool(hits) and hits[0] == places[0],
    }  # fmt: skip


def printed_places(said: dict) -> list[str]:
    """Every place of the port that the result prints as that of a difference or of the error, and first those of what it
    does otherwise; of a port that is verified, those that are written otherwise and made no difference."""
    found = [parting["where"] for parting in said["first_differences"]]
    found += [error["where"] for error in said["ported"]["errors"]]
    found += [curve["parts_where"][1] for curve in said["curves"] if curve["parts_where"]]
    return found + said["edited_statements"]["unfelt"]


def statement_of(text: str, number: int) -> range:
    """The lines of the innermost statement that the line stands in; of one with a body, its head."""
    best = range(number, number + 1)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.lineno <= number <= (node.end_lineno or node.lineno):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            if number <= last or not body:
                best = range(node.lineno, max(last, node.lineno) + 1)
    return best


def count() -> None:
    rows = [json.loads(text) for text in LEDGER.read_text(encoding="utf-8").splitlines()]
    titles = ("tried", "caught", "line named", "named first")
    for text in table(
        ("ports with a mistake", "drawn", *(f"{t} at first" for t in titles), *(f"{t} now" for t in titles))
    ):
        print(text)
    real, ours = ([row for row in rows if bool(row["commit"]) == of_others] for of_others in (True, False))
    for name, chosen in (("of repositories", real), ("of tests/programs", ours), ("all", rows)):
        cells = []
        for when in ("first", "now"):
            tried = [row[when] for row in chosen if when in row]
            cells += [len(tried), *(sum(found[key] for found in tried) for key in ("caught", "named", "named_first"))]
        print(line(name, len(chosen), *cells))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("draw", "run"))
    parser.add_argument("checkouts", nargs="?", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=25)
    parser.add_argument("--only", default="")
    parser.add_argument("--places", type=Path, help="of draw: where what fits is kept, so that it can go on")
    parser.add_argument("--when", default="now", choices=("first", "now"))
    parser.add_argument("--again", action="store_true", help="of run: those as well that have a result")
    parser.add_argument("--keep", type=Path, help="where what was said is left")
    parser.add_argument("--count", action="store_true")
    options = parser.parse_args()
    if options.count or not options.what or not options.checkouts:
        count()
        return 0
    return draw(options) if options.what == "draw" else run(options)


if __name__ == "__main__":
    raise SystemExit(main())
