"""What people would use instead of porter, on the same repositories: grep and sed, the vendor's converter, the runtime shim.

    python benchmarks/others.py [--only REGEX] [--vendor DIR [--python PATH]] [--write]

Of every tool: CPU seconds; the lines that it changes, how many of those say no word of CUDA's own, and how many are text for
people (comments, docstrings); the lines of code with a word of CUDA's own that it leaves, and how many of those it does not
speak of. A word of CUDA's own is `torch.cuda`, `.cuda(`, `is_cuda`, "cuda", "nccl", or the name of a variable of either; what
a project itself calls cuda is none. `--vendor DIR` is src/ms_fmk_transplt of MindStudio's msfmktransplt, run by a Python that
has its requirements (`pip install libcst jedi pandas prettytable`). The repositories are a few of same_bytes.txt.
"""

from __future__ import annotations

import argparse
import ast
import csv
import difflib
import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from benchmarks import corpora
from benchmarks.process import REPOSITORY, porter
from benchmarks.tables import line, table, write
from porter.catalog.read.load import Catalogue, load
from porter.files.kinds import NATIVE, NOTEBOOK, PYTHON, kind_of
from porter.target import DEFAULT_TORCH_NPU

CHOSEN = r"karpathy/nanoGPT|facebookresearch/DiT|facebookresearch/mae|kuangliu/pytorch-cifar|openai/CLIP"
SAYS = re.compile(r"(?i)cuda|nccl")
OWN = re.compile(r"""torch\.cuda|\.cuda\(|\bis_cuda\b|["']cuda(?::|["'])|["']nccl["']|\b(?:CUDA|NCCL)_[A-Z]""")
Lines = dict[str, list[str]]  # of the files of a repository, by path
Places = set[tuple[str, int]]


class Port(NamedTuple):
    seconds: float
    lines: Lines
    told: Places


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default=CHOSEN, metavar="REGEX", help="repositories of same_bytes.txt")
    parser.add_argument("--vendor", type=Path, metavar="DIR", help="src/ms_fmk_transplt of msfmktransplt")
    parser.add_argument("--python", default=sys.executable, metavar="PATH", help="the Python that runs it")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    args = parser.parse_args()
    tools: dict[str, Callable[[Path, Path], Port]] = {"`sed 's/cuda/npu/g; s/nccl/hccl/g'`": _sed}
    if args.vendor:
        tools["msfmktransplt, `pytorch_gpu2npu`"] = lambda folder, work: _vendor(folder, work, args.vendor, args.python)
    tools["`porter migrate`"] = _porter
    sums: dict[str, Counter[str]] = {name: Counter() for name in tools}
    whole, names = Counter[str](), Counter[str]()
    chosen = [row for row in corpora.listed() if re.search(args.only, row[0])]
    for repository, commit, *_ in chosen:
        folder = corpora.checkout(repository, commit)
        before = _lines(folder)
        said = {(path, n) for path, rows in before.items() for n, row in enumerate(rows, 1) if SAYS.search(row)}
        code = {place for path, rows in before.items() for place in _code(path, rows)}
        whole.update(
            {"files": len(before), "lines": sum(map(len, before.values())), "said": len(said), "code": len(code)}
        )
        whole["apart"] += sum(kind_of(path) != PYTHON for path, _ in code)
        names.update(_shim(before))
        for name, tool in tools.items():
            with tempfile.TemporaryDirectory() as work:
                sums[name].update(_weighed(before, code, tool(folder, Path(work))))
        print(f"{repository}: done", file=sys.stderr, flush=True)
    text = "\n".join(_report(chosen, whole, names, sums))
    print(text)
    if args.write:
        write(REPOSITORY / "README.md", text, "others")
    return 0


def _report(
    chosen: list[list[str]], whole: Counter[str], names: Counter[str], sums: dict[str, Counter[str]]
) -> Iterator[str]:
    listed = ", ".join(row[0].rpartition("/")[2] for row in chosen)
    yield f"`python benchmarks/others.py --vendor DIR` over {listed}: {whole['files']:,} files, {whole['lines']:,} lines."
    yield f"`grep -rniE 'cuda|nccl'` lists {whole['said']:,} lines; {whole['code']:,} are code with a word of CUDA's own. Target torch_npu {DEFAULT_TORCH_NPU}."
    yield ""
    yield from table(
        ("", "CPU seconds", "lines changed", "no word of CUDA's", "text for people", "code left", "without a word")
    )
    for name, sum_ in sums.items():
        numbers = (sum_[key] for key in ("changed", "other", "prose", "left", "silent"))
        yield line(name, f"{sum_['milliseconds'] / 1000:,.1f}", *(f"{number:,}" for number in numbers))
    yield ""
    yield (
        f"`transfer_to_npu` is an import: of {sum(names.values()):,} uses of names of torch.cuda it replaces {names['replaced']:,} "
        f"and leaves {names['left']:,} as they are; it reads no script, no settings and no requirements ({whole['apart']:,} lines here)."
    )


def _weighed(before: Lines, code: Places, port: Port) -> Counter[str]:
    changed = {place for path in before for place in _changed(path, before[path], port.lines.get(path, []))}
    prose = {(path, n) for path, n in changed if _is_prose(path, before[path], n)}
    left = code - changed
    return Counter(
        milliseconds=round(port.seconds * 1000),
        changed=len(changed),
        prose=len(prose),
        other=sum(OWN.search(before[path][n - 1]) is None for path, n in changed),
        left=len(left),
        silent=len(left - port.told),
    )


