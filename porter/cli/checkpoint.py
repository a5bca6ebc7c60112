"""`porter checkpoint` for typer."""

from __future__ import annotations

from typing import Annotated

import typer

from porter.cli.options import Lang, Plain

All = Annotated[bool, typer.Option("--all", help="Every tensor by itself, and nothing cut off.")]
Output = Annotated[str | None, typer.Option("--output", "-o", help="Also write FILE: .json, .txt.", metavar="FILE")]
_KINDS = "A checkpoint: .pt, .pth, .bin, .safetensors, .ckpt, .npz, an index of shards, or a folder (DCP, Megatron)."

checkpoint_app = typer.Typer()


@checkpoint_app.callback()
def checkpoint(lang: Lang = None) -> None:
    """What weights a checkpoint holds, and how two differ: inspect, compare. Nothing in them is executed."""


@checkpoint_app.command("inspect")
def inspect(
    file: Annotated[str, typer.Argument(help=_KINDS)],
    all: All = False,
    format: Plain = None,
    output: Output = None,
    lang: Lang = None,
) -> int:
    """Names, shapes, types, devices, and what its pickles would import: without torch, and without executing them."""
    from porter.commands import checkpoint as command

    return command.inspect(file, all, format, output, lang)


@checkpoint_app.command("compare")
def compare(
    baseline: Annotated[str, typer.Argument(help=_KINDS)],
    candidate: Annotated[str, typer.Argument(help="Another, of any of these formats.")],
    tolerance: Annotated[
        float | None,
        typer.Option(min=0, help="Values this far apart count as equal: norm of the difference by norm.", metavar="X"),
    ] = None,
    all: All = False,
    format: Plain = None,
    output: Output = None,
    lang: Lang = None,
) -> int:
    """Tensors by name, and by what a name is called elsewhere: missing, extra, other shapes, types, values. Exit 1: they differ."""
    from porter.commands import checkpoint as command

    return command.compare(baseline, candidate, tolerance, all, format, output, lang)
