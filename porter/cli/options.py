"""Options of the commands of `app.py`, and those that others share. Their help in Chinese is in rules/words/cli.toml, by its
English: `cli/help.py`."""

from __future__ import annotations

from typing import Annotated, Any

import typer


def _nearest_lang(context: typer.Context, value: str | None) -> str | None:
    """What stands behind the command, else what stands before it, else PORTER_LANG, which the first of all reads."""
    return value or (context.parent.params.get("lang") if context.parent else None)


Paths = Annotated[
    list[str] | None, typer.Argument(help="Directories or files; '-' is standard input.", show_default=False)
]
FailOn = Annotated[str | None, typer.Option(help="Exit 1 from this severity: blocker, wrong (default), slow, note.")]
Annotate = Annotated[
    bool, typer.Option("--annotate", help="Put `# PRT110: ...` above what has to be ported by hand in Python files.")
]
Facts = Annotated[
    list[str] | None,
    typer.Option("--facts", help="What --library wrote of a library that is used here; repeatable.", metavar="FILE"),
]
Library = Annotated[
    str | None,
    typer.Option(
        help="Analyse a package, as installed or checked out: what of it ends in CUDA, as JSON.", metavar="DIR"
    ),
]
WriteBaseline = Annotated[str | None, typer.Option(help="Write all findings to FILE and exit 0.", metavar="FILE")]
Fuse = Annotated[bool, typer.Option("--fuse", help="Also write fused operators in, where nothing else can change.")]
Verified = Annotated[str | None, typer.Option(help="What `porter verify --output` wrote: a chapter in HTML.")]
Since = Annotated[
    str | None,
    typer.Option("--since", help="Also say what is resolved and what is new since this findings.json.", metavar="FILE"),
]
SourceUrl = Annotated[
    str | None,
    typer.Option(
        "--source-url",
        help="Places of the HTML report link there; {commit}, {path} and {line} are filled in.",
        metavar="URL",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="On stdout: json, html, sarif, markdown, github, csv; analyze: text (default), full, concise, grouped.",
    ),
]
Outputs = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        "-o",
        help="Also write FILE: .html, .json, .sarif, .md, .csv, .txt; FOLDER/: a page for each file; repeatable.",
        metavar="FILE",
    ),
]
FileOutputs = Annotated[
    list[str] | None,
    typer.Option(
        "--output", "-o", help="Also write FILE: .html, .json, .sarif, .md, .csv, .txt; repeatable.", metavar="FILE"
    ),
]
Plain = Annotated[str | None, typer.Option("--format", help="text (default) or json.")]
Explained = Annotated[
    str,
    typer.Argument(
        help="PRT201, process-group-backend, torch.cuda.Event, NCCL_DEBUG, flash_attn, HCCL_BUFFSIZE, EI0006, train.py:70."
    ),
]
Distribute = Annotated[
    str | None, typer.Option("--distribute", help="Make one process per device of a training script.", metavar="SCRIPT")
]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", help="Only these: codes, prefixes (PRT1) or slugs, with commas.", metavar="CODES"),
]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", help="Not these.", metavar="CODES")]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", help="Leave out what matches; syntax of .gitignore.", metavar="PATTERN"),
]
Force = Annotated[bool, typer.Option("--force-exclude", help="Also leave out files that are named outright.")]
TargetText = Annotated[
    str | None, typer.Option(help="Port for torch_npu=VERSION,soc=A2; default: the repository's torch pin.")
]
Style = Annotated[
    str | None,
    typer.Option(
        help="rename (default): for NPUs; portable: one code base for GPUs and NPUs; shim: by torch_npu's transfer_to_npu."
    ),
]
Jobs = Annotated[int | None, typer.Option("-j", "--jobs", min=0, help="Processes; 0 = one for each core.")]
LangOfAll = Annotated[str | None, typer.Option("--lang", envvar="PORTER_LANG", help="en (default) or zh.")]
Lang = Annotated[str | None, typer.Option("--lang", callback=_nearest_lang, help="en (default) or zh.")]
Quiet = Annotated[
    bool, typer.Option("-q", "--quiet", help="Less: --format concise, a line for each finding; no progress bar.")
]
All = Annotated[bool, typer.Option("--all", help="Short for --format grouped: every place, file by file.")]
Statistics = Annotated[
    bool, typer.Option("--statistics", help="Instead: how many places each rule has, the most first; text or json.")
]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="More: symptoms, efforts, notes, what was left out.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the cache.")]
StdinName = Annotated[str | None, typer.Option(help="What '-' is called.", metavar="FILE")]
Baseline = Annotated[str | None, typer.Option(help="Findings in FILE stay quiet.", metavar="FILE")]


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Lists may be written with commas; what was not given is None or ()."""
    codes = {key: listed(values[key]) for key in ("select", "ignore")}
    return {**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}, **codes}


def listed(parts: list[str] | None) -> tuple[str, ...]:
    return tuple(word.strip() for part in parts or () for word in part.split(",") if word.strip())
