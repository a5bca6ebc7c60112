"""Since which version packages have wheels, asked of PyPI: rules/wheels.toml.

    python benchmarks/wheels.py                whether those rows say what PyPI says
    python benchmarks/wheels.py h5py onnx      rows for other packages

A wheel is one for Linux on x86-64; `aarch64` names the first version with one for that processor, or none. Where a package goes on
with an old line (opencv-python 3.4 beside 4), `first` names the first version of each.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import tomli
from packaging.tags import Tag
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

RULES = Path(__file__).resolve().parent.parent / "rules/wheels.toml"
_SIMPLE = "https://pypi.org/simple/{}/"
_JSON = {"Accept": "application/vnd.pypi.simple.v1+json"}


class Files(NamedTuple):
    tags: Mapping[Version, Sequence[Tag]]  # of the wheels of each version; () where there are sources alone
    sources: frozenset[Version]  # versions with sources


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="*")
    args = parser.parse_args()
    if args.name:
        for name in args.name:
            print("\n".join(written(name, asked(name), range(8, 13))), end="\n\n")
        return 0
    wrong = 0
    for row in tomli.loads(RULES.read_text(encoding="utf-8"))["wheels"]:
        for name in row["name"]:
            files = asked(name)
            for python, said in row.get("first", {}).items():
                if (there := first(files, int(python.partition(".")[2]))) != said:
                    wrong += 1
                    print(f"{name}: Python {python} has wheels since {there}, not {said}")
            if "aarch64" in row and (there := since(files, "aarch64")) != row["aarch64"]:
                wrong += 1
                print(f"{name}: aarch64 has wheels since {there}, not {row['aarch64']}")
    print(f"{wrong} wrong")
    return wrong > 0


def asked(name: str) -> Files:
    with urllib.request.urlopen(urllib.request.Request(_SIMPLE.format(name), headers=_JSON), timeout=60) as answer:
        files = json.load(answer)["files"]
    tags: dict[Version, list[Tag]] = defaultdict(list)
    sources: set[Version] = set()
    for file in files:
        try:
            if file["filename"].endswith(".whl"):
                _, version, _, its = parse_wheel_filename(file["filename"])
                tags[version] += its
            else:
                _, version = parse_sdist_filename(file["filename"])
                sources.add(version)
                tags[version] += ()
        except (InvalidSdistFilename, InvalidWheelFilename, InvalidVersion):
            continue
    return Files({version: tags[version] for version in sorted(tags) if not version.is_prerelease}, frozenset(sources))


def first(files: Files, minor: int) -> str:
    """The first version that Python 3.`minor` has wheels of, and that of each later line which begins without them."""
    lines: dict[int, list[bool]] = defaultdict(list)
    starts: dict[int, Version] = {}
    for version, tags in files.tags.items():
        has = any(_runs(tag, minor) and _is_on(tag, "x86_64") for tag in tags)
        lines[version.major].append(has)
        if has:
            starts.setdefault(version.major, version)
    found = [version for major, version in starts.items() if version == min(starts.values()) or not lines[major][0]]
    return " ".join(map(str, found)) or "none"


def since(files: Files, machine: str) -> str:
    found = (version for version, tags in files.tags.items() if any(_is_on(tag, machine) for tag in tags))
    return str(next(found, "none"))


def _runs(tag: Tag, minor: int) -> bool:
    if tag.abi == "abi3" and tag.interpreter.startswith("cp3"):
        return int(tag.interpreter[3:] or 0) <= minor
    return tag.interpreter in ("py3", f"cp3{minor}")


def _is_on(tag: Tag, machine: str) -> bool:
    return tag.platform == "any" or tag.platform.startswith(("manylinux", "linux")) and tag.platform.endswith(machine)


def written(name: str, files: Files, minors: Iterable[int]) -> list[str]:
    firsts = ", ".join(f'"3.{minor}" = "{first(files, minor)}"' for minor in minors)
    old = [version for version in files.tags if version not in files.sources]
    return [
        "[[wheels]]",
        f'name = ["{name}"]',
        f"first = {{ {firsts} }}",
        f'aarch64 = "{since(files, "aarch64")}"',
        f"# {len(old)} of {len(files.tags)} versions without sources, to {max(old, default='none')}",
    ]


if __name__ == "__main__":
    sys.exit(main())
