"""`porter instrument`: lines that record, in a training program; `--remove` takes them out again."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from porter.commands.settings import choose_target, relative, root_of
from porter.errors import UserError, check_choice
from porter.exits import OK
from porter.files.discover import discover
from porter.files.errors import FilesError, printable
from porter.files.read import digest, read
from porter.files.write import ABSENT
from porter.instrument import NORMED_STEPS, SEED, edit
from porter.instrument.loops import Missing
from porter.instrument.own_files import CONFIG, Edited, beside, removals
from porter.instrument.program import Found, Program
from porter.report.diff import unified
from porter.rulebook.words import speaker
from porter.run import config
from porter.run.config import Settings

say = speaker("instrument")
LEVELS = ("L0", "L1", "mix")
SHOWN = 3


def instrument(
    path: str,
    remove: bool,
    inplace: bool,
    out: str | None,
    allow_dirty: bool,
    no_undo: bool,
    lang: str | None,
    quiet: bool,
    **asked: Any,
) -> int:
    if inplace and out:
        raise UserError("--inplace and --out exclude each other", "--inplace 与 --out 不能同时使用")
    if not os.path.exists(path):
        raise FilesError("missing", path=path)
    root, table = root_of([path])
    settings = config.read(table).overridden(lang=lang)
    if remove:
        if any(
            each is not None and each is not False for name, each in asked.items() if name not in ("level", "steps")
        ):
            raise UserError(
                "--remove stands alone; name what is to be put in afterwards",
                "--remove 只能单独使用；需要插入的内容请之后再指定",
            )
        # of the whole project where a script is named: its lines may stand in several files
        edits, notes = removals(root, _below(root, path), settings.exclude), []
    else:
        given = _given(asked)
        program = _program(root, path, _session(settings, root, table), asked, settings, _needs_step(given))
        edits, missing = edit.edits(program, program.found if _needs_step(given) else [], given)
        probe = (asked["level"], _numbers("--steps", asked["steps"])) if asked["msprobe"] else None
        edits += beside(root, program.script, probe)
        notes = _notes(program, given, missing, asked, settings.lang)
    changed = [each for each in edits if each.before != each.after]
    if inplace:
        _write(root, changed, allow_dirty, not no_undo, settings.lang)
    elif out:
        _copy(root, path, changed, out, settings)
    else:
        _show(root, changed)
    if not quiet:
        deed = "done" if inplace else "copied" if out else "would"
        for line in [*_summary(changed, deed, out, remove, settings.lang), *notes]:
            print(line, file=sys.stderr)
    return OK


def _below(root: Path, path: str) -> str:
    """How the names in a folder of the project begin; empty of the project itself, and of a script."""
    return relative(root, path) + "/" if os.path.isdir(path) and not os.path.samefile(path, root) else ""


def _session(settings: Settings, root: Path, table: Any) -> Any:
    from porter.analysis.session import open_session

    return open_session(choose_target(settings, root, table))


def _program(
    root: Path, path: str, session: Any, asked: dict[str, Any], settings: Settings, needs_step: bool
) -> Program:
    """Of a script; of a folder, the one script in it that trains. Raises UserError."""
    around = bool(asked["msprobe"] or asked["profile"])
    if not os.path.isdir(path):
        program = Program(root, relative(root, path), session, around)
        if needs_step and not program.found:
            raise _nothing([program], path)
        return program
    programs = [Program(root, name, session, around) for name in _scripts(root, path, settings)]
    training = [program for program in programs if program.found]
    if len(training) == 1:
        return training[0]
    if not training:
        raise _nothing(programs, path)
    names = [printable(program.script) for program in training]
    more = len(names) - SHOWN
    en, zh = (", ".join(names[:SHOWN]) + (say("more", lang, n=more) if more > 0 else "") for lang in config.LANGUAGES)
    raise UserError(
        f"name one script, {len(names)} of {path} train: {en}",
        f"请指定一个脚本，{path} 中有 {len(names)} 个训练脚本：{zh}",
    )


def _scripts(root: Path, path: str, settings: Settings) -> list[str]:
    from porter.files.paths import is_test
    from porter.project.entry_scripts import Scripts
    from porter.project.import_lines import imports

    files = [file.path for file in discover([path], root=root, exclude=settings.exclude) if not file.error]
    scripts = Scripts(files)
    for name in files:
        if name.endswith(".py") and not is_test(name):
            text = read(root / name, name)
            scripts.look(name, text, imports(text))
    return sorted(scripts.entries())


def _nothing(programs: list[Program], path: str) -> UserError:
    """With the line that it would need, where anything looks like a step."""
    near = [(each.path, one) for program in programs for each in program.missing for one in each.plan.missing]
    if near:
        return UserError(_told(*near[0], "en"), _told(*near[0], "zh"))
    return UserError(
        f"{path}: no training step is found; call porter_recorder.step(loss=..., optimizer=...) before the optimiser's step",
        f"{path}：没有找到训练步；请在优化器 step 之前调用 porter_recorder.step(loss=..., optimizer=...)",
    )


def _told(path: str, missing: Missing, lang: str) -> str:
    return say(f"missing.{missing.why}", lang, place=f"{printable(path)}:{missing.line}", text=missing.text)


def _needs_step(given: dict[str, Any]) -> bool:
    return bool(given.keys() - {"seed"})


def _given(asked: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `start`."""
    check_choice("--level", asked["level"], LEVELS)
    given: dict[str, Any] = {}
    folder = asked["baseline"]
    if log := asked["loss_log"] or folder and f"{folder.rstrip('/')}/run{{run}}.jsonl":
        given["log"] = log
    seed = asked["seed"] if asked["seed"] is not None else SEED if folder else None
    if seed is not None:
        given["seed"] = seed
    norms = asked["norms"] or (NORMED_STEPS if folder else "")
    if norms:
        given["norms"] = "all" if norms == "all" else _numbers("--norms", norms)
    if asked["batches"] is not None:
        given["batches"] = asked["batches"]
    for name, value in (("save_gradients", asked["save_gradients"]), ("lr_zero", asked["lr_zero"])):
        if value:
            given[name] = True
    if asked["msprobe"]:
        given["msprobe"] = CONFIG
    if asked["profile"]:
        given["profile"] = asked["profile"]
    if not given:
        raise UserError(
            "say what to put in: --seed, --loss-log FILE, --baseline DIR, --lr-zero, --msprobe, --profile DIR; or --remove",
            "请指定要插入的内容：--seed、--loss-log FILE、--baseline DIR、--lr-zero、--msprobe、--profile DIR；或 --remove",
        )
    if not given.keys().isdisjoint(("norms", "save_gradients", "batches")) and "log" not in given:
        raise UserError(
            "--norms, --batches and --save-gradients go into a log: give --loss-log FILE",
            "--norms、--batches 和 --save-gradients 写入日志：请给出 --loss-log FILE",
        )
    return given


