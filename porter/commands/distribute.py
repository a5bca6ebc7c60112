"""`porter migrate --distribute SCRIPT`: one process per device, on top of the edits of the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from porter.analysis.file import File
from porter.commands.edited import Edited
from porter.commands.job import Job
from porter.commands.settings import relative
from porter.distribute.compose import composed, line_before
from porter.distribute.notes import Note
from porter.distribute.own_files import HELPER, helper, launcher, launcher_of
from porter.distribute.plan import distributed_already, plan
from porter.distribute.refusals import Refused
from porter.errors import Unreadable, UserError
from porter.files.errors import FilesError, printable
from porter.files.read import beginning, digest
from porter.finding import Change, FileResult, apply
from porter.instrument.program import Program
from porter.python.source import Source
from porter.python.trees import parse_or_refuse
from porter.rulebook.words import speaker
from porter.run.run import Run

say = speaker("distribute")
# frameworks as instrument/trainers.py and instrument/program.py call them; rules/words/instrument.toml has a word for each. Those
# that join the process group themselves where torchrun starts them, and those that start their processes themselves
_TRAINERS = frozenset({"transformers", "trl", "sentence_transformers", "accelerate", "deepspeed", "megatron"})
_OWN_LAUNCH = frozenset({"lightning", "pytorch_lightning", "lightning_loop", "mmengine", "mmcv"})


@dataclass(frozen=True)
class Distributed:
    script: str
    changes: dict[str, tuple[Change, ...]]  # of the original bytes: what the run and the distribution make of them
    before: dict[str, bytes]
    new: dict[str, bytes]  # files that are put beside the script
    notes: tuple[Note, ...]
    told: Callable[[str, int], str]  # a place as the user's file has it
    parallel: tuple[tuple[str, int], ...] = ()  # where DataParallel stood

    def onto(self, edits: list[Edited], run: Run, unsafe: bool) -> list[Edited]:
        """The files of the run, with these edits among those for review."""
        known = {edit.result.path: edit for edit in edits}
        results = {result.path: result for result in run.files}
        for path, changes in self.changes.items():
            edit = known.get(path)
            if edit is None:
                data = self.before[path]
                edit = Edited(replace(results[path], digest=digest(data)), data, (), (), 0)
            known[path] = replace(edit, main=changes if unsafe else edit.main, more=changes)
        return [known[result.path] for result in run.files if result.path in known]

    def answered(self, run: Run) -> Run:
        """The run, in which what was said of DataParallel has its edit."""
        places = {self.told(*place) for place in self.parallel}
        files = [
            replace(result, findings=tuple(
                replace(f, status="review") if f.code == "PRT205" and f"{f.path}:{f.line}" in places else f
                for f in result.findings
            ))
            for result in run.files
        ]  # fmt: skip
        return replace(run, files=tuple(files))

    def lines(self, lang: str, unsafe: bool) -> Iterable[str]:
        for note in self.notes:
            place = self.told(note.path, note.line) if note.path else ""
            yield say(f"note.{note.key}", lang, place=printable(place), text=note.text)
        if self.new:
            yield say("new" if unsafe else "review", lang, names=", ".join(map(printable, sorted(self.new))))
            yield say("start", lang, launcher=printable(launcher_of(self.script)))


class _Ported(Program):
    """A program as the run would leave it."""

    def __init__(self, root: Path, script: str, job: Job, ported: dict[str, bytes]) -> None:
        super().__init__(root, script, job.session, False)
        self.ported = ported

    def read(self, path: str) -> bytes:
        return self.ported[path] if path in self.ported else super().read(path)


def distributed(job: Job, run: Run, script: str) -> Distributed:
    """Raises UserError where the script cannot be distributed as a whole."""
    if not os.path.isfile(script) or not script.endswith(".py"):
        raise UserError(
            f"--distribute {script}: name one training script, a file that ends in .py",
            f"--distribute {script}：请指定一个训练脚本（以 .py 结尾的文件）",
        )
    if job.session.target.style != "rename":
        raise UserError(
            "--distribute writes the style rename; take --style rename",
            "--distribute 只支持 rename 风格；请使用 --style rename",
        )
    root, name = Path(os.path.realpath(job.root)), relative(job.root, script)
    results = {result.path: result for result in run.files}
    if name not in results:
        raise UserError(
            f"--distribute {script}: the run does not read this file; name its project",
            f"--distribute {script}：本次运行未读取该文件；请指定其所在项目",
        )
    before = {path: run.data(path) for path, result in results.items() if path.endswith(".py") and result.review}
    ported = {path: apply(data, results[path].review) for path, data in before.items()}
    program = _Ported(root, name, job, ported)

    def told(path: str, line: int) -> str:
        """A place in the file as it is."""
        return f"{path}:{line_before(before[path], results[path].review, line) if path in before else line}"

    try:
        files = _files(program)
        if (place := distributed_already(files)) is not None:
            return Distributed(name, {}, {}, {}, (Note("already", *place[:2], place[2]),), told)
        if framework := _framework(program):
            return _launched(root, name, framework, told)
        made = plan(files, job.session.target)
        changes = dict(_composed(files, made.changes, before, run, results))
    except Refused as why:
        raise _told(why, told(why.path, why.line)) from None
    folder = name.rpartition("/")[0]
    new = {f"{folder}/{HELPER}.py".lstrip("/"): helper(job.session.target), launcher_of(name): launcher(name)}
    return Distributed(name, changes, before, _absent(root, new), tuple(made.notes), told, tuple(made.parallel))


def _composed(
    files: list[File],
    made: dict[str, tuple[Change, ...]],
    before: dict[str, bytes],
    run: Run,
    results: dict[str, FileResult],
) -> Iterator[tuple[str, tuple[Change, ...]]]:
    """The edits of the run and those of the plan, by file; `before` gets the files that the run leaves as they are."""
    for file in files:
        if edits := made.get(file.path):
            first = results[file.path].review
            old = before.setdefault(file.path, run.data(file.path))
            changes = composed(old, first, file.source.stored.edits(edits))
            _check(file, apply(old, changes))
            yield file.path, changes


def _files(program: Program) -> list[File]:
    """Of the program, the script first; what cannot be read only matters where the script is that."""
    files = []
    for path in sorted(program.distances, key=lambda path: (program.distances[path], path)):
        try:
            files.append(program.file(path))
        except (Unreadable, FilesError):
            if path == program.script:
                raise
    return files


def _framework(program: Program) -> str:
    kinds = {found.framework for found in program.found}
    return next((kind for kind in sorted(kinds) if kind in _TRAINERS | _OWN_LAUNCH), "")


def _launched(root: Path, name: str, framework: str, told: Callable[[str, int], str]) -> Distributed:
    if framework in _OWN_LAUNCH:
        raise Refused("launches", name, 1, framework)
    new = _absent(root, {launcher_of(name): launcher(name)})
    return Distributed(name, {}, {}, new, (Note("trainer", name, 1, framework),), told)


def _absent(root: Path, new: dict[str, bytes]) -> dict[str, bytes]:
    """Those that are not there yet. Raises UserError for a file of that name that is another one."""
    for path, data in new.items():
        if os.path.lexists(root / path) and beginning(root / path, len(data) + 1) != data:
            raise UserError(
                f"{path}: a file of this name is there already; move it away",
                f"{path}：已存在同名文件；请先将其移走",
            )
    return {path: data for path, data in new.items() if not os.path.lexists(root / path)}


def _check(file: File, data: bytes) -> None:
    """The promises: the new text parses, and no comment is lost."""
    from porter.analysis.python_promises import comments

    try:
        made = Source(data)
        parse_or_refuse(made.utf8)
        lost = comments(file.source) - comments(made)
    except (Unreadable, FilesError):
        raise Refused("broken", file.path, 1) from None
    if lost:
        raise Refused("comment", file.path, 1, min(lost))


def _told(why: Refused, place: str) -> UserError:
    en, zh = (say(f"refused.{why.why}", lang, place=printable(place), text=why.text) for lang in ("en", "zh"))
    return UserError(en, zh)
