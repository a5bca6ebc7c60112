"""What is found in a pair of runs, each looked for once, and what the logs do not show."""

from __future__ import annotations

import math
from functools import cached_property

from porter.compare import data, partings, settings, weights
from porter.compare.pair import Pair
from porter.compare.partings import Parting
from porter.compare.run import Rank
from porter.logs.records import GRADIENT


class Evidence:
    """What is found in a pair of runs, each looked for once."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    @cached_property
    def weights(self) -> weights.Weights:
        return weights.weights(self.pair)

    @cached_property
    def data(self) -> data.Data:
        return data.data(self.pair) if self.same_ranks else data.Data(False)

    @cached_property
    def settings(self) -> settings.Settings:
        return settings.settings(self.pair)

    @cached_property
    def loss(self) -> Parting | None:
        return partings.first_loss(self.pair)

    @cached_property
    def norm(self) -> Parting | None:
        return partings.first_norm(self.pair)

    @cached_property
    def update(self) -> partings.Update | None:
        return partings.first_update(self.pair)

    @cached_property
    def rates(self) -> partings.Rates:
        return partings.rates(self.pair)

    @cached_property
    def same_ranks(self) -> bool:
        counts = {ranks_of(run.first, len(run.ranks)) for run in (self.pair.baseline, self.pair.candidate)}
        return len(counts) == 1

    @property
    def is_first(self) -> bool:
        """Whether the loss that parts is that of the first step of all."""
        return self.loss is not None and self.pair.first == self.loss.step

    @property
    def earliest(self) -> float:
        return min((p.step for p in (self.loss, self.norm) if p), default=math.inf)

    @property
    def knows_norms(self) -> bool:
        """Whether norms of the gradients of the first step were compared."""
        ranks = [run.ranks[self.pair.ranks[0]] for run in (self.pair.baseline, self.pair.candidate)]
        return all(rank.series.get(GRADIENT) for rank in ranks) or all(self.pair.first in rank.norms for rank in ranks)

    def unknown(self) -> tuple[str, ...]:
        """What comes before the forward pass, and is not shown to be the same."""
        modules = all(
            run.ranks[self.pair.ranks[0]].modules is not None for run in (self.pair.baseline, self.pair.candidate)
        )
        begins = self.data.known and (self.pair.first is None or self.data.until >= self.pair.first)
        shown = {"data": begins, "weights": self.weights.known, "randomness": modules}
        return tuple(stage for stage, known in shown.items() if not known)  # fmt: skip


def ranks_of(rank: Rank, files: int) -> int:
    """How many there were, of which the logs of `files` are here."""
    ranks = rank.header.get("ranks")
    return ranks if isinstance(ranks, int) else files