# ---- the tools


def _sed(folder: Path, work: Path) -> Port:
    before = _lines(folder)
    lines = {p: [row.replace("cuda", "npu").replace("nccl", "hccl") for row in rows] for p, rows in before.items()}
    return Port(0.0, lines, set())


def _porter(folder: Path, work: Path) -> Port:
    seconds = _run(porter("migrate", str(folder), "--out", str(work / "out"), "--quiet"), work)
    report = work / "report.json"
    _run(porter("analyze", str(folder), "--quiet", "--output", str(report)), work)
    found = json.loads(report.read_bytes())["findings"]
    told = {(f["path"], n) for f in found for n in range(f["line"], f["end_line"] + 1)}
    return Port(seconds, _lines(work / "out"), told)


def _vendor(folder: Path, work: Path, home: Path, python: str) -> Port:
    given = work / "given"
    shutil.copytree(folder, given)  # it refuses paths with other letters than ASCII ones
    (work / "out").mkdir()
    script = [python, str(home / "ms_fmk_transplt.py"), "-i", str(given), "-o", str(work / "out"), "-v", "2.7.1"]
    seconds = _run(script, work, PYTHONPATH=str(home))
    out = work / "out" / "given_msft"
    told: Places = set()
    for listing in (out / "transplant_result_file").glob("*.csv"):
        if listing.name != "change_list.csv":
            for row in csv.DictReader(io.StringIO(listing.read_text(encoding="utf-8", errors="replace"))):
                if (row.get("Start Line") or "").isdecimal():
                    told.add((row["File"], int(row["Start Line"])))
    return Port(seconds, _lines(out), told)


def _run(command: list[str], work: Path, **environment: str) -> float:
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = os.environ | {"PYTHONPATH": str(REPOSITORY), "PORTER_CACHE_DIR": str(work / "cache")} | environment
    done = subprocess.run(command, cwd=work, env=env, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        raise SystemExit(
            f"benchmarks: {command[:3]} ended with {done.returncode}: {done.stderr[-500:].decode(errors='replace')}"
        )
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


# ---- what is counted


def _lines(folder: Path) -> Lines:
    """Of programs, scripts, settings and lists of requirements: what all of them read as text."""
    files = (p for p in sorted(folder.rglob("*")) if p.is_file() and not p.is_symlink())
    named = {p.relative_to(folder).as_posix(): p for p in files}
    kinds = {path: kind_of(path) for path in named}
    wanted = [path for path, kind in kinds.items() if kind not in ("", NATIVE, NOTEBOOK)]
    return {path: named[path].read_text(encoding="utf-8", errors="replace").splitlines() for path in wanted}


@cache
def _tokens(text: str) -> frozenset[int]:
    """The lines of a program that hold more than comments and docstrings."""
    lines: set[int] = set()
    begins = True  # a statement: a string there is a docstring
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.COMMENT, tokenize.NL):
                continue
            if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                begins = True
                continue
            if not (begins and token.type == tokenize.STRING):
                lines.update(range(token.start[0], token.end[0] + 1))
            begins = False
    except (tokenize.TokenError, SyntaxError):
        return frozenset(range(1, text.count("\n") + 2))
    return frozenset(lines)


def _code(path: str, rows: list[str]) -> set[tuple[str, int]]:
    """Lines of which more than a comment says CUDA."""
    if kind_of(path) == PYTHON:
        inside = _tokens("\n".join(rows) + "\n")
        return {(path, n) for n in inside if n <= len(rows) and OWN.search(rows[n - 1].partition("  #")[0])}
    return {(path, n) for n, row in enumerate(rows, 1) if OWN.search(row.partition("#")[0])}


def _is_prose(path: str, rows: list[str], number: int) -> bool:
    if kind_of(path) == PYTHON:
        return bool(rows[number - 1].strip()) and number not in _tokens("\n".join(rows) + "\n")
    return rows[number - 1].lstrip().startswith("#")


def _changed(path: str, before: list[str], after: list[str]) -> Iterator[tuple[str, int]]:
    if before == after or not after:
        return
    for tag, first, last, _, _ in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag in ("replace", "delete"):
            yield from ((path, n) for n in range(first + 1, last + 1))


@cache
def _catalogue() -> Catalogue:
    return load(DEFAULT_TORCH_NPU)


def _chains(lines: Lines) -> Iterator[str]:
    """The dotted names of a program that begin with torch or torch_npu."""
    for path, rows in lines.items():
        if kind_of(path) != PYTHON or not any("torch" in row for row in rows):
            continue
        try:
            tree = ast.parse("\n".join(rows))
        except (SyntaxError, ValueError, RecursionError):
            continue
        inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and id(node) not in inner:
                name = ast.unparse(node)
                if re.fullmatch(r"torch(?:_npu)?(?:\.\w+)+", name):
                    yield name


def _shim(lines: Lines) -> Counter[str]:
    """What transfer_to_npu does to the names of torch.cuda that programs use."""
    effects: Counter[str] = Counter()
    for name in _chains(lines):
        if name.startswith("torch.cuda."):
            transfer = _catalogue().operators.transfer(name)
            effects["left" if transfer is None or transfer.effect == "left" else "replaced"] += 1
    return effects


if __name__ == "__main__":
    sys.exit(main())
