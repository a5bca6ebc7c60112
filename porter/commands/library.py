"""`porter analyze --library DIR`: the fact file of a third-party package."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from porter.commands.job import prepare
from porter.commands.output import show_bytes, write_text
from porter.errors import UserError
from porter.exits import OK
from porter.rulebook.words import speaker

say = speaker("report")


def write_facts(
    folder: str, paths: Sequence[str], format: str | None, output: Sequence[str] | None, quiet: bool, **given: Any
) -> int:
    if format not in (None, "json"):
        raise UserError(
            f"--format {format}: --library writes facts as JSON only", f"--format {format}：--library 只输出 JSON"
        )
    if paths:
        raise UserError(
            f"--library stands alone: {paths[0]!r} is analysed in another call, with --facts FILE",
            f"--library 需单独使用：请另行分析 {paths[0]!r}，并加 --facts FILE",
        )
    files = output or ()
    if wrong := next((file for file in files if not file.endswith(".json")), None):
        raise UserError(
            f"--output {wrong}: --library writes facts as JSON; name a file that ends in .json",
            f"--output {wrong}：--library 以 JSON 写出；请指定以 .json 结尾的文件",
        )
    from porter.collector import tuned
    from porter.reach.fact_file import make, render

    job = prepare((".",), **given)
    with tuned():
        facts = make(Path(folder), job.session)
    text = render(facts)
    for file in files:
        write_text(file, text)
    if not files:
        show_bytes(text)
    if not quiet:
        counts = {key: str(n) for key, n in (("ends", len(facts["functions"])), ("of", facts["read"]["functions"]))}
        name = " ".join(filter(None, (facts["library"], facts["version"])))
        print(
            say("library.made", job.lang, library=name, modules=str(len(facts["modules"])), **counts), file=sys.stderr
        )
    return OK
