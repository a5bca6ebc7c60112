"""The help of every command and option in Chinese, from rules/words/cli.toml, where --lang zh or PORTER_LANG=zh asks for it.

The English stands in the code, where the options are: it must be there before anything is read. A text of the command line
is found by its English.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from porter.rulebook.words import words


@lru_cache(maxsize=1)
def chinese() -> dict[str, str]:
    """Every text of the command line, by its English."""
    return dict(zip(words("cli", "en").values(), words("cli", "zh").values()))


def localise(command: Any) -> None:
    """`command` and all below it, as typer made them."""
    for key in ("help", "short_help", "epilog"):
        text = getattr(command, key)
        setattr(command, key, chinese().get(text, text))
    for parameter in command.params:
        if help := getattr(parameter, "help", None):
            parameter.help = chinese().get(help, help)
    context = command.context_class
    formatter = type("Formatter", (_Chinese, context.formatter_class), {})
    command.context_class = type("Context", (context,), {"formatter_class": formatter})
    for below in getattr(command, "commands", {}).values():
        localise(below)


class _Chinese:
    """What click itself writes into a help page. typer has a click of its own, which is private: it is called untyped."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        above: Any = super()
        above.write_usage(prog, args, prefix or words("cli", "zh")["usage"])

    def write_heading(self, heading: str) -> None:
        above: Any = super()
        above.write_heading(chinese().get(heading, heading))

    def write_dl(self, rows: Iterable[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        above: Any = super()
        above.write_dl([(first, chinese().get(second, second)) for first, second in rows], *args, **kwargs)
