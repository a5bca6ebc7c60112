"""How a command ends: an exit code, and one line on stderr where something went wrong."""

from __future__ import annotations

import itertools
import os
import sys
from typing import Any

from porter.errors import UserError
from porter.exits import INTERNAL, INTERRUPTED, OK, USAGE
from porter.files.errors import FilesError, printable


def outcome(command: Any) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name or a message may hold what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        if _language() == "zh":
            from porter.cli.help import localise

            localise(command)
        code = command.main(prog_name="porter", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # `porter ... | head`: nobody reads on, and Python must not complain about it when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except (UserError, FilesError) as error:
        return _say(error.text(_language()), USAGE)
    except Exception as error:
        if type(error).__name__ == "Abort":
            return INTERRUPTED
        if hasattr(error, "format_message"):  # what typer and click raise for a wrong command line
            return _say(_usage(error), USAGE)
        if "PORTER_DEBUG" in os.environ:  # engine/refusals.py asks the same of a rule that fails
            raise
        place = f"{type(error).__name__}: {error}"
        message = {
            "en": "internal error, please report it (PORTER_DEBUG=1 shows more)",
            "zh": "内部错误，请反馈（PORTER_DEBUG=1 显示详情）",
        }
        return _say(f"{message[_language()]}: {place}", INTERNAL)


def _say(text: str, code: int) -> int:
    print("porter: " + printable(" ".join(text.split())), file=sys.stderr)
    return code


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    command = f"{context.command_path} --help" if context else "porter --help"
    return f"{error.format_message()} ({command} says what there is)"


def _language() -> str:
    """Before the settings are known, the command line and PORTER_LANG are all there is to ask; the last word counts."""
    lang = os.environ.get("PORTER_LANG")
    for word, following in itertools.pairwise([*sys.argv[1:], ""]):
        if word == "--lang" or word.startswith("--lang="):
            lang = following if word == "--lang" else word.removeprefix("--lang=")
    return "zh" if lang == "zh" else "en"
