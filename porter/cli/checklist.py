"""The options of `porter checklist`, for typer."""

from __future__ import annotations

from typing import Annotated

import typer

from porter.cli.options import Lang


def checklist(
    baseline: Annotated[
        str, typer.Argument(help="Launch script, configuration, log or folder of the baseline; several with commas.")
    ],
    candidate: Annotated[
        str, typer.Argument(help="What the port is started with, in the same way.", show_default=False)
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Also write FILE: .html, .json, .txt.", metavar="FILE")
    ] = None,
    format: Annotated[str | None, typer.Option("--format", help="text (default), json or html.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Also what is equal, and every key that is not known.")] = False,
    lang: Lang = None,
) -> int:
    """What differs between two launch scripts or configurations, the likeliest culprit first. Exit 1: something that matters."""
    from porter.commands.checklist import checklist as command

    return command(baseline, candidate, output, format, all, lang)
