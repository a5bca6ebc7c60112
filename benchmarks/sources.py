"""What porter says about the target without a source, or as its own inference.

    python benchmarks/sources.py            numbers, by kind of stanza
    python benchmarks/sources.py --list     each such statement, with its file

A statement has a source where its stanza names evidence or a reference, and where the catalogue of the wheels bears it out: a name
of torch.cuda that moves is there under torch.npu, one without a counterpart is not. Grades: V the vendor says so or its wheel does,
E seen in public work, I porter's inference.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

import tomli

from porter.analysis.session import open_session
from porter.engine.session import Session
from porter.resources import rules_dir

OF_THE_TARGET = (
    "rule", "namespace", "api", "parameter", "variable", "option", "setting", "package", "kernel", "limit", "npu_variable",
    "cause", "export", "route", "release", "wheels", "advice",
)  # fmt: skip
OF_PORTER = "PRT00"  # what porter says of its own work
KINDS = ("V", "E", "evidence", "reference", "catalogue", "I", "none")


def statements() -> Iterator[tuple[str, str, str, str]]:
    """(file, kind of stanza, name, what it is known from)."""
    session = open_session()
    for path in sorted([*rules_dir().glob("*.toml"), *(rules_dir() / "advice").glob("*.toml")]):
        for kind, rows in tomli.loads(path.read_text("utf-8")).items():
            for row in rows if kind in OF_THE_TARGET else ():
                if not str(row.get("code", "")).startswith(OF_PORTER):
                    yield str(path.relative_to(rules_dir())), kind, _name(kind, row), _known(kind, row, session)


def _name(kind: str, row: dict) -> str:
    key = next(
        k for k in ("id", "match", "from", "import", "keyword", "key", "variable", "name", "code", "kind") if k in row
    )
    value = row[key]
    first = value if isinstance(value, str) else value[0]
    return first if kind in ("rule", "advice") or "code" not in row or key == "code" else f"{row['code']} {first}"


def _known(kind: str, row: dict, session: Session) -> str:
    if "grade" in row:
        return row["grade"]
    if "evidence" in row or "reference" in row:
        return "evidence" if "evidence" in row else "reference"
    names = [row["match"]] if isinstance(row.get("match"), str) else row.get("match", [])
    if kind == "namespace":
        return "catalogue"
    if kind in ("api", "parameter") and all(_borne_out(name, kind, row, session) for name in names):
        return "catalogue"
    return "none"


def _borne_out(name: str, kind: str, row: dict, session: Session) -> bool:
    """Whether the wheels have what the name becomes; have nothing of the name, where it has no counterpart."""
    if name.startswith("torch_npu"):
        return session.has(name)
    if not name.startswith("torch.cuda"):
        return False
    if "to" in row:
        return session.has(f"torch.npu.{row['to']}")
    return session.has(name.replace("torch.cuda", "torch.npu", 1)) is (kind == "parameter")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true")
    rows = list(statements())
    if parser.parse_args().list:
        for file, kind, name, known in rows:
            if known in ("I", "none"):
                print(f"{known:4} rules/{file}: [[{kind}]] {name}")
        return
    counts = Counter((kind, known) for _, kind, _, known in rows)
    print("| stanza | " + " | ".join(KINDS) + " |\n" + "|---" * (len(KINDS) + 1) + "|")
    for kind in OF_THE_TARGET:
        print(f"| {kind} | " + " | ".join(str(counts[kind, known] or "") for known in KINDS) + " |")
    total = Counter(known for *_, known in rows)
    print("| all | " + " | ".join(str(total[known]) for known in KINDS) + " |")


if __name__ == "__main__":
    main()
