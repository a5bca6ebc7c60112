"""Commands, options, exit codes; no logic. What a command does is in porter/commands."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any

import typer

from porter import __version__
from porter.cli.options import (
    All,
    Annotate,
    Baseline,
    Distribute,
    Exclude,
    Explained,
    Facts,
    FailOn,
    Force,
    Format,
    Fuse,
    Ignore,
    Jobs,
    Lang,
    LangOfAll,
    Library,
    NoCache,
    Outputs,
    Paths,
    Plain,
    Quiet,
    Select,
    Since,
    SourceUrl,
    Statistics,
    StdinName,
    Style,
    TargetText,
    Verbose,
    WriteBaseline,
    given,
)
from porter.cli.tools import register
from porter.exits import USAGE

EPILOG = """\b
Examples:
  porter analyze .                       what stands in the way of running this on an NPU
  porter analyze . -o report.html        the report as one page to pass around
  porter analyze . -o report/            the same, and beside it a page for each file, with its source
  porter migrate src/                    the same run, shown as a diff; nothing is written
  porter migrate src/ --inplace          write it;  `porter undo` takes it back
  porter migrate . --out ../ported       write a ported copy of the tree
  porter explain PRT201                  one code, API (torch.cuda.Event) or package (flash_attn)
  porter explain train.py:70             what is found in this line, what it becomes, and why

\b
Exit codes: 0 fine, 1 findings at or above --fail-on (migrate --check: it would change files),
2 usage or configuration, 123 porter failed or refused to write a file that broke a promise.
Settings: [tool.porter] in pyproject.toml, or porter.toml; the command line wins.
"""

app = typer.Typer(
    name="porter",
    help="Port PyTorch training code from NVIDIA GPUs to Ascend NPUs.",
    epilog=EPILOG,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
def porter(
    context: typer.Context,
    version: Annotated[bool, typer.Option("-V", "--version", help="Show the version and exit.")] = False,
    lang: LangOfAll = None,
) -> None:
    if version:
        print(f"porter {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(USAGE)


@app.command()
def analyze(
    paths: Paths = None,
    format: Format = None,
    output: Outputs = None,
    select: Select = None,
    ignore: Ignore = None,
    exclude: Exclude = None,
    force_exclude: Force = False,
    fail_on: FailOn = None,
    target: TargetText = None,
    style: Style = None,
    library: Library = None,
    facts: Facts = None,
    baseline: Baseline = None,
    write_baseline: WriteBaseline = None,
    since: Since = None,
    source_url: SourceUrl = None,
    stdin_filename: StdinName = None,
    jobs: Jobs = None,
    lang: Lang = None,
    all: All = False,
    statistics: Statistics = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    no_cache: NoCache = False,
) -> int:
    """What stands in the way, ranked."""
    return _do("analyze", given(locals()))


@app.command()
def migrate(
    paths: Paths = None,
    inplace: Annotated[bool, typer.Option("--inplace", help="Write the files.")] = False,
    out: Annotated[str | None, typer.Option("--out", help="Write a ported copy of the tree.", metavar="DIR")] = None,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="Also make the edits a person should look at.")] = False,
    fuse: Fuse = False,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if something would change.")] = False,
    output: Outputs = None,
    annotate: Annotate = False,
    allow_dirty: Annotated[bool, typer.Option("--allow-dirty", help="Write files that have unstaged changes.")] = False,
    no_undo: Annotated[bool, typer.Option("--no-undo", help="Keep nothing for `porter undo`.")] = False,
    verify: Annotated[str | None, typer.Option(help="Write only if `porter verify` is green.", metavar="CMD")] = None,
    distribute: Distribute = None,
    select: Select = None,
    ignore: Ignore = None,
    exclude: Exclude = None,
    force_exclude: Force = False,
    target: TargetText = None,
    style: Style = None,
    stdin_filename: StdinName = None,
    jobs: Jobs = None,
    lang: Lang = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    no_cache: NoCache = False,
) -> int:
    """The same run as a diff; --inplace or --out writes it."""
    return _do("migrate", given(locals()))


@app.command()
def explain(
    name: Explained,
    target: TargetText = None,
    lang: Lang = None,
) -> int:
    """One code, API, package, variable, error code, advice or line of code: what porter knows of it, and why."""
    return _do("explain", locals())


@app.command()
def rules(format: Plain = None, lang: Lang = None) -> int:
    """All codes."""
    return _do("rules", locals(), "explain")


register(app)
app.command("check", hidden=True)(analyze)  # what other tools call it


def _do(name: str, values: dict[str, Any], module: str = "") -> int:
    code: int = getattr(import_module(f"porter.commands.{module or name}"), name)(**values)
    return code


def main() -> int:
    from porter.cli.outcome import outcome

    return outcome(typer.main.get_command(_of(sys.argv[1:])))


def _of(words: Iterable[str]) -> typer.Typer:
    """The app with only the command that these words name: typer takes long to make the options of all. With all commands where
    the words name none, as for help and for a mistake."""
    first = next((word for word in words if not word.startswith("-")), "")
    commands = [c for c in app.registered_commands if c.callback and first == (c.name or _name_of(c.callback.__name__))]
    groups = [group for group in app.registered_groups if first == group.name]
    if len(commands) + len(groups) != 1:
        return app
    alone = copy.copy(app)
    alone.registered_commands, alone.registered_groups = commands, groups
    return alone


def _name_of(function: str) -> str:
    return typer.main.get_command_name(function)
