"""The less everyday commands for typer: options, help, and a call into `porter.commands`. The help lists them last."""

from __future__ import annotations

from typing import Annotated

import typer

from porter.cli.catalog import catalog_app
from porter.cli.checklist import checklist
from porter.cli.checkpoint import checkpoint_app
from porter.cli.fleet import fleet
from porter.cli.instrument import Filled, instrument
from porter.cli.options import (
    Exclude,
    FileOutputs,
    Format,
    Jobs,
    Lang,
    NoCache,
    Paths,
    Plain,
    Style,
    TargetText,
    Verified,
    listed,
)
from porter.errors import UserError

Program = Annotated[
    list[str] | None,
    typer.Argument(help="The program: train.py and its options, or -- torchrun ... train.py.", show_default=False),
]
Setup = Annotated[bool, typer.Option("--setup", help="Make the virtual NPU first (network, C++ compiler).")]
Tree = Annotated[str | None, typer.Option(metavar="DIR", help="Compare two trees: the program as it was, as ported.")]
Smoke = Annotated[bool, typer.Option("--smoke", help="Only run the program as it stands; compare with nothing.")]
Unsafe = Annotated[bool, typer.Option("--unsafe", help="Port with the edits a person should look at.")]
Chip = Annotated[
    str | None, typer.Option("--as", metavar="CHIP", help="Measure documented differences of A2, A3, 910.")
]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="NAMES", help="Of --as, these; with commas.")]
Steps = Annotated[int, typer.Option(min=0, help="Stop after N optimiser steps; 0: run to the end.", metavar="N")]
Timeout = Annotated[int, typer.Option(min=1, help="Stop each run after this many seconds.")]
Memory = Annotated[int, typer.Option(min=0, help="Memory limit of each process in GB; 0: none.", metavar="GB")]
Devices = Annotated[int, typer.Option(min=0, help="NPUs there are; default: what the launcher's options name.")]
Tolerance = Annotated[
    float | None, typer.Option(min=0, help="Relative; default: 0, or 1e-3 where the port has fused operators.")
]
Python = Annotated[str | None, typer.Option(help="The interpreter that has torch; default: porter's own.")]
Wheel = Annotated[str | None, typer.Option(help="With --setup: a torch_npu wheel at hand.", metavar="FILE")]
Output = Annotated[str | None, typer.Option("--output", "-o", help="Also write the result as JSON.", metavar="FILE")]


cache_app = typer.Typer()


@cache_app.callback()
def cache(lang: Lang = None) -> None:
    """The cache of earlier analyses: dir, clean."""


@cache_app.command("dir")
def cache_dir() -> int:
    """Where it is."""
    from porter.resources import cache_dir as directory

    print(directory())
    return 0


@cache_app.command("clean")
def cache_clean(lang: Lang = None) -> int:
    """Remove it."""
    from porter.commands.undo import clean

    return clean(lang=lang)


def report(
    file: Annotated[str, typer.Argument(help="What `porter analyze --output findings.json` wrote.")],
    output: FileOutputs = None,
    format: Format = None,
    lang: Lang = None,
    verified: Verified = None,
) -> int:
    """A report of earlier findings, made elsewhere."""
    from porter.commands import report as command

    return command.report(file, output, format, lang, verified)


def diff(
    before: Annotated[str, typer.Argument(help="findings.json of then.")],
    after: Annotated[str, typer.Argument(help="findings.json of now.")],
    output: FileOutputs = None,
    format: Plain = None,
    lang: Lang = None,
) -> int:
    """What got fixed between two reports, and what is new."""
    from porter.commands import report as command

    return command.diff(before, after, output, format, lang)


def undo(path: Annotated[str, typer.Argument(help="Anything inside the project.")] = ".", lang: Lang = None) -> int:
    """Take back the last `migrate --inplace`."""
    from porter.commands import undo as command

    return command.undo(path, lang)


def verify(
    program: Program = None,
    setup: Setup = False,
    original: Tree = None,
    ported: Tree = None,
    smoke: Smoke = False,
    unsafe: Unsafe = False,
    chip: Chip = None,
    only: Only = None,
    steps: Steps = 0,
    timeout: Timeout = 600,
    memory: Memory = 0,
    devices: Devices = 0,
    tolerance: Tolerance = None,
    python: Python = None,
    wheel: Wheel = None,
    target: TargetText = None,
    style: Style = None,
    format: Plain = None,
    output: Output = None,
    lang: Lang = None,
) -> int:
    """Run the port on a virtual NPU and compare its losses with the original's."""
    given = locals()
    from porter.commands import verify as command

    return command.verify(**{**given, "program": program or (), "only": listed(only)})


