"""Commands with commands below them: `porter cache ...`, `porter catalog ...`. No logic here either."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Optional

import typer

from porter.options import Lang, Plain, TargetText

cache = typer.Typer(help="The cache of earlier analyses: dir, clean.")
catalog = typer.Typer(help="What each torch_npu offers: list, show, diff, build.")
groups = {"cache": cache, "catalog": catalog}


@cache.command("dir")
def cache_dir() -> int:
    """Where it is."""
    from porter.resources import cache_dir as directory

    print(directory())
    return 0


@cache.command("clean")
def cache_clean(lang: Lang = None) -> int:
    """Remove it."""
    from porter.commands.undo import clean

    return clean(lang)


@catalog.command("list")
def catalog_list(format: Plain = None, lang: Lang = None) -> int:
    """The versions there are, and the wheels they were read from."""
    return _catalog("listing", locals())


@catalog.command("show")
def catalog_show(
    api: Annotated[str, typer.Argument(help="torch.cuda.nvtx.range_push, torch.linalg.eigh, torch_npu.npu_rms_norm.")],
    target: TargetText = None,
    format: Plain = None,
    lang: Lang = None,
) -> int:
    """One API: in which versions it exists, its signature, and what runs it."""
    return _catalog("show", locals())


@catalog.command("diff")
def catalog_diff(
    before: Annotated[str, typer.Argument(help="A torch_npu version.")],
    after: Annotated[str, typer.Argument(help="Another.")],
    format: Plain = None,
    lang: Lang = None,
) -> int:
    """What two versions do not have in common."""
    return _catalog("diff", locals())


@catalog.command("build")
def catalog_build(
    torch_npu: Annotated[list[str], typer.Option("--torch-npu", help="Repeatable.", metavar="VERSION")],
    output: Annotated[Optional[str], typer.Option(help="Default: porter's own rules/catalog.", metavar="DIR")] = None,
    wheels: Annotated[
        Optional[str], typer.Option(help="Wheels that are here; nothing is fetched.", metavar="DIR")
    ] = None,
    update_sources: Annotated[
        bool, typer.Option("--update-sources", help="Record the checksums of these wheels in sources.toml.")
    ] = False,
) -> int:
    """Read one or more versions anew from their wheels, which pip fetches."""
    return _catalog("rebuild", locals())


def _catalog(name: str, values: dict) -> int:
    return getattr(import_module("porter.commands.catalog"), name)(**values)
