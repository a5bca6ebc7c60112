"""The tensors in what a pickle builds, under the names of the way to each; and what else is there that is plain."""

from __future__ import annotations

from collections.abc import Container
from math import isfinite

from porter.checkpoint.errors import Damaged, brief
from porter.checkpoint.machine import Global, Made
from porter.checkpoint.model import Checkpoint, Tensor
from porter.checkpoint.rebuild import Typed

AGAIN, DEEP, LONG = 100_000, 200, 2000  # values reached more than once, containers in containers, characters of a name
_HIDDEN = {"_parameters", "_buffers", "_modules"}  # of a module that was pickled whole
_GROUPS = "param_groups."  # of an optimiser that is told, which says them
_SHOWN = 2000  # plain values that are kept: Megatron has some hundred arguments
_TEXT = 80
_SAME, _OPTIMISERS = 16, 64  # tensors or values of one name, optimisers that are told


def flatten(root: object, checkpoint: Checkpoint) -> None:
    """Put into `checkpoint`. Nothing is followed around a circle. Where a value lies deeper than DEEP or has a name longer than LONG,
    or more than AGAIN values were reached again, the whole walk ends with a note: what still waits is left out, deep or not."""
    waiting: list[tuple[str, object, tuple[int, ...]]] = [("", root, ())]
    seen: set[int] = set()
    told: set[str] = set()  # how the names of settings begin that optimisers say
    again = AGAIN
    while waiting:
        name, value, above = waiting.pop()
        if isinstance(value, Tensor):
            _add(checkpoint, name or "tensor", value)
        elif isinstance(value, Typed):
            if value.storage:
                count = value.storage.size
                _add(checkpoint, name or "storage", Tensor("uint8", (count,), value.storage, (1,)))
        elif isinstance(value, (dict, list, tuple, Made)) and not isinstance(value, Global):
            if id(value) in above:
                continue
            rows = _rows(value)
            again -= len(rows) if id(value) in seen else 0
            if again < 0 or len(above) > DEEP or len(name) > LONG:
                checkpoint.told.note("cut")
                return
            if isinstance(value, dict) and id(value) not in seen and _optimiser(checkpoint, name, value):
                told.add(_joined(name, _GROUPS))
            seen.add(id(value))
            waiting += [(_joined(name, key), item, (*above, id(value))) for key, item in reversed(rows)]
        elif isinstance(value, (bool, int, float, str)) and "".join(name.partition(_GROUPS)[:2]) not in told:
            if len(checkpoint.values) < _SHOWN:
                checkpoint.values[_free(name, checkpoint.values) or name] = _plain(value)
            else:
                checkpoint.told.note("values", n=_SHOWN)


def _rows(value: object) -> list[tuple[object, object]]:
    if isinstance(value, Made):
        return list(value.fields().items()) or ([("", value.args)] if isinstance(value.args, Tensor) else [])
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, (list, tuple)) else []


def _joined(name: str, key: object) -> str:
    text = brief(key)
    return name if text in _HIDDEN else f"{name}.{text}" if name and text else name or text


def _add(checkpoint: Checkpoint, name: str, tensor: Tensor) -> None:
    unique = _free(name, checkpoint.tensors)
    if unique is None:
        raise Damaged.of("twice", name=name)
    checkpoint.tensors[unique] = tensor


def _free(name: str, taken: Container[str]) -> str | None:
    """Keys that differ may read alike: 1 and "1", and long ones that are cut."""
    names = (name if number == 1 else f"{name}#{number}" for number in range(1, _SAME + 1))
    return next((one for one in names if one not in taken), None)


def _optimiser(checkpoint: Checkpoint, name: str, value: dict[object, object]) -> bool:
    """What `Optimizer.state_dict()` gives: the state of each parameter, and the settings of each group. Whether it is told."""
    state, groups = value.get("state"), value.get("param_groups")
    if not isinstance(state, dict) or not isinstance(groups, list):
        return False
    if len(checkpoint.optimisers) == _OPTIMISERS:
        checkpoint.told.note("optimisers", n=_OPTIMISERS)
        return False
    kinds: dict[str, int] = {}
    for row in state.values():
        for key in row if isinstance(row, dict) else ():
            kinds[brief(key)] = kinds.get(brief(key), 0) + 1
    settings = [
        {brief(key): _setting(item) for key, item in group.items() if key != "params"}
        for group in groups
        if isinstance(group, dict)
    ]
    sizes = [len(g["params"]) if isinstance(g.get("params"), list) else 0 for g in groups if isinstance(g, dict)]
    checkpoint.optimisers.append(
        {"name": name, "parameters": len(state), "states": kinds, "groups": settings, "sizes": sizes}
    )
    return True


def _setting(value: object) -> object:
    if isinstance(value, (list, tuple)) and all(isinstance(item, (int, float)) for item in value[:4]):
        return [_plain(item) for item in value[:4]]
    return _plain(value)


def _plain(value: object) -> object:
    """As JSON has it."""
    if isinstance(value, (bool, int)) or (isinstance(value, float) and isfinite(value)):
        return value
    return brief(value)[:_TEXT]