def doctor(format: Plain = None, lang: Lang = None) -> int:
    """What of python, torch, torch_npu and CANN is here, and whether it fits together."""
    from porter.commands import doctor as command

    return command.doctor(format, lang)


def env(
    path: Annotated[str | None, typer.Argument(help="The repository; default: here.", show_default=False)] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write; - shows it.")] = "ascend_env.sh",
    cards: Annotated[int, typer.Option(min=0, max=1024, help="NPUs of a host: binds cores to them.", metavar="N")] = 0,
    cores: Annotated[int, typer.Option(min=0, help="CPU cores of a host.", metavar="M")] = 0,
    lang: Lang = None,
    no_cache: NoCache = False,
) -> int:
    """Write the environment variables that this repository needs on NPUs, each with its reason."""
    from porter.commands.env import env as command

    return command(path, output, cards, cores, lang, no_cache)


def diagnose(
    log: Annotated[str, typer.Argument(help="A log or a traceback, also gzipped; - is standard input.")],
    repo: Annotated[
        str | None,
        typer.Option(help="The code it is of; default: here, if this is the root of a project.", metavar="DIR"),
    ] = None,
    findings: Annotated[
        str | None, typer.Option(help="Instead: what `porter analyze -o findings.json` wrote.", metavar="FILE")
    ] = None,
    target: TargetText = None,
    format: Plain = None,
    lang: Lang = None,
    no_cache: NoCache = False,
) -> int:
    """What a log or traceback shows: cause, place and cure. Exit 0: a cause is named; 1: none is known."""
    from porter.commands.diagnose import diagnose as command

    return command(log, repo, findings, target, format, lang, no_cache)


def compare(
    baseline: Annotated[str, typer.Argument(help="The log of the baseline, or a folder with those of its ranks.")],
    candidate: Annotated[str | None, typer.Argument(help="The same of the port.", show_default=False)] = None,
    profiles: Annotated[
        bool,
        typer.Option("--profiles", help="They are performance profiles: where the time of a step goes. One is enough."),
    ] = False,
    dumps: Annotated[
        bool, typer.Option("--dumps", help="They are dumps of msProbe: the first module whose outputs differ.")
    ] = False,
    rerun: Annotated[
        str | None, typer.Option(help="The baseline once more: its own noise is no difference.", metavar="BASELINE2")
    ] = None,
    repo: Annotated[
        str | None, typer.Option(help="The code: what porter finds there of the same.", metavar="DIR")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Also write FILE: .html, .json, .txt.", metavar="FILE")
    ] = None,
    format: Annotated[str | None, typer.Option("--format", help="text (default), json or html.")] = None,
    target: TargetText = None,
    lang: Lang = None,
    no_cache: NoCache = False,
) -> int:
    """At which stage two training runs part. Exit 0: no difference to act on; 1: one; 4: not enough evidence."""
    if profiles and dumps:
        raise UserError("--profiles and --dumps exclude each other", "--profiles 与 --dumps 不能同时使用")
    if dumps:
        from porter.commands.dumps import dumps as about_dumps

        return about_dumps(baseline, candidate, rerun, repo, output, format, target, lang, no_cache)
    if profiles:
        from porter.commands.profiles import profiles as about_profiles

        return about_profiles(baseline, candidate, rerun, repo, format, output, lang)
    from porter.commands.compare import compare as command

    return command(baseline, candidate, rerun, repo, output, format, target, lang, no_cache)


def advise(
    paths: Paths = None,
    format: Annotated[str | None, typer.Option(help="text (default), json or markdown.")] = None,
    all: Annotated[
        bool, typer.Option("--all", help="Also in full what is worth less here, and what every training run calls for.")
    ] = False,
    exclude: Exclude = None,
    target: TargetText = None,
    jobs: Jobs = None,
    lang: Lang = None,
    no_cache: NoCache = False,
) -> int:
    """What matters for precision and speed once the port runs: only what this repository calls for."""
    given = locals()
    from porter.commands.advise import advise as command

    return command(**{**given, "paths": tuple(paths or ()), "exclude": tuple(exclude or ())})


def register(app: typer.Typer) -> None:
    # verify: every option behind the program's name belongs to the program
    context = {"allow_interspersed_args": False, "ignore_unknown_options": False}
    app.add_typer(cache_app, name="cache")
    app.add_typer(catalog_app, name="catalog")
    app.add_typer(checkpoint_app, name="checkpoint")
    app.command("report")(report)
    app.command("diff")(diff)
    app.command("undo")(undo)
    app.command("advise")(advise)
    app.command("diagnose")(diagnose)
    app.command("compare")(compare)
    app.command("checklist")(checklist)
    app.command("fleet")(fleet)
    app.command("doctor")(doctor)
    app.command("env")(env)
    app.command("instrument", cls=Filled)(instrument)
    app.command("verify", context_settings=context)(verify)
