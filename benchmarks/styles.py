"""Programs that verify in the style rename, in another style: the port on the virtual NPU, with CUDA's names, on a plain CPU.

    python benchmarks/styles.py CHECKOUTS --python PYTHON [--style shim] [--only REGEX] [--again]   # goes on with those without a result
    python benchmarks/styles.py CHECKOUTS --python PYTHON --sides gpu --again       # where a GPU is
    python benchmarks/styles.py --bundled --python PYTHON                           # there: those of tests/programs
    python benchmarks/styles.py --count                                             # the tables, from the ledger alone

The programs are those of ledgers/verified.jsonl that are verified, and EXTRA of planted_ports.py; ledgers/styles.jsonl names
them, and was written before the first was run. CHECKOUTS/owner+name is a clone, or has one in `repo`. Of each:

  npu    `porter verify --style ...`: original and port on the virtual NPU
  cuda   the port as the original ran there: the names of CUDA are translated to those of the device, so that it finds
         "cuda" when it asks for its accelerator, as on a GPU
  cpu    original and port without any device, with a witness of every loss, norm of gradients and learning rate
         (instrumented.py). What the command, or the settings that a row names, call cuda is the CPU there, and what a row
         of the ledger has for "on a CPU" is added to the command. An original that needs a GPU stops: its port has to stop with the same error.
  gpu    the same on a real GPU, with torch's deterministic algorithms, only when asked for. The original runs twice: where
         it does not repeat itself, its port is held against the same steps, and `noise` says how far the original's losses went

A port in the style shim runs on NPUs alone: it has the first side only.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEDGER = HERE / "ledgers/styles.jsonl"
sys.path[:0] = [str(HERE.parent)]

from benchmarks import instrumented, planted_ports, verified
from benchmarks.tables import line, table
from porter.commands import verify as verify_command
from porter.commands.job import prepare
from porter.errors import UserError
from porter.finding import apply
from porter.verify import install, interpreter, launch
from porter.verify.compare import compare

SIDES = {"portable": ("npu", "cuda", "cpu", "gpu"), "shim": ("npu",)}
USUAL = "npu,cuda,cpu"
WELL = ("equal", "close", "noisy", "stops alike")
TARGETS = {"shim": "torch_npu=2.13.0"}  # what the shim does differs from version to version
SECONDS = 600
# operators that a torchvision built for another torch lacks, as the virtual NPU has them
VISION = "\nfrom after_import import after_import\nafter_import('torchvision.extension', lambda: __import__('compiled_vision').define())\n"
WITHOUT = shutil.ignore_patterns(".git")


def programs() -> dict[str, dict]:
    """What can be named, by its title."""
    rows = [row for row in verified.rows() if row["now"]["exit"] == 0]
    extra = [{**row, "options": [*row.get("options", []), "--unsafe"]} for row in planted_ports.EXTRA]
    return {planted_ports.title(row): row for row in [*rows, *extra]}


# how it ended, what the witness saw, and the last error
End = tuple[int | None, list[tuple], str]


class Kept:
    """In place of porter's launcher: what the original did is kept; settings that say where a run takes place name the NPU
    for the port, as the finding asks."""

    def __init__(self, settings: tuple[str, ...]) -> None:
        self.settings = settings
        self.original: launch.Outcome | None = None
        self.given: tuple = ()

    def __call__(self, words, folder, root, ours, device, limits, original, *rest):  # type: ignore[no-untyped-def]
        if not original:
            placed_on("npu", self.settings, root)
        found = launch.run(words, folder, root, ours, device, limits, original, *rest)
        if original and self.original is None:
            self.original, self.given = found, (words, ours, device, limits)
        return found


def placed_on(device: str, settings: tuple[str, ...], root: Path) -> None:
    """Settings name another device: what style portable tells and does not write."""
    for path in settings:
        text = (root / path).read_text(encoding="utf-8")
        (root / path).write_text(text.replace('"cuda"', f'"{device}"'), encoding="utf-8")


class Program:
    """One program, as it was and as porter ports it, and what is said of it."""

    def __init__(self, row: dict, style: str, options: argparse.Namespace, scratch: Path) -> None:
        self.row, self.style, self.scratch, self.python = row, style, scratch, options.python
        self.name = row["repository"].rpartition("/")[2]
        self.original = scratch / "original" / self.name
        if "place" in row:
            shutil.copytree(row["place"], self.original)
        else:
            verified.clone(row, options.checkouts, self.python, self.original)
        self.words = row.get("options", [])
        self.settings = tuple(row.get("settings", ()))
        self.kept = Kept(self.settings)
        self.said = ""

    def option(self, name: str) -> int:
        return int(dict(zip(self.words, self.words[1:])).get(name, 0))

    @contextlib.contextmanager
    def started_in(self, folder: Path) -> Iterator[None]:
        here, environment = os.getcwd(), dict(os.environ)
        os.environ |= self.row.get("environment", {})
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(environment)

    def npu(self) -> dict:
        output, printed = self.scratch / "verify.json", io.StringIO()
        tolerance = next((float(b) for a, b in zip(self.words, self.words[1:]) if a == "--tolerance"), None)
        verify_command.launch = self.kept  # type: ignore[assignment]
        with self.started_in(self.original / self.row["folder"]), contextlib.redirect_stdout(printed):
            try:
                code = verify_command.verify(
                    self.row["command"], False, None, None, False, "--unsafe" in self.words, self.option("--steps"), SECONDS, 0,
                    self.option("--devices"), tolerance, self.python, None, "text", str(output), "en", TARGETS.get(self.style), self.style,
                )  # fmt: skip
            except UserError as error:
                return {"exit": 2, "verdict": "refused", "what": error.en[:160]}
        self.said += printed.getvalue()
        return verified.said(json.loads(output.read_text(encoding="utf-8")), code)

    def _port(self, place: Path) -> Path:
        """A port in a tree of its own."""
        shutil.copytree(self.original, place, symlinks=True, ignore=WITHOUT)
        given = {"style": self.style, "target": TARGETS.get(self.style)}
        run = prepare((str(self.original),), no_cache=True, **given).run(quiet=True)
        for file in run.files:
            if changes := file.review if "--unsafe" in self.words else file.auto:
                (place / file.path).write_bytes(apply(run.data(file.path), changes))
        return place

    def cuda(self) -> dict:
        if self.kept.original is None:
            return {"verdict": "no original"}
        root = self._port(self.scratch / "cuda" / self.name)
        words, ours, device, limits = self.kept.given
        homes = (self.original,)
        with self.started_in(root / self.row["folder"]):
            found = launch.run(words, root / self.row["folder"], root, ours, device, limits, True, homes)
        self.said += f"\n==== with CUDA's names\n{found.tail}\n"
        if not (found.ran and self.kept.original.ran):
            errors = [f"{e.where} {e.kind}: {e.text.partition(chr(10))[0][:160]}" for e in found.records.errors]
            return {"verdict": "stopped", "what": (errors or [str(found.code)])[0]}
        both = compare(self.kept.original, found)
        parts = [f"{c.name} at {c.parts_at}" for c in both.curves if not c.agrees]
        return {"verdict": both.verdict, "steps": found.records.steps, **({"what": ", ".join(parts)} if parts else {})}

    def cpu(self) -> dict:
        return self._judged(*(self._on_cpu(self._tree(name)) for name in ("plain", "cpu")))

    def gpu(self) -> dict:
        before, again, after = (self._on_gpu(self._tree(name)) for name in ("seen", "seen again", "gpu"))
        found = self._judged(before, after)
        if found["verdict"] == "apart" and before[1] != again[1]:
            found["verdict"] = "noisy" if len(before[1]) == len(after[1]) else "apart"
            found["noise"] = [furthest(before[1], other[1]) for other in (again, after)]
        return found

    def _tree(self, name: str) -> Path:
        """The original where it stands for one, else the port."""
        place = self.scratch / name / self.name
        if name in ("cpu", "gpu"):
            return self._port(place)
        shutil.copytree(self.original, place, symlinks=True, ignore=WITHOUT)
        return place

    @staticmethod
    def _judged(before: End, after: End) -> dict:
        (code, rows, last), (port_code, port_rows, port_last) = before, after
        found = {"exits": [code, port_code], "passes and steps": len(rows)}
        if code is None or port_code is None:
            return {"verdict": "time limit", **found}
        if rows != port_rows or code != port_code:
            return {"verdict": "apart", **found, "what": f"{last} | {port_last}"}
        if code:
            alike = "stops alike" if last == port_last else "stops apart"
            return {"verdict": alike, **found, "what": f"{last} | {port_last}"[:300]}
        return {"verdict": "equal" if rows else "silent", **found}

    def _on_cpu(self, tree: Path) -> End:
        placed_on("cpu", self.settings, tree)
        words = [re.sub(r"(^|=)cuda(?::\d+)?$", r"\1cpu", word) for word in self.row["command"]]
        return self._witnessed(tree, [*words, *self.row.get("on a CPU", [])], VISION, {"CUDA_VISIBLE_DEVICES": ""})

    def _on_gpu(self, tree: Path) -> End:
        return self._witnessed(
            tree, self.row["command"], "", {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "WITNESS_SURE": "1"}
        )

    def _witnessed(self, tree: Path, words: list[str], more: str, environment: dict[str, str]) -> End:
        witness = tree.parent / f"{tree.name} witness"
        witness.mkdir()
        (witness / "sitecustomize.py").write_text(instrumented.WITNESS + more, encoding="utf-8")
        command = launch.command(words, interpreter.ask(self.python))
        log, path = witness / "run", self.row.get("environment", {}).get("PYTHONPATH", "")
        env = {
            **os.environ, **self.row.get("environment", {}), "PYTHONPATH": os.pathsep.join(filter(None, (str(witness), str(install.RUNTIME), path))),
            "WITNESS": str(log), "WITNESS_STEPS": str(self.option("--steps")), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **environment,
        }  # fmt: skip
        with (witness / "out.txt").open("wb") as output:
            child = subprocess.Popen(
                command, cwd=tree / self.row["folder"], env=env, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                code: int | None = child.wait(SECONDS)
            except subprocess.TimeoutExpired:
                code = None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        text = (witness / "out.txt").read_text("utf-8", "replace").replace(str(tree), "HERE")
        self.said += f"\n==== {tree.parent.name}\n{text[-3000:]}\n"
        errors = re.findall(r"(?m)^(?:\[rank\d+\]: ?)?(\w*(?:Error|Exception)\b.*)$", text)
        files = sorted(witness.glob("run.*"), key=lambda file: int(file.suffix[1:]))
        rows = [json.loads(text) for file in files for text in file.read_text("utf-8").splitlines()]
        seen = [(row["kind"], row.get("loss"), row.get("norm"), row.get("lr")) for row in rows]
        return code, sorted(seen, key=repr) if len(files) > 1 else seen, (errors or [""])[-1][:160]


def furthest(rows: list[tuple], others: list[tuple]) -> float:
    """By how much of itself a loss is another one, at most."""
    pairs = [(a[1], b[1]) for a, b in zip(rows, others) if a[0] == b[0] == "pass"]
    return max((abs(a - b) / max(abs(a), 1e-12) for a, b in pairs), default=0.0)


def bundled(options: argparse.Namespace) -> int:
    """The programs that the tests port, on one GPU."""
    from tests.verify_programs import PROGRAMS

    worse = 0
    for program in PROGRAMS:
        command = [*(() if program.devices > 1 else ("python",)), *program.words]
        place = HERE.parent / "tests/programs" / program.name
        row = {
            "repository": program.name,
            "folder": "",
            "command": [w.format(port=29511) for w in command],
            "place": place,
        }
        if not re.search(options.only, program.name):
            continue
        if program.devices > 1:
            print(f"{program.name:14} needs {program.devices} GPUs")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            one = Program(row, "portable", options, Path(os.path.realpath(scratch)))
            found = one.gpu()
        worse += found["verdict"] not in WELL
        print(f"{program.name:14} {json.dumps(found)}", flush=True)
    return 1 if worse else 0


def count(rows: list[dict]) -> None:
    titles = [f"{side}, {when}" for side in ("npu", "cuda", "cpu", "gpu") for when in ("first", "now")]
    for text in table(("style", "programs", *titles)):
        print(text)
    for style in SIDES:
        chosen = [row for row in rows if row["style"] == style]
        if not chosen:
            continue
        cells = []
        for side in ("npu", "cuda", "cpu", "gpu"):
            for when in ("first", "now"):
                ends = ({**row.get("first", {}), **row.get(when, {})} for row in chosen)
                found = Counter(end[side]["verdict"] for end in ends if side in end)
                cells.append(", ".join(f"{n} {verdict}" for verdict, n in found.most_common()) or "-")
        print(line(style, len(chosen), *cells))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="?", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--style", default="portable", choices=[*SIDES])
    parser.add_argument("--only", default="")
    parser.add_argument("--sides", default=USUAL, help="cuda needs npu")
    parser.add_argument("--when", default="now", choices=("first", "now"))
    parser.add_argument("--again", action="store_true", help="those as well that have a result")
    parser.add_argument("--keep", type=Path, help="where what was said is left")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--bundled", action="store_true", help="on a GPU: the programs of tests/programs")
    options = parser.parse_args()
    if options.bundled:
        return bundled(options)
    rows = [json.loads(text) for text in LEDGER.read_text(encoding="utf-8").splitlines()]
    if options.count or not options.checkouts:
        count(rows)
        return 0
    known, worse = programs(), 0
    for row in rows:
        name = planted_ports.title(row)
        if (
            row["style"] != options.style
            or not re.search(options.only, name)
            or (options.when in row and not options.again)
        ):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            told = {**known[name], **{key: row[key] for key in ("on a CPU", "settings") if key in row}}
            program = Program(told, row["style"], options, Path(os.path.realpath(scratch)))
            sides = [side for side in SIDES[row["style"]] if side in options.sides.split(",")]
            found = {side: getattr(program, side)() for side in sides}
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / (re.sub(r"\W+", "-", name) + ".txt")).write_text(program.said, encoding="utf-8")
        row[options.when] = {**row.get(options.when, {}), **found}
        LEDGER.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        worse += any(side["verdict"] not in WELL for side in found.values())
        print(name, shlex.join(known[name]["command"]), json.dumps(found), flush=True)
    return 1 if worse else 0


if __name__ == "__main__":
    raise SystemExit(main())