def _numbers(option: str, text: str) -> list[int]:
    try:
        numbers = sorted({int(part) for part in text.split(",")})
        if min(numbers) < 0:
            raise ValueError
        return numbers
    except ValueError:
        raise UserError(
            f"{option}: {text!r} is no list of steps; write 0,1", f"{option}：{text!r} 不是步数列表；请写作 0,1"
        ) from None


def _write(root: Path, changed: Sequence[Edited], allow_dirty: bool, kept: bool, lang: str) -> None:
    from porter.commands.output import mend
    from porter.files.git import dirty
    from porter.files.journal import Transaction

    mend(root, lang, kept=kept)
    if not changed:
        return
    with Transaction(root, kept, ports=False) as transaction:
        if not allow_dirty:
            digests = transaction.home.written()
            old = [e for e in changed if e.before is not None and digests.get(e.path) != digest(e.before)]
            if names := dirty(root, [each.path for each in old]):
                en, zh = (
                    say("dirty", lang, names=", ".join(map(printable, names[:SHOWN]))) for lang in config.LANGUAGES
                )
                raise UserError(en, zh)
        for each in changed:
            transaction.add(each.path, each.after, ABSENT if each.before is None else digest(each.before))
        transaction.commit()


def _copy(root: Path, path: str, changed: Sequence[Edited], out: str, settings: Settings) -> None:
    from porter.files.copy import write_copy

    # the step of a script may stand outside of the folder that is named: then only a copy of the project records
    below = _below(root, path)
    top = path if below and all(each.path.startswith(below) for each in changed) else root
    write_copy(top, out, {each.path: each.after for each in changed}, settings.exclude, root)


def _show(root: Path, changed: Sequence[Edited]) -> None:
    from porter.commands.view import place

    prefix, _ = place(root)
    sys.stdout.flush()
    for each in changed:
        if each.before is not None and each.after is not None:
            sys.stdout.buffer.write(unified(prefix + each.path, each.before, each.changes))
    sys.stdout.buffer.flush()


def _summary(changed: Sequence[Edited], deed: str, out: str | None, remove: bool, lang: str) -> list[str]:
    if not changed:
        return [say("none.remove" if remove else "none", lang)]
    key, when = f"removed.{deed}" if remove else f"put.{deed}", "would" if deed == "would" else "done"
    lines = [say(key, lang, n=len(changed), out=out or "")]
    new, gone = [e.path for e in changed if e.before is None], [e.path for e in changed if e.after is None]
    lines += [say(f"new.{when}", lang, names=", ".join(map(printable, new)))] if new else []
    lines += [say(f"gone.{when}", lang, names=", ".join(map(printable, gone)))] if gone else []
    return lines


def _notes(
    program: Program, given: dict[str, Any], missing: list[tuple[str, Missing]], asked: dict[str, Any], lang: str
) -> list[str]:
    notes = [_step(found, lang) for found in program.found] if _needs_step(given) else []
    notes += [_told(path, one, lang) for path, one in missing]
    if asked["baseline"]:
        script = printable(program.script)
        notes += say("baseline", lang, script=script, folder=asked["baseline"].rstrip("/")).splitlines()
    return notes


def _step(found: Found, lang: str) -> str:
    places = ", ".join(str(line) for line in sorted(found.plan.at))
    return say(
        "step", lang, place=f"{printable(found.path)}:{places}", framework=say(f"framework.{found.framework}", lang)
    )
