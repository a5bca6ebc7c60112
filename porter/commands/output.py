"""What commands write and say beside their result, and what they do about a journal before they begin."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from porter.errors import UserError
from porter.exits import FOUND, OK, UNSURE
from porter.files.errors import Message

if TYPE_CHECKING:
    from porter.files.documents import Json
    from porter.terminal import Line

KINDS = ("text", "json", "html")  # of a comparison
_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def write_text(file: str, text: str) -> None:
    """Write what `--output` and its kin name: a file, which is replaced, or a pipe. Raises UserError."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS, 0o666)
        with open(descriptor, "wb") as stream:
            if hasattr(os, "O_NONBLOCK"):  # a pipe that nobody reads is refused by now; one that is read may be slow
                os.set_blocking(descriptor, True)
            stream.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        why = error.strerror or error
        raise UserError(f"{file}: cannot be written: {why}", f"{file}：无法写入：{why}") from None


def output_kind(output: str | None) -> str:
    """The format of the file that `--output` of a comparison names, by its suffix; "" without `--output`."""
    if output is None:
        return ""
    kinds = {"json": "json", "html": "html", "htm": "html", "txt": "text"}
    kind = kinds.get(output.rpartition(".")[2].lower())
    if kind is None:
        raise UserError(
            f"--output {output}: the suffix chooses the format; write .html, .json or .txt",
            f"--output {output}：格式由后缀决定；请使用 .html、.json 或 .txt",
        )
    return kind


def put_out(
    found: Json,
    lines: Callable[[], list[Line]],
    page: Callable[[], str],
    output: str | None,
    format: str | None,
    whole: Callable[[], list[Line]] | None = None,
) -> None:
    """A comparison, as `--output` and `--format` ask for it. `whole`: what a file gets, where a terminal gets less."""
    from porter.terminal import plain, show

    def text(kind: str) -> str:
        if kind == "json":
            from porter.report.sanitise import as_json

            return as_json(found)
        return page() if kind == "html" else plain((whole or lines)())

    if output:
        write_text(output, text(output_kind(output)))
    if format in (None, "text"):
        show(lines(), sys.stdout)
    else:
        show_bytes(text(format or ""))


def exit_of(outcome: str) -> int:
    """Of a comparison that may end without an answer."""
    return {"difference": FOUND, "none": OK}.get(outcome, UNSURE)


def show_bytes(text: str) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def mend(root: Path, lang: str, kept: bool) -> None:
    """Before files are written: what an interrupted run left is finished or taken back.

    `kept`: this run keeps a journal for `porter undo`.
    """
    from porter.files.journal import recover

    if message := recover(root, kept):
        print("porter: " + message.text(lang), file=sys.stderr)


def tell(root: Path, lang: str) -> None:
    """Before files are read: one line where a journal lies there that is not finished, or not ours. Writes nothing."""
    if message := _look(root):
        print("porter: " + message.text(lang), file=sys.stderr)


def is_half_written(root: Path) -> bool:
    message = _look(root)
    return message is not None and message.key in ("unfinished", "unkept")  # unkept: by a run without undo


def _look(root: Path) -> Message | None:
    if not os.path.lexists(root / ".porter"):
        return None
    from porter.files.journal import look

    return look(root)
