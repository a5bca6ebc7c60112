"""`porter verify`: the port on a virtual NPU, compared with the original on the same device."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from porter import exits
from porter.checks.registry import load
from porter.commands.output import write_text
from porter.commands.settings import settings_here
from porter.commands.verify_trees import Trees, copies, trees
from porter.errors import UserError, check_choice
from porter.rulebook.words import speaker
from porter.run.run import Run
from porter.verify import differences, install, interpreter
from porter.verify.compare import Comparison, compare, is_of_steps
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
from porter.verify.did import Parting, partings, rewritten, suspects
from porter.verify.edited import not_run
from porter.verify.launch import Limits, Outcome, devices_asked_for, no_program, stopped_in_order
from porter.verify.launch import run as launch
from porter.verify.legs import Leg
from porter.verify.locks import left_behind
from porter.verify.noise import explains
from porter.verify.places import Places
from porter.verify.result import Result, as_json, data
from porter.verify.sensitivity import measure
from porter.verify.sensitivity_show import differs
from porter.verify.show import text

if TYPE_CHECKING:
    from porter.diagnose.conclude import Answer

say = speaker("verify")

_NAMED = 8  # operators
EXITS = {
    PORT: exits.FOUND, ORIGINAL: exits.ORIGINAL, ENVIRONMENT: exits.ENVIRONMENT, VIRTUAL: exits.DEVICE,
    TORCH_NPU: exits.DEVICE,
}  # fmt: skip


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
    chip: str | None = None,
    only: Sequence[str] = (),
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
    if only and not chip:
        raise UserError("--only belongs to --as", "--only 需与 --as 同用")
    chosen = differences.of(chip, only) if chip else ()
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
    given = {"target": target, "style": style}
    with (
        stopped_in_order(),
        trees(program, original, ported, smoke, unsafe, bool(chosen), lang, **given) as made,
        tempfile.TemporaryDirectory(prefix="porter-updates-") as updates,
    ):
        runs = _Runs(made, ours, device, limits, lang, updates if chosen else "", differences.watched(chosen))
        result = _compared(runs, tolerance)
        if chip and result.ported is not None and result.ported.ran:
            found = measure(chip, chosen, bool(only), result.ported, result.verdict == "equal", runs.again)
            result = replace(result, sensitivity=found)
    if output:
        write_text(output, as_json(result))
    sys.stdout.write(as_json(result) if format == "json" else "\n".join(text(data(result), lang)) + "\n")
    return EXITS[result.culprit.name] if result.culprit else exits.OK


def verified(program: Sequence[str], root: Path, run: Run, files: Mapping[str, bytes], lang: str) -> bool:
    """Whether `files`, put into a copy of the tree, make a program that does what the original does. Says so on stderr."""
    ours = interpreter.ask(_named(program))
    device = install.find(ours)
    limits = Limits(devices=devices_asked_for(program))
    with stopped_in_order(), copies(program, root, run, files) as made:
        result = _compared(_Runs(made, ours, device, limits, lang), None)
    print("\n".join(text(data(result), lang)), file=sys.stderr)
    return result.verified


def _named(program: Sequence[str]) -> str | None:
    """The interpreter, where the program's command names one by its path."""
    first = program[0] if program else ""
    return first if os.sep in first and os.path.basename(first).startswith("python") else None


