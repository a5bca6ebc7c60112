"""The weights both runs began with: names, shapes, dtypes, norms."""

from __future__ import annotations

from dataclasses import dataclass, field

from porter.compare.pair import Pair, relative
from porter.compare.run import Weight
from porter.compare.tolerance import TURNED, WEIGHTS
from porter.compare.verdict import Fact, shown, some
from porter.regex import lazy

# whole parts of a name
_WRAPPERS = lazy(r"(?:(?<=\.)|^)(?:module|_orig_mod|_forward_module|_(?:fsdp|checkpoint)_wrapped_module)\.")
_HALVES = {"bfloat16": 8e-3, "float16": 1e-3}
_ALL = 0.5  # of the matrices: so many differ where the seed does


@dataclass
class Weights:
    """What differs between the weights both began with."""

    known: bool
    missing: list[str] = field(default_factory=list)  # in the candidate
    added: list[str] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    norms: list[tuple[float, str, float, float]] = field(default_factory=list)  # the furthest first
    turned: list[str] = field(default_factory=list)  # of one norm, in another order or with other signs
    dtypes: list[str] = field(default_factory=list)
    dtype_names: tuple[str, str] = ("", "")
    is_all: bool = False  # several matrices differ, and they are half of all or more

    @property
    def differ(self) -> bool:
        return bool(self.missing or self.added or self.shapes or self.norms or self.turned)

    def facts(self) -> list[Fact]:
        keyed = (
            ("weights.missing", self.missing), ("weights.added", self.added), ("weights.shapes", self.shapes),
            ("weights.turned", self.turned),
        )  # fmt: skip
        facts = [Fact(key, {"n": len(names), "names": some(names)}) for key, names in keyed if names]
        if self.norms:
            _, name, one, other = self.norms[0]
            names = some([name for _, name, _, _ in self.norms])
            values = {"n": len(self.norms), "names": names, "name": name, "one": shown(one), "other": shown(other)}
            facts.append(Fact("weights.norms", values))
        return facts


def weights(pair: Pair) -> Weights:
    rank = pair.ranks[0]
    one, other = (_plain(run.ranks[rank].weights) for run in (pair.baseline, pair.candidate))
    found = Weights(bool(one and other))
    if not found.known:
        return found
    if not one.keys() & other.keys() and _alike(one, other):  # another wrapper
        other = dict(zip(one, other.values()))
    found.missing, found.added = [n for n in one if n not in other], [n for n in other if n not in one]
    matrices = differing = 0
    for name, mine in one.items():
        if (theirs := other.get(name)) is None:
            continue
        matrices += len(mine.shape) > 1
        if mine.shape != theirs.shape:
            found.shapes.append(name)
            continue
        if mine.dtype != theirs.dtype:
            found.dtypes.append(name)
            found.dtype_names = (mine.dtype, theirs.dtype)
        allowed = max([WEIGHTS, *(_HALVES.get(w.dtype, 0.0) for w in (mine, theirs) if mine.dtype != theirs.dtype)])
        if (apart := relative(mine.norm, theirs.norm, 1e-12)) > allowed:
            found.norms.append((apart, name, mine.norm, theirs.norm))
            differing += len(mine.shape) > 1
        elif is_turned(mine, theirs, allowed):
            found.turned.append(name)
            differing += len(mine.shape) > 1
    found.norms.sort(key=lambda row: (-row[0], row[1]))
    found.is_all = differing > 1 and differing >= _ALL * matrices
    return found


def is_turned(one: Weight, other: Weight, allowed: float) -> bool:
    """Whether values of one norm stand in another order, or have other signs."""
    if one.mark is None or other.mark is None:
        return False
    return abs(one.mark - other.mark) > TURNED * allowed * max(abs(one.norm), abs(other.norm))


def without_wrappers(name: str) -> str:
    """`encoder.weight` of `module.encoder.weight`: DistributedDataParallel, torch.compile, FSDP and others put parts in."""
    return _WRAPPERS.sub("", name)


def _plain(found: dict[str, Weight]) -> dict[str, Weight]:
    return {without_wrappers(name): weight for name, weight in found.items()}


def _alike(one: dict[str, Weight], other: dict[str, Weight]) -> bool:
    return [w.shape for w in one.values()] == [w.shape for w in other.values()]
