"""The options of `porter fleet`, for typer."""

from __future__ import annotations

from typing import Annotated

import typer

from porter.cli.options import Jobs, Lang, Style, TargetText


def fleet(
    listed: Annotated[
        str,
        typer.Argument(
            metavar="LIST|DIR",
            help="A text or TOML file of folders, git URLs, archives and NAME==VERSION of packages; or a folder of repositories.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Where results go; what is whole there is not done again.", metavar="FOLDER"
        ),
    ],
    library: Annotated[
        list[str] | None,
        typer.Option(
            "--library",
            help="A library that the repositories use, named as in LIST: analysed once, its facts go to all; repeatable.",
            metavar="ENTRY",
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", help="Also what changed since this earlier fleet.", metavar="OLD")
    ] = None,
    jobs: Jobs = None,
    timeout: Annotated[int, typer.Option(min=1, help="Seconds for each repository, fetching it included.")] = 1800,
    memory: Annotated[
        int, typer.Option(min=0, help="Memory limit of each repository in GB; 0: none.", metavar="GB")
    ] = 8,
    ray: Annotated[
        str | None,
        typer.Option("--ray", help="Work on this Ray cluster: auto or HOST:PORT.", metavar="ADDRESS"),
    ] = None,
    target: TargetText = None,
    style: Style = None,
    progress: Annotated[
        str | None, typer.Option("--progress", help="text (default) or json: a line for each repository on stdout.")
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Show neither progress nor summary.")] = False,
    lang: Lang = None,
) -> int:
    """Many repositories, ranked: which first, what blocks most of them, what it costs. Exit 1: one has no result."""
    from porter.commands.fleet import fleet as command

    return command(
        listed, output, against, jobs, timeout, memory, ray, target, style, progress, quiet, lang, library or ()
    )
