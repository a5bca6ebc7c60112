"""`porter verify`: the port on a virtual NPU, compared with the original on the same device."""

from __future__ import annotations

import io
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

from porter import exits
from porter.checks.registry import load
from porter.commands.job import prepare
from porter.commands.output import tell, write_text
from porter.commands.settings import settings_here
from porter.errors import UserError, check_choice
from porter.finding import Finding, apply
from porter.rulebook.words import speaker
from porter.run.run import Run
from porter.verify import install, interpreter, legs
from porter.verify.compare import compare
from porter.verify.culprit import (
    ENVIRONMENT,
    ORIGINAL,
    PORT,
    TORCH_NPU,
    UNSTEADY,
    VIRTUAL,
    Culprit,
    blamed,
    stops_early,
)  # fmt: skip
from porter.verify.edited import Edited, not_run, statements
from porter.verify.launch import Limits, Outcome, devices_asked_for, no_program
from porter.verify.launch import run as launch
from porter.verify.legs import Leg
from porter.verify.noise import explains
from porter.verify.result import Result, as_json, data
from porter.verify.show import text

if TYPE_CHECKING:
    from porter.diagnose.conclude import Answer

say = speaker("verify")

_NAMED = 8  # operators
EXITS = {
    PORT: exits.FOUND, ORIGINAL: exits.ORIGINAL, ENVIRONMENT: exits.ENVIRONMENT, VIRTUAL: exits.DEVICE,
    TORCH_NPU: exits.DEVICE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trees:
    original: Leg | None
    ported: Leg
    program: Sequence[str]
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


def verify(
    program: Sequence[str],
    setup: bool,
    original: str | None,
    ported: str | None,
    smoke: bool,
    unsafe: bool,
    steps: int,
    timeout: int,
    memory: int,
    devices: int,
    tolerance: float | None,
    python: str | None,
    wheel: str | None,
    format: str | None,
    output: str | None,
    lang: str | None,
    target: str | None = None,
    style: str | None = None,
) -> int:
    lang = settings_here(target, lang)[0].lang
    check_choice("--format", format, ("text", "json"))
    if wheel and not setup:
        raise UserError("--wheel belongs to --setup", "--wheel 需与 --setup 同用")
    if not (setup or program):
        raise no_program()
    if bool(original) != bool(ported):
        raise UserError(
            "--original OLD and --ported NEW go together; without them porter makes the port in a copy",
            "--original OLD 与 --ported NEW 需同时给出；都不给出时，porter 在副本中自行迁移",
        )
    ours = interpreter.ask(python or _named(program))
    if setup:
        begun = time.monotonic()
        device = install.set_up(ours, wheel, lambda key, **values: print(say(key, lang, **values), file=sys.stderr))
        seconds = round(time.monotonic() - begun)
        print(say("setup.done", lang, torch=device.torch, torch_npu=device.torch_npu, seconds=seconds))
        if not program:
            return exits.OK
    device = install.find(ours)
    limits = Limits(timeout, memory, steps, devices or devices_asked_for(program))
    with _trees(program, original, ported, smoke, unsafe, lang, target=target, style=style) as trees:
        result = _compared(trees, ours, device, limits, tolerance, lang)
    if output:
        write_text(output, as_json(result))
    sys.stdout.write(as_json(result) if format == "json" else "\n".join(text(data(result), lang)) + "\n")
    return EXITS[result.culprit.name] if result.culprit else exits.OK


def verified(program: Sequence[str], root: Path, run: Run, files: Mapping[str, bytes], lang: str) -> bool:
    """Whether `files`, put into a copy of the tree, make a program that does what the original does. Says so on stderr."""
    ours = interpreter.ask(_named(program))
    device = install.find(ours)
    limits = Limits(devices=devices_asked_for(program))
    with _copies(program, root, run, files) as trees:
        result = _compared(trees, ours, device, limits, None, lang)
    print("\n".join(text(data(result), lang)), file=sys.stderr)
    return result.verified


def _named(program: Sequence[str]) -> str | None:
    """The interpreter, where the program's command names one by its path."""
    first = program[0] if program else ""
    return first if os.sep in first and os.path.basename(first).startswith("python") else None


def _compared(
    trees: Trees, ours: interpreter.Interpreter, device: install.Device, limits: Limits, tolerance: float | None,
    lang: str,
) -> Result:  # fmt: skip
    first = second = None
    if trees.original is not None:
        first = _run("original", trees.original, trees, ours, device, limits, lang)
    if first is None or not stops_early(first):
        second = _run("ported", trees.ported, trees, ours, device, limits, lang)
    comparison = None
    if first is not None and first.ran and second is not None and second.ran:
        comparison = compare(first, second, tolerance)
    edited = sum(map(len, trees.edited.values()))
    missed = tuple(not_run(trees.edited, second.records.ran)) if second is not None else ()
    result = Result(device, limits.devices, second, first, comparison, edited=edited, missed=missed)
    guilty = blamed(first, second, result.verdict, _own_names(trees.ported.root))
    if first is not None and trees.original is not None and comparison is not None and result.verdict == "apart":
        again = _run("original", trees.original, trees, ours, device, limits, lang)
        if again.ran and explains(compare(first, again, tolerance), comparison):
            guilty = Culprit(ORIGINAL, beside=UNSTEADY)
    known = _known(trees, second, lang) if second is not None else ()
    return replace(result, culprit=guilty, known=known, notes=tuple(_notes(trees, result, guilty, lang)))


def _own_names(root: Path) -> frozenset[str]:
    """What the tree can mean by an import: a module that is absent there is its own fault."""
    return frozenset(
        entry.name.removesuffix(".py") for entry in os.scandir(root) if entry.is_dir() or _is_module(entry)
    )


def _is_module(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(".py")


def _known(trees: Trees, port: Outcome, lang: str) -> tuple[str, ...]:
    """What porter had said of the lines at which the port stopped."""
    findings = {e.where: trees.findings_at(e.where) for e in port.records.errors if e.where}
    if not any(findings.values()):
        return ()
    texts = load().texts
    return tuple(
        f"{f.path}:{f.line}: {f.code} {f.status}: {texts.message(f, lang)} (porter explain {f.code})"
        for where in sorted(findings)
        for f in findings[where]
    )


def _notes(trees: Trees, result: Result, guilty: Culprit | None, lang: str) -> Iterator[str]:
    failed = next((leg for leg in (result.original, result.ported) if leg is not None and not leg.ran), None)
    if failed is not None and failed.code is None:
        yield say("note.timeout", lang)
    elif failed is not None and failed.code == -signal.SIGKILL:
        yield say("note.killed", lang)
    elif failed is not None and (cause := _cause(failed.output)):
        code = cause.codes[0] if cause.codes else ""
        yield say("note.cause.code" if code else "note.cause", lang, title=cause.title[lang], code=code)
    if trees.left_out and guilty is not None and guilty.name == PORT:
        command = shlex.join(["porter", "verify", "--unsafe", *trees.program])
        yield say("note.review", lang, n=trees.left_out, command=command)
    if result.verdict == "apart" and result.original and result.ported:
        before, after = (leg.records.operator_names() for leg in (result.original, result.ported))
        for leg, names in (("original", before - after), ("ported", after - before)):
            if names:
                shown = ", ".join(sorted(names)[:_NAMED])
                yield say("note.operators", lang, leg=say(f"leg.{leg}", lang), names=shown)
    target = trees.run.target.torch_npu if trees.run else result.device.torch_npu
    if target != result.device.torch_npu:
        yield say("note.target", lang, target=target, ran=result.device.torch_npu)


def _cause(output: str) -> Answer | None:
    """The likeliest cause that `porter diagnose` names for what a leg printed."""
    from porter.diagnose.conclude import conclude
    from porter.diagnose.match import matchers, meanings_of
    from porter.diagnose.scan import Scan
    from porter.logs.reading import blocks

    rules = load()
    scanned = Scan(matchers(meanings_of(rules.texts, rules.tables.packages))).read(blocks(io.BytesIO(output.encode())))
    return next((answer for answer in conclude(scanned, rules.texts, None).answers if answer.kind == "cause"), None)


def _run(
    name: str, leg: Leg, trees: Trees, ours: interpreter.Interpreter, device: install.Device, limits: Limits, lang: str
) -> Outcome:
    print(say("running", lang, leg=say(f"leg.{name}", lang)), file=sys.stderr)
    edited = trees.edited if name == "ported" else None
    return launch(trees.program, leg.folder, leg.root, ours, device, limits, name == "original", trees.homes, edited)


@contextmanager
def _trees(
    program: Sequence[str], original: str | None, ported: str | None, smoke: bool, unsafe: bool, lang: str,
    **given: Any,
) -> Iterator[Trees]:  # fmt: skip
    if ported:
        for place in (original, ported):
            if not os.path.isdir(place or ""):
                raise UserError(f"{place}: no such directory", f"{place}：目录不存在")
        old, new = Path(original or "").resolve(), Path(ported).resolve()
        yield Trees(None if smoke else Leg(old, old), Leg(new, new), program, homes=(old, new))
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
    left_out = 0 if unsafe or done is None else sum(f.status == "review" for f in _due(done))
    with _copies(program, root, done, files) as trees:
        yield replace(trees, left_out=left_out)


@contextmanager
def _copies(program: Sequence[str], root: Path, run: Run | None, files: Mapping[str, bytes]) -> Iterator[Trees]:
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
        copies = legs.make(root, wanted, working_folder, Path(os.path.realpath(temporary)))
        before, after = copies.get("original"), copies["ported"]
        edited = statements(before.root, after.root, {*wanted["original"], *files}) if before else {}
        yield Trees(before, after, words, run, files, (root,), edited=edited)


def _port(root: Path, unsafe: bool, lang: str, given: Mapping[str, Any]) -> tuple[Run, dict[str, bytes]]:
    port_run = prepare((str(root),), lang=lang, **given).run(quiet=True, anew=True)
    changes = {r.path: r.review if unsafe else r.auto for r in port_run.files}
    files = {path: apply(port_run.data(path), change) for path, change in changes.items() if change}
    counts = {status: sum(f.status == status for f in _due(port_run)) for status in ("auto", "review", "manual")}
    review = say("ported.review", lang, n=counts["review"]) if unsafe else ""
    shown = say("ported", lang, files=len(files), auto=counts["auto"], review=review, manual=counts["manual"])
    print(shown, file=sys.stderr)
    return port_run, files


def _due(run: Run) -> Iterator[Finding]:
    return (f for r in run.files for f in r.findings if f.suppressed is None and not f.optional)
