"""`porter env`: a shell file with the variables that this repository needs on NPUs, each with its reason."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence

from porter.cli import OK
from porter.commands.analyze import write_text
from porter.commands.job import Job, prepare
from porter.commands.undo import mend
from porter.errors import UserError
from porter.files.errors import FilesError
from porter.files.everything import everything
from porter.files.kinds import DOCKERFILE, INI, JSON, MAKEFILE, SHELL, TOML, YAML, kind_of
from porter.files.read import read
from porter.report.words import say
from porter.run import Run

MARK = "# Written by porter env"
_SPEAKS = frozenset({SHELL, MAKEFILE, DOCKERFILE, YAML, JSON, TOML, INI})
_LARGEST = 200_000  # settings and scripts of more bytes are data
_ASIDE = re.compile(r"(?:^|/)(?:tests?|docs?)/|(?:^|/)test_")  # what is no part of a training run
_GROUPS = ("log", "distributed", "determinism", "memory", "shapes", "host", "debug")
_CANN = """\
if [ -z "${ASCEND_HOME_PATH:-}" ]; then
  if [ -f /usr/local/Ascend/cann/set_env.sh ]; then
    . /usr/local/Ascend/cann/set_env.sh
  elif [ -f /usr/local/Ascend/ascend-toolkit/set_env.sh ]; then
    . /usr/local/Ascend/ascend-toolkit/set_env.sh
  else
    echo "ascend_env.sh: no CANN in /usr/local/Ascend; source its set_env.sh first" >&2
  fi
fi
"""


def env(path: str | None, output: str, cards: int, cores: int, lang: str | None, no_cache: bool) -> int:
    if bool(cards) != bool(cores):
        raise UserError("--cards and --cores belong together: porter env --cards 8 --cores 192")
    if cards and cores < cards:
        raise UserError(f"--cores: {cores} cores are fewer than {cards} cards")
    job = prepare([path] if path else (), lang=lang, no_cache=no_cache)
    mend(job)
    text = written(job, job.run(True), cards, cores)
    if output == "-":
        sys.stdout.write(text)
        return OK
    if os.path.lexists(output) and not _ours(output):
        raise UserError(f"{output}: is there and was not written by porter; name another file with --output")
    write_text(output, text)
    print(say("env.written", job.lang, file=output), file=sys.stderr)
    return OK


def _ours(output: str) -> bool:
    try:
        with open(output, "rb") as file:
            return file.read(len(MARK)) == MARK.encode()
    except OSError as error:
        raise UserError(f"{output}: cannot be read: {error.strerror or error}") from None


def written(job: Job, run: Run, cards: int = 0, cores: int = 0) -> str:
    lang, said = job.lang, _spoken(job)
    lines = [f"{MARK}. {say('env.head', lang)}", "# shellcheck shell=sh", "", f"# {say('env.cann', lang)}", _CANN]
    called: dict[str, list[str]] = {group: [] for group in _GROUPS}
    for setting in job.session.rules.texts.exports():
        place = _place(setting["when"], run, cards)
        if place is None:
            continue
        value = setting["value"].replace("{cores}", _binding(cards, cores))
        line = f'export {setting["variable"]}="${{{setting["variable"]}:-{value}}}"'
        if against := _against(setting, said):
            line = f"# {line}  # {say('env.against', lang, place=against)}"
        elif setting.get("offered"):
            line = f"# {line}"
        called[setting["group"]] += [f"# {setting['why'][lang].replace('{place}', place)}", line]
    for group, body in called.items():
        if body:
            lines += [f"# ---- {say(f'env.{group}', lang)}", *body, ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _place(when: Sequence[str], run: Run, cards: int) -> str | None:
    """What calls for a setting, as a person finds it; None where nothing does."""
    found = []
    for reason in when:
        if reason == "always":
            return ""
        if reason == "cores":
            found += ["--cards"] if cards else []
        elif reason == "launcher":
            found += [run.facts.launcher] if run.facts.launcher and _is_distributed(run) else []
        elif reason.startswith("api:"):
            found += [f"{file.path}:{line}" for file in run.files for name, _, line in file.apis if name == reason[4:]]
        else:
            code, _, why = reason.partition(":")
            found += _findings(run, code, why)
    return min(found, key=_order) if found else None


def _findings(run: Run, code: str, why: str) -> list[str]:
    return [
        f"{f.path}:{f.line} {f.code}"
        for file in run.files
        for f in file.findings
        if f.code == code and why in ("", f.why) and f.suppressed is None
    ]


def _is_distributed(run: Run) -> bool:
    """Whether the launcher starts several processes."""
    try:
        data = read(run.root / run.facts.launcher, run.facts.launcher)
    except FilesError:
        return False
    return re.search(rb"torchrun|torch\.distributed|deepspeed|accelerate launch|horovodrun|mpirun", data) is not None


def _order(place: str) -> tuple:
    """What trains before what tests it, and a line before a bare file."""
    path = place.partition(":")[0]
    return bool(_ASIDE.search(path)), path.count("/"), place


def _binding(cards: int, cores: int) -> str:
    """Each card its share of the cores, in their order; what does not divide is left to the system."""
    if not cards:
        return "1"
    share = cores // cards
    return "1," + ",".join(f"npu{n}:{n * share}-{(n + 1) * share - 1}" for n in range(cards))


def _spoken(job: Job) -> list[tuple[str, str]]:
    """Scripts and settings files of the repository, which may say what forbids a setting."""
    found = []
    for path in everything(job.root, job.settings.exclude):
        if kind_of(path) not in _SPEAKS or _ASIDE.search(path):
            continue
        try:
            data = read(job.root / path, path, limit=_LARGEST)
        except FilesError:
            continue
        if not data.startswith(MARK.encode()):
            found.append((path, data.decode("utf-8", "replace")))
    return found


def _against(setting: dict, said: Iterable[tuple[str, str]]) -> str | None:
    """Where a script says what a setting does not go with; a comment says nothing."""
    for pattern in setting.get("unless", ()):
        search = re.compile(rf"^[^#\n]*?(?:{pattern})", re.MULTILINE)
        for path, text in said:
            if match := search.search(text):
                return f"{path}:{text.count(chr(10), 0, match.end()) + 1}"
    return None