@dataclass(frozen=True, slots=True)
class _Runs:
    """What is run, and how."""

    trees: Trees
    ours: interpreter.Interpreter
    device: install.Device
    limits: Limits
    lang: str
    updates: str = ""  # a folder for the first updates of the parameters, where the port is to run again
    watched: str = ""

    def of(self, name: str, leg: Leg) -> Outcome:
        settings = {"VIRTUAL_NPU_UPDATES": self.updates, "VIRTUAL_NPU_DIFFERENCES": self.watched}
        given = settings if self.updates and name == "ported" else {}
        return self._launch(leg, say(f"leg.{name}", self.lang), name == "original", given)

    def watched_again(self, steps: int) -> tuple[Parting, ...]:
        """What the port does otherwise, of both once more, in copies as they were before they ran."""
        seen = []
        with ExitStack() as stack:
            for name in ("original", "ported"):
                leg = self.trees.again(f"watched-{name}", name == "original")
                stack.callback(shutil.rmtree, leg.root, ignore_errors=True)
                said = say("leg.watched", self.lang, leg=say(f"leg.{name}", self.lang))
                seen.append((leg, self._launch(leg, said, name == "original", {"VIRTUAL_NPU_EVENTS": "1"}, steps)))
            (original, first), (port, second) = seen
            places = Places(original.root, port.root)
            found = partings(first.records.events, second.records.events, places)
            return found + suspects(found, self.trees.edited, second.records.ran, places)

    def again(self, name: str, states: str) -> Outcome:
        """The port once more, on a device with differences of the target."""
        leg = self.trees.again(name, False)
        try:
            settings = {"VIRTUAL_NPU_UPDATES": self.updates, "VIRTUAL_NPU_DIFFERENCES": states}
            return self._launch(leg, say("leg.differs", self.lang, name=differs(name, self.lang)), False, settings)
        finally:
            shutil.rmtree(leg.root, ignore_errors=True)

    def _launch(self, leg: Leg, said: str, original: bool, settings: Mapping[str, str], steps: int = 0) -> Outcome:
        print(say("running", self.lang, leg=said), file=sys.stderr)
        return launch(
            self.trees.program, leg.folder, leg.root, self.ours, self.device,
            replace(self.limits, steps=steps or self.limits.steps), original, self.trees.homes,
            None if original else self.trees.edited, settings,
        )  # fmt: skip


def _compared(runs: _Runs, tolerance: float | None) -> Result:
    trees, first, second = runs.trees, None, None
    if trees.original is not None:
        first = runs.of("original", trees.original)
    if first is None or not stops_early(first):
        second = runs.of("ported", trees.ported)
    comparison = None
    if first is not None and first.ran and second is not None and second.ran:
        comparison = compare(first, second, tolerance)
    edited = sum(map(len, trees.edited.values()))
    missed = tuple(not_run(trees.edited, second.records.ran)) if second is not None else ()
    result = Result(runs.device, runs.limits.devices, second, first, comparison, edited=edited, missed=missed)
    guilty = blamed(first, second, result.verdict, _own_names(trees.ported.root))
    if first is not None and trees.original is not None and comparison is not None and result.verdict == "apart":
        again = runs.of("original", trees.original)
        if again.ran and explains(compare(first, again, tolerance), comparison):
            guilty = Culprit(ORIGINAL, beside=UNSTEADY)
    if result.verified and trees.original is not None and trees.run is None and second is not None:
        places = Places(trees.original.root, trees.ported.root)
        result = replace(result, unfelt=tuple(rewritten(trees.edited, second.records.ran, places)))
    at_fault = guilty is not None and guilty.name == PORT and first is not None and first.ran
    if at_fault and second is not None and second.code is not None:  # what hangs would hang again
        result = replace(result, partings=runs.watched_again(_steps_to_watch(comparison, second, runs.limits.steps)))
    known = _known(trees, second, runs.lang) if second is not None else ()
    return replace(result, culprit=guilty, known=known, notes=tuple(_notes(trees, result, guilty, runs.lang)))


def _steps_to_watch(comparison: Comparison | None, port: Outcome, limit: int) -> int:
    """To where losses or gradients part, or the port stopped, and one more: a series may count from 0 in each of several
    optimisers. 0: all."""
    if comparison is not None:
        reached = [curve.parts_at for curve in comparison.curves if is_of_steps(curve.name)]
    else:
        series = [len(points) for name, points in port.records.series.items() if is_of_steps(name)]
        reached = [max([port.records.steps, *series])]
    return min([*(at + 2 for at in reached if at is not None), *([limit] if limit else [])], default=0)


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
        if lock := left_behind():
            yield say("note.lock", lang, path=lock)
    elif failed is not None and failed.code == -signal.SIGKILL:
        yield say("note.killed", lang)
    elif failed is not None and (cause := _cause(failed.output)):
        code = cause.codes[0] if cause.codes else ""
        yield say("note.cause.code" if code else "note.cause", lang, title=cause.title[lang], code=code)
    if compiles := next(
        (leg for leg in (result.ported, result.original) if leg is not None and leg.records.compiled), None
    ):
        yield say(
            "note.compiled", lang, where=", ".join(filter(None, sorted(set(compiles.records.compiled))[:_NAMED])) or "-"
        )
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
