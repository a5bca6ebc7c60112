"""`porter env`: a shell file with the variables that this repository needs on NPUs, each with its reason."""

from __future__ import annotations

import os
import sys

from porter.commands.job import Job, prepare
from porter.commands.output import write_text
from porter.errors import UserError
from porter.exits import OK
from porter.files.all_files import everything
from porter.files.errors import FilesError
from porter.files.read import opened, read
from porter.files.script_texts import LARGEST, MARK
from porter.project.environment import World, exports
from porter.rulebook.words import speaker
from porter.run.run import Run

say = speaker("report")

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
        example = "porter env --cards 8 --cores 192"
        raise UserError(f"--cards and --cores belong together: {example}", f"--cards 与 --cores 需同时给出：{example}")
    if cards and cores < cards:
        raise UserError(
            f"--cores: {cores} cores are fewer than {cards} cards", f"--cores：{cores} 个核少于 {cards} 张卡"
        )
    job = prepare([path] if path else (), lang=lang, no_cache=no_cache)
    text = written(job, job.run(True), cards, cores)
    if output == "-":
        sys.stdout.write(text)
        return OK
    if os.path.lexists(output) and not _ours(output):
        raise UserError(
            f"{output}: is there and was not written by porter; name another file with --output",
            f"{output}：文件已存在且不是 porter 写出的；请用 --output 另指定一个文件",
        )
    write_text(output, text)
    print(say("env.written", job.lang, file=output), file=sys.stderr)
    return OK


def _ours(output: str) -> bool:
    with opened(output) as (file, _):
        return file.read(len(MARK)) == MARK


def written(job: Job, run: Run, cards: int = 0, cores: int = 0) -> str:
    lang = job.lang
    lines = [
        f"{MARK.decode()}. {say('env.head', lang)}",
        "# shellcheck shell=sh",
        "",
        f"# {say('env.cann', lang)}",
        _CANN,
    ]
    called: dict[str, list[str]] = {group: [] for group in _GROUPS}
    for setting in exports(job.session.rules.texts.named("exports").values(), _world(job, run), cards, cores):
        line = f'export {setting.variable}="${{{setting.variable}:-{setting.value}}}"'
        if setting.against:
            line = f"# {line}  # {say('env.against', lang, place=setting.against)}"
        elif setting.offered:
            line = f"# {line}"
        called[setting.group] += [f"# {setting.why[lang]}", line]
    for group, body in called.items():
        if body:
            lines += [f"# ---- {say(f'env.{group}', lang)}", *body, ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _world(job: Job, run: Run) -> World:
    def data(path: str) -> bytes | None:
        try:
            return read(job.root / path, path, limit=LARGEST)
        except FilesError:
            return None

    return World(run.files, run.facts.launch.script, everything(job.root, job.settings.exclude), data)
