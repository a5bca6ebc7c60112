"""Does `porter checklist` find a planted difference, and how far in front does it stand?

    python benchmarks/checklists.py                       # 20 differences, drawn by seed into the pairs of the tests
    python benchmarks/checklists.py --seed 7 --count 200
    python benchmarks/checklists.py --pairs pairs.txt     # into pairs of yours: two paths a line; they may differ already

A difference is one value of one file: an item that both sides say, and say alike, and that changes the numbers. Its value
is changed in the candidate where it stands. It counts as found where porter says afterwards that the item differs, or the
sum that the item is a part of; its rank is that among all that changes the numbers, and among what was not told before.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from checklist_world import PAIRS, written

from porter.checklist.judge import EQUAL, MATTERS, RENAMED, Comparison, compare
from porter.checklist.read import read_side
from porter.checklist.rules import checklist
from porter.checklist.side import SAID, Fact, side

FIRST = 5
SUMS = {
    "micro-batch": ("global-batch", "card-batch"),
    "accumulation": ("global-batch", "card-batch"),
    "lora": ("finetuning",),
}
WORDS = {
    "schedule": "polynomial", "norm": "ScaleNorm", "activation": "relu", "position": "alibi", "optimizer": "adagrad", "dtype": "float16",
    "template": "vicuna", "finetuning": "freeze", "training-stage": "dpo", "tokenizer": "OtherTokenizer", "padding-side": "left",
}  # fmt: skip


def compared(one: str, other: str) -> Comparison:
    return compare(side(one, read_side(one)), side(other, read_side(other)))


def changed(item: str, fact: Fact) -> tuple[str, str] | None:
    """The text that stands there, and the other one."""
    kind, shown = checklist().items[item]["value"], fact.setting.value if fact.setting else ""
    if re.fullmatch(r"-?[\d.]+(?:[eE][+-]?\d+)?", shown):
        value = float(shown)
        if value == 0:
            return shown, "0.1" if kind == "number" and checklist().items[item]["chapter"] != "tokeniser" else "7"
        return shown, f"{round(value * 2)}" if value == round(
            value
        ) and "." not in shown and "e" not in shown.lower() else f"{value * 2:g}"
    if kind == "switch" and shown.lower() in ("true", "false"):
        return shown, {"true": "false", "false": "true"}[shown.lower()].capitalize() if shown[0].isupper() else {
            "true": "false",
            "false": "true",
        }[shown]
    if kind == "text" and len(shown) > 1:
        return shown, shown[:-1] + ("x" if shown[-1] != "x" else "y")
    return (shown, WORDS[item]) if item in WORDS and re.fullmatch(r"[\w.-]+", shown) else None


def is_said(made: Comparison, name: str) -> bool:
    fact = made.sides[1].facts.get(name)
    return fact is not None and fact.how == SAID


def plants(made: Comparison) -> list[tuple[str, Path, int, str, str]]:
    """What can be planted: item, file, line, the text and what replaces it."""
    found = []
    for row in made.rows:
        item = checklist().items[row.item]
        if row.state not in (EQUAL, RENAMED) or item["weight"] < MATTERS or row.one is None or row.other is None:
            continue
        if row.one.how != SAID or row.other.how != SAID or row.other.source is None or row.other.setting is None:
            continue
        if row.other.setting.value not in (row.other.shown, "true"):
            continue  # the name alone says it
        if any(is_said(made, name) for name in SUMS.get(row.item, ())):
            continue  # a part of a sum that is given: it changes nothing that matters
        path, line = Path(row.other.source.name), row.other.setting.line
        text = path.read_text("utf-8").splitlines()[line - 1] if line else ""
        replaced = changed(row.item, row.other)
        if replaced is None and "--" + row.other.setting.name.lstrip("-") in text and row.other.setting.value == "true":
            replaced = row.other.setting.name, "--verbose"  # a flag that is gone
        if replaced and text.count(replaced[0]) >= 1 and row.other.setting.name.rpartition(".")[2].lstrip("-") in text:
            found.append((row.item, path, line, *replaced))
    return found


def planted(path: Path, line: int, name: str, old: str, new: str) -> None:
    rows = path.read_text("utf-8").splitlines(keepends=True)
    start = max(rows[line - 1].find(name), 0)
    at = rows[line - 1].index(old, start if old in rows[line - 1][start:] else 0)
    rows[line - 1] = rows[line - 1][:at] + new + rows[line - 1][at + len(old) :]
    path.write_text("".join(rows), "utf-8")


def ranks(item: str, before: Comparison, after: Comparison) -> tuple[int | None, int | None]:
    """Of the item, or of the sum that it is a part of: among all, and among what is new."""
    wanted = (item, *SUMS.get(item, ()))
    known = {row.item: (row.one and row.one.value, row.other and row.other.value) for row in before.culprits}
    new = [
        row
        for row in after.culprits
        if known.get(row.item) != (row.one and row.one.value, row.other and row.other.value)
    ]
    places = [[at for at, row in enumerate(rows, 1) if row.item in wanted] for rows in (after.culprits, new)]
    return tuple(min(found, default=None) for found in places)  # type: ignore[return-value]


def of_tests(folder: Path) -> dict[str, tuple[str, str]]:
    roots = {name: written(folder / str(at), files) for at, (name, (files, _, _)) in enumerate(PAIRS.items())}
    return {name: (str(roots[name] / one), str(roots[name] / other)) for name, (_, one, other) in PAIRS.items()}


def of_file(listed: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """Copies: what is planted is written."""
    pairs = {}
    for at, line in enumerate(filter(str.strip, listed.read_text("utf-8").splitlines())):
        copies = []
        for role, name in zip("ab", line.split()):
            source, copy = Path(name), folder / f"{at}{role}" / Path(name).name
            copy.parent.mkdir()
            shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
            copies.append(str(copy))
        pairs[line] = (copies[0], copies[1])
    return pairs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--pairs", help="a file: two paths a line")
    args = parser.parse_args()
    draw = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        pairs = of_tests(Path(folder)) if args.pairs is None else of_file(Path(args.pairs), Path(folder))
        choices = [(name, plant) for name, (one, other) in pairs.items() for plant in plants(compared(one, other))]
        draw.shuffle(choices)
        found = first = first_new = 0
        for name, (item, path, line, old, new) in choices[: args.count]:
            one, other = pairs[name]
            before = compared(one, other)
            setting = before.sides[1].facts[item].setting
            kept = path.read_bytes()
            try:
                planted(path, line, setting.name.rpartition(".")[2] if setting else "", old, new)
                rank, rank_new = ranks(item, before, compared(one, other))
            finally:
                path.write_bytes(kept)
            found += rank is not None
            first += rank is not None and rank <= FIRST
            first_new += rank_new is not None and rank_new <= FIRST
            print(f"{name}: {item} {old} -> {new}: rank {rank} of all, {rank_new} of what is new")
        count = len(choices[: args.count])
        print(
            f"{count} planted ({len(choices)} possible): found {found}, among the first {FIRST} {first}, of what is new {first_new}"
        )
    return 0 if found == count else 1


if __name__ == "__main__":
    sys.exit(main())
