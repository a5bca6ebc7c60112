"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any, Optional

import typer

Paths = Annotated[
    Optional[list[str]], typer.Argument(help="Directories or files; '-' is standard input.", show_default=False)
]
FailOn = Annotated[Optional[str], typer.Option(help="Exit 1 from this severity: blocker, wrong (default), slow, note.")]
Annotate = Annotated[
    bool, typer.Option("--annotate", help="Put `# PRT110: ...` above what has to be ported by hand in Python files.")
]
Facts = Annotated[
    Optional[list[str]],
    typer.Option("--facts", help="What --library wrote of a library that is used here; repeatable.", metavar="FILE"),
]
Library = Annotated[
    Optional[str],
    typer.Option(
        help="Analyse a package, as installed or checked out: what of it ends in CUDA, as JSON.", metavar="DIR"
    ),
]
WriteBaseline = Annotated[Optional[str], typer.Option(help="Write all findings to FILE and exit 0.", metavar="FILE")]
Format = Annotated[
    Optional[str],
    typer.Option("--format", help="On stdout: json, html, sarif, markdown, github, csv; analyze: text (default)."),
]
Outputs = Annotated[
    Optional[list[str]],
    typer.Option(
        "--output", "-o", help="Also write FILE: .html, .json, .sarif, .md, .csv, .txt; repeatable.", metavar="FILE"
    ),
]
Plain = Annotated[Optional[str], typer.Option("--format", help="text (default) or json.")]
Select = Annotated[
    Optional[list[str]],
    typer.Option("--select", help="Only these: codes, prefixes (PRT1) or slugs, with commas.", metavar="CODES"),
]
Ignore = Annotated[Optional[list[str]], typer.Option("--ignore", help="Not these.", metavar="CODES")]
Exclude = Annotated[
    Optional[list[str]],
    typer.Option("--exclude", help="Leave out what matches; syntax of .gitignore.", metavar="PATTERN"),
]
Force = Annotated[bool, typer.Option("--force-exclude", help="Also leave out files that are named outright.")]
TargetText = Annotated[
    Optional[str], typer.Option(help="Port for torch_npu=VERSION,soc=A2; default: the repository's torch pin.")
]
Style = Annotated[Optional[str], typer.Option(help="rename (default) or portable.")]
Jobs = Annotated[Optional[int], typer.Option("-j", "--jobs", min=0, help="Processes; 0 = one for each core.")]
Lang = Annotated[Optional[str], typer.Option(envvar="PORTER_LANG", help="en (default) or zh.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Less: one line for each finding, no summary.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="More: symptoms, efforts, notes, what was left out.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the cache.")]
StdinName = Annotated[Optional[str], typer.Option(help="What '-' is called.", metavar="FILE")]
Baseline = Annotated[Optional[str], typer.Option(help="Findings in FILE stay quiet.", metavar="FILE")]


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Lists may be written with commas; what was not given is None or ()."""
    codes = {
        key: tuple(word.strip() for part in values[key] or () for word in part.split(",") if word.strip())
        for key in ("select", "ignore")
    }
    return {**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}, **codes}
