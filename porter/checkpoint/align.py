"""Which tensor of one checkpoint is which of the other: by name, by what a name is called elsewhere, by shape at last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from porter.checkpoint.distributed import resolved
from porter.checkpoint.model import Checkpoint, Tensor
from porter.checkpoint.regions import cut, grouped, rows, transposed
from porter.checkpoint.rules import canonical, is_aside, is_without, joins, section

Tensors = dict[str, Tensor]
_ABOVE = 8  # parts of a prefix


@dataclass
class Pair:
    """`how`: exact, name, prefix, joined, shape. `tensors`: what is compared with what; their shapes may differ."""

    one: str
    other: str
    how: str
    tensors: tuple[Tensor, Tensor]
    is_transposed: bool = False


@dataclass
class Aligned:
    pairs: list[Pair] = field(default_factory=list)
    missing: Tensors = field(default_factory=dict)  # in the second
    extra: Tensors = field(default_factory=dict)  # in the second alone
    without: list[str] = field(default_factory=list)  # what one framework does not have
    aside: tuple[int, int] = (0, 0)  # tensors of optimisers and the like, where one side alone has them


def align(one: Checkpoint, other: Checkpoint) -> Aligned:
    """Of a distributed checkpoint, opens the files in which pieces of a pair lie: raises UserError where one cannot be read."""
    found = Aligned()
    left, right = _weights(one), _weights(other)
    _by(left, right, found, str, "exact")
    _by(left, right, found, canonical, "name")
    groups = next((g for c in (one, other) if (g := _groups(c))), 0)
    _joined(left, right, found, groups, False)
    _joined(right, left, found, groups, True)
    _by_prefix(left, right, found)
    # before shapes are compared: else such a name is paired with a stranger of its shape
    for mine, framework in ((left, other.format), (right, one.format)):
        for name in [name for name in mine if is_without(name, framework)]:
            found.without.append(name)
            del mine[name]
    _by_shape(left, right, found)
    found.missing, found.extra = left, right
    _aside(one, other, found)
    return found


def _weights(checkpoint: Checkpoint) -> Tensors:
    prefix = section(list(checkpoint.tensors))
    rows = {name: tensor for name, tensor in checkpoint.tensors.items() if not is_aside(name)}
    return {name.removeprefix(prefix): tensor for name, tensor in rows.items()}


def _aside(one: Checkpoint, other: Checkpoint, found: Aligned) -> None:
    left, right = ({n: t for n, t in c.tensors.items() if is_aside(n)} for c in (one, other))
    if left and right:
        _by(left, right, found, str, "exact")
        found.missing |= left
        found.extra |= right
    else:
        found.aside = (len(left), len(right))


def _take(left: Tensors, right: Tensors, found: Aligned, one: str, other: str, how: str) -> None:
    mine, theirs = resolved(left.pop(one)), resolved(right.pop(other))
    turned = mine.shape != theirs.shape and len(mine.shape) == 2 and mine.shape == theirs.shape[::-1]
    found.pairs.append(Pair(one, other, how, (mine, transposed(theirs) if turned else theirs), turned))


def _by(left: Tensors, right: Tensors, found: Aligned, spelling: Callable[[str], str], how: str) -> None:
    mine, theirs = (_unique(names, spelling) for names in (left, right))
    for key, name in mine.items():
        if (match := theirs.get(key)) is not None:
            _take(left, right, found, name, match, how)


def _unique(names: Iterable[str], spelling: Callable[[str], str]) -> dict[str, str]:
    rows = [(spelling(name), name) for name in names]
    counts = Counter(key for key, _ in rows)
    return {key: name for key, name in rows if counts[key] == 1}


def _groups(checkpoint: Checkpoint) -> int:
    """Of heads of attention, as Megatron's arguments have it."""
    values = checkpoint.values
    is_grouped = values.get("args.group_query_attention") is True
    number = values.get("args.num_query_groups" if is_grouped else "args.num_attention_heads")
    return number if isinstance(number, int) else 0


def _joined(whole: Tensors, parts: Tensors, found: Aligned, groups: int, is_turned: bool) -> None:
    """One tensor of `whole` is several of `parts`. `is_turned`: `parts` is the first checkpoint."""
    of_parts = _unique(parts, canonical)
    for spelled, name in _unique(whole, canonical).items():
        for pattern, spellings, has_groups in joins():
            keys = [pattern.sub(spelling, spelled) for spelling in spellings]
            # another name may have taken the parts: `qkv` and `qkv_proj` are made of the same
            if not pattern.search(spelled) or not all(of_parts.get(key) in parts for key in keys):
                continue
            if not _has_rows_of(whole[name], [parts[of_parts[key]] for key in keys]):
                continue
            tensor, at = resolved(whole.pop(name)), 0
            for key in keys:
                part = resolved(parts.pop(of_parts[key]))
                views = _part(tensor, part, at, groups if has_groups else 0)
                at += part.shape[0]
                pair = (of_parts[key], name, views[::-1]) if is_turned else (name, of_parts[key], views)
                found.pairs.append(Pair(pair[0], pair[1], "joined", pair[2]))
            break


def _has_rows_of(whole: Tensor, several: list[Tensor]) -> bool:
    """Whether a tensor is as high as several together. A scalar has no rows."""
    return all(t.shape for t in (whole, *several)) and whole.shape[0] == sum(part.shape[0] for part in several)


def _part(whole: Tensor, part: Tensor, at: int, groups: int) -> tuple[Tensor, Tensor]:
    mine, theirs = (grouped(whole, groups), grouped(part, groups)) if groups else (None, None)
    if mine is None or theirs is None or at % groups:
        return rows(whole, at, part.shape[0]), part
    begin = (0, at // groups, *(0 for _ in part.shape[1:]))
    return cut(mine, begin, theirs.shape), theirs


def _by_prefix(left: Tensors, right: Tensors, found: Aligned) -> None:
    """One side has its names below one more name, as a backbone in a detector."""
    for is_turned, (longer, shorter) in enumerate(((left, right), (right, left))):
        spelled = _unique(shorter, canonical)
        rows: list[tuple[str, str, str]] = []
        for name in longer:
            whole = canonical(name)
            ends = [n + 1 for n, letter in enumerate(whole) if letter == "."][:_ABOVE]
            rows += [(whole[:end], name, spelled[whole[end:]]) for end in ends if whole[end:] in spelled]
        if not rows:
            continue
        prefix, _ = Counter(prefix for prefix, _, _ in rows).most_common(1)[0]
        for at, name, match in rows:
            if at == prefix and name in longer and match in shorter:
                names = (match, name) if is_turned else (name, match)
                _take(left, right, found, *names, "prefix")


def _by_shape(left: Tensors, right: Tensors, found: Aligned) -> None:
    """What is left, where both sides have as many tensors of a shape: in the order in which they stand."""
    mine, theirs = (_shapes(names) for names in (left, right))
    for shape, names in mine.items():
        if len(names) == len(theirs.get(shape, ())):
            for one, other in zip(names, theirs[shape]):
                _take(left, right, found, one, other, "shape")


def _shapes(tensors: Tensors) -> dict[tuple[int, ...], list[str]]:
    found: dict[tuple[int, ...], list[str]] = {}
    for name, tensor in tensors.items():
        found.setdefault(tensor.shape, []).append(name)
    return found
