"""Whether what parts the port from the original parts two runs of the original as well: then it says nothing of the port."""

from __future__ import annotations

from porter.verify.compare import Comparison

_MORE = 10  # the noise is drawn anew in each run, and may be smaller in the one that it is measured by


def explains(again: Comparison, comparison: Comparison) -> bool:
    """`again`: two runs of the original. All that parts in `comparison` parts there, and about as far."""
    own = {curve.name: curve for curve in again.curves}
    for curve in comparison.curves:
        noise = own.get(curve.name)
        if not curve.agrees and (noise is None or noise.agrees or curve.furthest > _MORE * noise.furthest):
            return False
    return set(comparison.saved[2]) <= set(again.saved[2])
