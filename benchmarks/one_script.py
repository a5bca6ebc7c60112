"""The command line of a benchmark that takes one script of a repository: REPOSITORY SCRIPT [options] -- the script's words."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def parser(about: str | None, seconds: int) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("repository", nargs="?", type=Path)
    made.add_argument("script", nargs="?")
    made.add_argument("--python", default=sys.executable)
    made.add_argument("--folder", default=".", help="where the script is started, in the repository")
    made.add_argument("--seconds", type=int, default=seconds)
    made.add_argument("--keep", type=Path, help="where the copies are left")
    made.add_argument("--count", action="store_true")
    return made


def asked(options: argparse.ArgumentParser) -> argparse.Namespace:
    """`words` of it are those behind `--`."""
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    return options.parse_args(words[:at], argparse.Namespace(words=words[at + 1 :]))


@contextmanager
def place(keep: Path | None) -> Iterator[Path]:
    """An empty folder; what was in `keep` goes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        yield folder.resolve()
