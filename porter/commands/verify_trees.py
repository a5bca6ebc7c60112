"""The trees that `porter verify` runs: the program as it is, and ported, in copies that are made for the run."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from porter.commands.job import prepare
from porter.commands.output import tell
from porter.errors import UserError
from porter.finding import Finding, apply
from porter.rulebook.words import speaker
from porter.run.run import Run
from porter.verify import legs
from porter.verify.edited import Edited, statements
from porter.verify.legs import Leg

say = speaker("verify")


@dataclass(frozen=True, slots=True)
class Trees:
    original: Leg | None
    ported: Leg
    program: Sequence[str]
    again: Callable[[str, bool], Leg]  # another copy, of that name, of the port or the original as it was before it ran
    run: Run | None = None  # of porter, where it made the port
    files: Mapping[str, bytes] = field(default_factory=dict)
    homes: tuple[Path, ...] = ()  # the user's trees: none of the runs may reach back into them
    left_out: int = 0  # edits that a person should look at
    edited: Edited = field(default_factory=dict)  # where the port is another one than the original

    def findings_at(self, where: str) -> list[Finding]:
        """What porter had said of the line of the port at which it stopped."""
        path, _, number = where.rpartition(":")
        result = next((r for r in self.run.files if r.path == path), None) if self.run else None
        if self.run is None or result is None:
            return []
        before = self.run.data(path).splitlines()
        after = self.files.get(path, self.run.data(path)).splitlines()
        line = _line_before(before, after, int(number))
        return [f for f in result.findings if f.line == line and f.suppressed is None]


def _line_before(before: list[bytes], after: list[bytes], line: int) -> int:
    for _, start, end, after_start, after_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if after_start < line <= after_end:
            return min(start + line - after_start, max(end, start + 1))
    return line


@contextmanager
def trees(
    program: Sequence[str], original: str | None, ported: str | None, smoke: bool, unsafe: bool, repeated: bool,
    lang: str, **given: Any,
) -> Iterator[Trees]:  # fmt: skip
    """`repeated`: the port runs more than once, so that no run may leave anything in the tree of a user."""
    if ported:
        for place in (original, ported):
            if not os.path.isdir(place or ""):
                raise UserError(f"{place}: no such directory", f"{place}：目录不存在")
        old, new = Path(original or "").resolve(), Path(ported).resolve()
        with tempfile.TemporaryDirectory(prefix="porter-") as temporary:
            inside = _inside(old, new)

            def again(name: str, of_original: bool) -> Leg:
                root = old if of_original else new
                return legs.make(root, {name: {}}, root / inside, Path(os.path.realpath(temporary)))[name]

            port = again("ported", False) if repeated else Leg(new, new / inside)
            before = None if smoke else Leg(old, old / inside)
            edited = {} if smoke else statements(old, new, _scripts(new))
            yield Trees(before, port, program, again, homes=(old, new), edited=edited)
        return
    started = next((word for word in program[:2] if word.endswith((".py", ".sh"))), None)
    if started and not os.path.isfile(started):
        raise UserError(f"{started}: no such file", f"{started}：文件不存在")
    script = next((word for word in program if word.endswith((".py", ".sh")) and os.path.isfile(word)), None)
    job = prepare((script,) if script else (".",), lang=lang, **given)
    root = Path(os.path.realpath(job.root))
    if smoke:
        tell(root, lang)
    done, files = (None, {}) if smoke else _port(root, unsafe, lang, given)
    left_out = 0 if unsafe or done is None else sum(f.status == "review" for f in due(done))
    with copies(program, root, done, files) as made:
        yield replace(made, left_out=left_out)


def _inside(*trees: Path) -> Path:
    """Where in one of the trees the user stands: each run is started there, in its own."""
    here = Path(os.path.realpath("."))
    return next((here.relative_to(tree) for tree in trees if here.is_relative_to(tree)), Path())


def _scripts(root: Path) -> Iterator[str]:
    return (str(path.relative_to(root)) for path in root.rglob("*.py"))


@contextmanager
def copies(program: Sequence[str], root: Path, run: Run | None, files: Mapping[str, bytes]) -> Iterator[Trees]:
    """Without a run of porter only the program as it stands."""
    from porter.files.journal import originals

    working_folder = Path(os.path.realpath("."))
    words = program if working_folder.is_relative_to(root) else legs.absolute(program, root)
    # what an earlier `migrate --inplace` replaced is what the program was
    wanted = {"ported": files} if run is None else {"original": originals(root), "ported": files}
    if run is not None and not files and not wanted["original"]:
        raise UserError(
            f"{root.name}: porter has nothing to port here, so there is no original to compare with; run the program "
            "as it stands with --smoke, or compare two trees with --original OLD --ported NEW",
            f"{root.name}：没有可迁移之处，因而没有可比较的原程序；请用 --smoke 直接运行，"
            "或用 --original OLD --ported NEW 比较两个目录",
        )
    with tempfile.TemporaryDirectory(prefix="porter-") as temporary:
        place = Path(os.path.realpath(temporary))
        made = legs.make(root, wanted, working_folder, place)
        before, after = made.get("original"), made["ported"]
        edited = statements(before.root, after.root, {*wanted["original"], *files}) if before else {}

        def again(name: str, of_original: bool) -> Leg:
            wanted_files = wanted["original"] if of_original else files
            return legs.make(root, {name: wanted_files}, working_folder, place)[name]

        yield Trees(before, after, words, again, run, files, (root,), edited=edited)


def _port(root: Path, unsafe: bool, lang: str, given: Mapping[str, Any]) -> tuple[Run, dict[str, bytes]]:
    port_run = prepare((str(root),), lang=lang, **given).run(quiet=True, anew=True)
    changes = {r.path: r.review if unsafe else r.auto for r in port_run.files}
    files = {path: apply(port_run.data(path), change) for path, change in changes.items() if change}
    counts = {status: sum(f.status == status for f in due(port_run)) for status in ("auto", "review", "manual")}
    review = say("ported.review", lang, n=counts["review"]) if unsafe else ""
    shown = say("ported", lang, files=len(files), auto=counts["auto"], review=review, manual=counts["manual"])
    print(shown, file=sys.stderr)
    return port_run, files


def due(run: Run) -> Iterator[Finding]:
    return (f for r in run.files for f in r.findings if f.suppressed is None and not f.optional)
