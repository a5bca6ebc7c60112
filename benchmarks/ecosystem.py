"""porter over what people have really written: packages by name and version, and CPython's own tests.

    python benchmarks/ecosystem.py                     all that benchmarks/ecosystem.txt names, and the tests of this Python
    python benchmarks/ecosystem.py timm jax cpython    those whose name begins so
    python benchmarks/ecosystem.py --fetch             only bring what is missing
    python benchmarks/ecosystem.py --results FILE      one line of JSON for each; those that FILE has are not run again

Only wheels that fit every platform are fetched: data, of which nothing is built, imported or run. Of each it is asked that
no file is refused for a fault of porter's, that nothing is edited where nothing leads to torch, told by a look at imports
that shares no code with porter, and that a second pass over the port, with and without --unsafe, edits nothing. Of those
with `same` in the list, findings and diff have the same bytes for three hash seeds, with one process and with two.
Exit code 1 where one of these does not hold, or a package takes longer or more memory than the limits.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
import zipfile
from collections import deque
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOP)]

from benchmarks.corpora import directory

LIST = TOP / "benchmarks" / "ecosystem.txt"
SECONDS, MEMORY = 1800, 3 << 30  # of one package
LARGEST = 20_000_000  # what an archive may hold in one file; larger is data
AT_ONCE = 20  # packages that pip is asked for together: to start it costs more than a small wheel
HOPS = 2  # how far torch may be from an edited file, in imports
SEEDS = ((0, 1), (1, 2), (2, 1), (0, 2))  # hash seed, processes
FAULTS = ("crashes", "refused", "astray", "again", "differs")
BUILT_ON = frozenset(
    """accelerate bitsandbytes deepspeed diffusers transformers peft trl optimum sentence_transformers lightning mmcv mmengine mmdet
    detectron2 fairseq fairseq2 fvcore timm kornia monai ultralytics flair fastai ignite catalyst skorch captum pyro tensordict
    stable_baselines3 tianshou allennlp speechbrain espnet espnet2 megatron apex xformers flash_attn open_clip lpips e3nn
    llamafactory axolotl verl vllm sglang trainer TTS nerfacc litgpt litdata streaming composer liger_kernel fla""".split()
)


class Package(NamedTuple):
    kind: str  # torch | others | free | old | cpython
    wanted: str  # name==version
    same: bool


def packages() -> list[Package]:
    rows = (line.split() for line in LIST.read_text().splitlines() if line and not line.startswith("#"))
    return [Package(kind, wanted, more == ["same"]) for kind, wanted, *more in rows]


def folder_of(package: Package) -> Path:
    if package.kind == "cpython":
        return Path(sysconfig.get_path("stdlib")) / "test"
    return directory() / "ecosystem" / package.wanted.replace("==", "-")


def fetch(wanted: list[Package]) -> list[str]:
    """Bring what is missing, many at a time; what cannot be had."""
    missing = [package for package in wanted if not folder_of(package).is_dir()]
    lost: list[str] = []
    for at in range(0, len(missing), AT_ONCE):
        several = {package.wanted: package for package in missing[at : at + AT_ONCE]}
        while several:
            error = _download(several)
            if not error:
                break
            culprit = next((name for name in several if name in error), next(iter(several)))
            lost.append(f"{culprit}: {error}")
            del several[culprit]
    return lost


def _download(several: dict[str, Package]) -> str:
    only = ["--no-deps", "--only-binary=:all:", "--platform=any", "--abi=none", "--implementation=py"]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *only]
    with tempfile.TemporaryDirectory() as temporary:
        done = subprocess.run([*pip, "--dest", temporary, *several], check=False, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["pip ended without a word"])[-1]
        wheels = {_plain(*wheel.name.split("-")[:2]): wheel for wheel in Path(temporary).glob("*.whl")}
        for name, package in several.items():
            if wheel := wheels.get(_plain(*name.split("=="))):
                _unpack(wheel, folder_of(package))
    return ""


def _plain(name: str, version: str) -> tuple[str, str]:
    return re.sub(r"[-_.]+", "-", name).lower(), re.sub(r"(?:\.0)+$", "", version)


def _unpack(wheel: Path, folder: Path) -> None:
    half = folder.with_name(f".{folder.name}.{os.getpid()}")
    with zipfile.ZipFile(wheel) as archive:  # which strips what leads out of the folder
        for member in archive.infolist():
            if member.file_size <= LARGEST:
                archive.extract(member, half)
    half.rename(folder)


# ---- one package, in a process of its own


def examine(folder: Path) -> dict:
    """What porter makes of a folder, which is not written to."""
    from porter.finding import apply

    begin = time.process_time()
    found = _analysed(folder)
    spent = time.process_time() - begin
    own = [(f.path, f.why) for file in found.files for f in file.findings if f.code == "PRT003"]
    statuses = [f.status for file in found.files for f in file.findings if f.suppressed is None and not f.optional]
    row = {
        "files": len(found.files),
        "lines": sum(file.lines for file in found.files),
        "findings": len(statuses),
        "auto": statuses.count("auto"),
        "review": statuses.count("review"),
        "crashes": [path for path, why in own if why == "crashed"],
        "refused": [f"{path}: {why}" for path, why in own if found.broken and why != "crashed"],
        "astray": _astray(folder, {file.path for file in found.files if file.review}),
        "again": [],
        "seconds": round(spent, 1),
    }
    for unsafe in (False, True):
        changed = {file.path: file.review if unsafe else file.auto for file in found.files}
        changed = {path: changes for path, changes in changed.items() if changes}
        if not changed:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            copy = Path(temporary) / folder.name
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*.so", "*.bin", "__pycache__"))
            for path, changes in changed.items():
                (copy / path).write_bytes(apply((copy / path).read_bytes(), changes))
            for file in _analysed(copy).files:
                if file.review if unsafe else file.auto:
                    row["again"].append(f"{file.path}{' --unsafe' if unsafe else ''}")
    row["mebibytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return row


def _analysed(folder: Path):
    from porter.analysis.session import open_session
    from porter.run.config import Settings
    from porter.run.run import run

    return run(folder, [str(folder)], Settings(jobs=1), open_session())


def _astray(folder: Path, edited: set[str]) -> list[str]:
    """Edited files from which no torch can be seen within HOPS imports, whichever way they go."""
    if not edited:
        return []
    texts = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.py") if path.is_file()}
    words = {path: _imported(text) for path, text in texts.items()}
    torch = {p for p, found in words.items() if any("torch" in w.lower() or w in BUILT_ON for w in found)}
    torch |= {p for p, text in texts.items() if re.search(rb"import\w*\([^()\n]*[\"']torch|torchrun", text)}
    stems: dict[str, list[str]] = {}
    for path in texts:
        stems.setdefault(_stem(path), []).append(path)
    near: dict[str, set[str]] = {path: set() for path in texts}
    for path, found in words.items():
        for word in found & stems.keys():
            for other in stems[word]:
                near[path].add(other)
                near[other].add(path)
    others = [p for p in edited if p not in texts]
    speaks = bool(torch) or any(
        re.search(rb"(?i)torch|deepspeed|transformers", (folder / p).read_bytes()) for p in others
    )
    lost = [] if speaks else others
    return sorted(lost + [path for path in edited & texts.keys() if not _leads(path, near, torch)])


def _imported(text: bytes) -> set[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(
            re.findall(r"\w+", " ".join(re.findall(r"(?m)^[ \t]*(?:from|import)\b.*", text.decode("utf-8", "replace"))))
        )
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(word for alias in node.names for word in alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            found.update((node.module or "").split("."), (alias.name for alias in node.names))
    return found


def _stem(path: str) -> str:
    *folders, name = path.removesuffix(".py").split("/")
    return folders[-1] if name == "__init__" and folders else name


def _leads(path: str, near: dict[str, set[str]], torch: set[str]) -> bool:
    todo, seen = deque([(path, 0)]), {path}
    while todo:
        at, hops = todo.popleft()
        if at in torch:
            return True
        for other in near[at] - seen if hops < HOPS else ():
            seen.add(other)
            todo.append((other, hops + 1))
    return False


# ---- all of them


def _alone(folder: Path) -> dict:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    command = [sys.executable, __file__, "--one", str(folder)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return {"crashes": [f"more than {SECONDS} s"]}
    if done.returncode:
        return {"crashes": [(done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]]}
    return json.loads(done.stdout)


def _differs(folder: Path) -> list[str]:
    """Which commands do not answer alike."""
    found = []
    for command in (["analyze", "--format", "json", "--fail-on", "never"], ["migrate", "--unsafe"]):
        answers = set()
        for seed, jobs in SEEDS:
            run = [sys.executable, "-m", "porter", *command, "--no-cache", "--jobs", str(jobs), "."]
            environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(TOP)}
            done = subprocess.run(run, check=False, capture_output=True, cwd=folder, env=environment)
            answers.add((done.returncode, done.stdout))
        if len(answers) > 1:
            found.append(command[0])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only packages whose name begins so")
    parser.add_argument("--fetch", action="store_true", help="only fetch")
    parser.add_argument("--results", type=Path, help="a file of JSON lines that is read and added to")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(examine(options.one)))
        return 0
    wanted = [*packages(), Package("cpython", f"cpython-tests=={sysconfig.get_python_version()}", False)]
    wanted = [p for p in wanted if not options.names or p.wanted.startswith(tuple(options.names))]
    rows = _known(options.results)
    code = 0
    for line in fetch(wanted):
        print(f"benchmarks: {line}", file=sys.stderr)
        code = 2
    for package in [] if options.fetch else wanted:
        folder = folder_of(package)
        if package.wanted in rows or not folder.is_dir():
            continue
        row = {"package": package.wanted, "kind": package.kind, **_alone(folder)}
        if package.same:
            row["differs"] = _differs(folder)
        rows[package.wanted] = row
        if options.results:
            with options.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
        print(_line(row), flush=True)
    mine = [rows[p.wanted] for p in wanted if p.wanted in rows]
    return code if options.fetch else max(code, _sum(mine))


def _known(results: Path | None) -> dict[str, dict]:
    lines = results.read_text().splitlines() if results and results.exists() else ()
    return {row["package"]: row for row in map(json.loads, lines)}


def _line(row: dict) -> str:
    faults = "; ".join(f"{name}: {', '.join(row[name])}" for name in FAULTS if row.get(name))
    numbers = " ".join(f"{name} {row.get(name, '-')}" for name in ("files", "findings", "auto", "review", "seconds"))
    return f"{row['package']}: {numbers}{' | ' + faults if faults else ''}"


def _sum(rows: list[dict]) -> int:
    numbers = ("files", "lines", "findings", "auto", "review")
    print("| kind | packages | " + " | ".join((*numbers, *FAULTS, "CPU seconds")) + " |")
    print("|---|" + "---:|" * (len(numbers) + len(FAULTS) + 2))
    for kind in dict.fromkeys([*(row["kind"] for row in rows), "all"]):
        mine = [row for row in rows if kind in (row["kind"], "all")]
        cells = [len(mine), *(sum(row.get(n, 0) for row in mine) for n in numbers)]
        cells += [sum(len(row.get(n, ())) for row in mine) for n in FAULTS]
        cells.append(round(sum(row.get("seconds", 0) for row in mine)))
        print(f"| {kind} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return int(any(row.get(name) for row in rows for name in FAULTS))


if __name__ == "__main__":
    sys.exit(main())
