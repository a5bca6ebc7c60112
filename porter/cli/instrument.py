"""`porter instrument` for typer."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from porter.cli.options import Lang
from porter.instrument import NORMED_STEPS, SEED


class Filled(TyperCommand):
    """The class of the command (cli/tools.py): `--seed` and `--norms` may stand alone, and get the values they have then."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words: list[str] = []
        for word, following in itertools.pairwise([*args, ""]):
            words.append(word)
            if word == "--seed" and not following.isdecimal():
                words.append(str(SEED))
            elif word == "--norms" and not following[:1].isdecimal() and following != "all":
                words.append(NORMED_STEPS)
        return super().parse_args(ctx, words)


def instrument(
    path: Annotated[str, typer.Argument(help="The script that trains, or a folder in which one does.")],
    seed: Annotated[
        int | None,
        typer.Option(min=0, help=f"Seeds and deterministic mode, for GPU and NPU; alone: {SEED}.", metavar="[N]"),
    ] = None,
    loss_log: Annotated[
        str | None,
        typer.Option("--loss-log", help="Record the run in FILE, JSON lines, one file a rank.", metavar="FILE"),
    ] = None,
    norms: Annotated[
        str | None,
        typer.Option(
            help=f"Also the gradient norm of each weight: steps, or all; alone: {NORMED_STEPS}.", metavar="[STEPS]"
        ),
    ] = None,
    batches: Annotated[
        int | None,
        typer.Option(min=0, help="Of how many steps the batches are hashed; else of ten.", metavar="N"),
    ] = None,
    save_gradients: Annotated[
        bool, typer.Option("--save-gradients", help="Also save the gradients of step 1.")
    ] = False,
    lr_zero: Annotated[
        bool, typer.Option("--lr-zero", help="Learning rates become 0: the weights do not move.")
    ] = False,
    baseline: Annotated[
        str | None, typer.Option(help="All that the GPU's side needs: seeds, log, norms of step 1.", metavar="DIR")
    ] = None,
    msprobe: Annotated[bool, typer.Option("--msprobe", help="Put msProbe's debugger around the step.")] = False,
    level: Annotated[str, typer.Option(help="What msProbe dumps: L0, L1 or mix.")] = "L1",
    steps: Annotated[str, typer.Option(help="Which steps msProbe dumps.", metavar="0,1")] = "0",
    profile: Annotated[
        str | None, typer.Option(help="Profile two steps with torch_npu.profiler or torch.profiler.", metavar="DIR")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take all inserted lines out again, to the byte.")] = False,
    inplace: Annotated[bool, typer.Option("--inplace", help="Write the files.")] = False,
    out: Annotated[str | None, typer.Option("--out", help="Write a changed copy of the tree.", metavar="DIR")] = None,
    allow_dirty: Annotated[bool, typer.Option("--allow-dirty", help="Write files that have unstaged changes.")] = False,
    no_undo: Annotated[bool, typer.Option("--no-undo", help="Keep nothing for `porter undo`.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing but errors.")] = False,
    lang: Lang = None,
) -> int:
    """Put lines into a training program that record its losses, seed it, dump or profile its step; shown as a diff."""
    given = locals()
    from porter.commands.instrument import instrument as command

    return command(**given)  # an option about lines to insert needs no parameter there: it is among `asked`
