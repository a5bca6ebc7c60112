"""Real code to measure on, outside the repository: wheels by name and version, unpacked, and repositories of GitHub by commit.

Nothing of it is imported or run.

python benchmarks/corpora.py        fetch what is missing and say where it lies
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

COMMITS = Path(__file__).resolve().parent / "same_bytes.txt"


class Corpus(NamedTuple):
    name: str
    version: str
    sha256: str  # of the wheel, which is the same file on every platform


CORPORA = (
    Corpus("transformers", "4.46.3", "a12ef6f52841fd190a3e5602145b542d03507222f2c64ebb7ee92e8788093aef"),
    Corpus("diffusers", "0.31.0", "cbc498ae63f4abfc7c3a07649cdcbee229ef2f9a9a1f0d19c9bbaf22f8d30c1f"),
    Corpus("monai", "1.4.0", "a715ca9ff8a068e36efdd147420f0ff02ead744909e7ea0998f31129c4997c9b"),
    Corpus("lightning", "2.4.0", "560163af9711cf59055c448232c473150a299089efce0d2be3cc3288082d8768"),
    Corpus("mmengine", "0.10.5", "7c204dde312008a8a1afa09437408fde00675d326c73bcaac688c46dfb633cad"),
    Corpus("accelerate", "1.1.1", "61edd81762131b8d4bede008643fa1e1f3bf59bec710ebda9771443e24feae02"),
)


class Missing(Exception):
    """A corpus that cannot be had; says which and what to do."""


def directory() -> Path:
    """PORTER_CORPORA, or a folder of the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return Path(os.environ.get("PORTER_CORPORA") or cache / "porter-benchmarks")


def fetch(corpus: Corpus, into: Path) -> Path:
    """The folder with the unpacked wheel."""
    folder = into / f"{corpus.name}-{corpus.version}"
    if folder.is_dir():
        return folder
    with tempfile.TemporaryDirectory() as temporary:
        wheel = _download(corpus, Path(temporary))
        unpacked = Path(temporary) / "unpacked"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        into.mkdir(parents=True, exist_ok=True)
        half = into / f".{folder.name}.{os.getpid()}"
        shutil.move(unpacked, half)
        half.rename(folder)
    return folder


def _download(corpus: Corpus, into: Path) -> Path:
    wanted = f"{corpus.name}=={corpus.version}"
    # a wheel for every platform is data: pip has nothing to build, and nothing of it runs
    only = ["--no-deps", "--only-binary=:all:", "--platform=any", "--abi=none", "--implementation=py"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        *only,
        "--dest",
        str(into),
    ]
    done = subprocess.run([*command, wanted], check=False, stderr=subprocess.PIPE, text=True)
    wheels = list(into.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        last = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise Missing(f"{wanted}: pip cannot download it: {last}")
    found = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if found != corpus.sha256:
        raise Missing(f"{wanted}: {wheels[0].name} has sha256 {found}, not {corpus.sha256}")
    return wheels[0]


def listed() -> list[list[str]]:
    """The repositories of same_bytes.txt: each with its commit, then the digests."""
    return [line.split() for line in COMMITS.read_text().splitlines() if line]


def checkout(repository: str, commit: str) -> Path:
    """Only the commit is fetched, and nothing of it runs: no hook, no filter, no submodule."""
    folder = directory() / "checkouts" / f"{repository.replace('/', '+')}-{commit[:12]}"
    if folder.is_dir():
        return folder
    half = folder.with_name(folder.name + f".{os.getpid()}")
    half.mkdir(parents=True)
    try:
        _git(half, "init", "--quiet")
        _git(half, "fetch", "--quiet", "--depth=1", f"https://github.com/{repository}", commit)
        _git(half, "checkout", "--quiet", "FETCH_HEAD")
        shutil.rmtree(half / ".git")  # what porter asks git is not what is measured
        half.rename(folder)
    except (OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(half, ignore_errors=True)
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise Missing(f"{repository}: git cannot fetch {commit[:12]}: {said[-1]}") from None
    return folder


def _git(folder: Path, *words: str) -> None:
    plain = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "filter.lfs.smudge=cat")
    quiet = os.environ | {"GIT_TERMINAL_PROMPT": "0"}  # for a repository that is gone GitHub asks for a password
    subprocess.run(["git", *plain, *words], cwd=folder, env=quiet, check=True, capture_output=True, text=True)


def gated(folder: Path, sample: int = 1) -> list[tuple[str, bytes]]:
    """Name and bytes of the Python files in which anything could concern porter, of every `sample`th."""
    from porter.rulebook.gate import GATE

    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.py"))[::sample]
    return [(path, data) for path in paths if GATE.search(data := (folder / path).read_bytes())]


def main() -> int:
    try:
        for corpus in CORPORA:
            folder = fetch(corpus, directory())
            print(f"{folder}: {sum(1 for _ in folder.rglob('*.py'))} Python files")
    except Missing as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
