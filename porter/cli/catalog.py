"""`porter catalog`: its options, and calls into `porter.commands`."""

from __future__ import annotations

from typing import Annotated

import typer

from porter.cli.options import Lang, Plain, TargetText

catalog_app = typer.Typer()


@catalog_app.callback()
def catalog(lang: Lang = None) -> None:
    """What each torch_npu offers: list, show, diff, build."""


@catalog_app.command("list")
def catalog_list(format: Plain = None, lang: Lang = None) -> int:
    """The versions there are, and the wheels they were read from."""
    from porter.commands import catalog

    return catalog.listing(format, lang)


@catalog_app.command("show")
def catalog_show(
    api: Annotated[str, typer.Argument(help="torch.cuda.nvtx.range_push, torch.linalg.eigh, torch_npu.npu_rms_norm.")],
    target: TargetText = None,
    format: Plain = None,
    lang: Lang = None,
) -> int:
    """One API: in which versions it exists, its signature, and what runs it."""
    from porter.commands import catalog

    return catalog.show(api, target, format, lang)


@catalog_app.command("diff")
def catalog_diff(
    before: Annotated[str, typer.Argument(help="A torch_npu version.")],
    after: Annotated[str, typer.Argument(help="Another.")],
    format: Plain = None,
    lang: Lang = None,
) -> int:
    """What two versions do not have in common."""
    from porter.commands import catalog

    return catalog.diff(before, after, format, lang)


@catalog_app.command("build")
def catalog_build(
    torch_npu: Annotated[list[str], typer.Option("--torch-npu", help="Repeatable.", metavar="VERSION")],
    output: Annotated[str | None, typer.Option(help="Default: porter's own rules/catalog.", metavar="DIR")] = None,
    wheels: Annotated[str | None, typer.Option(help="Wheels that are here; nothing is fetched.", metavar="DIR")] = None,
    update_sources: Annotated[
        bool, typer.Option("--update-sources", help="Record the checksums of these wheels in sources.toml.")
    ] = False,
) -> int:
    """Read one or more versions anew from their wheels, which pip fetches."""
    from porter.commands import catalog

    return catalog.rebuild(torch_npu, output, wheels, update_sources)
