"""dump.json and construct.json of msProbe, a call at a time, as a Dump. Nothing in them is believed, and no path in them is opened."""

from __future__ import annotations

import os
from math import prod
from typing import Any

from porter.dumps import errors
from porter.dumps.find import FILE
from porter.dumps.model import BACKWARD, GRADIENTS, Call, Dump, Value
from porter.dumps.names import parsed
from porter.profiles.stream import Tape, members

MOST = 1_000_000  # tensors of one dump
_DEEP, _LITERAL = 12, 80  # lists in lists; characters of an argument
_LARGEST = 1 << 62  # numbers of one tensor
_HEAD = {"framework", "level", "task"}
_TYPES = {"half": "float16", "float": "float32", "double": "float64", "long": "int64"}


def read(folder: str) -> Dump:
    """Raises UserError, FilesError: one line that names the file."""
    dump = Dump(folder)
    file = os.path.join(folder, FILE)
    tape = Tape(file)
    if tape.peek() != "{":
        raise errors.foreign(file)
    has_data, left, odd = False, MOST, 0
    for keys, value in members(tape, 2):
        if keys[0] != "data":
            if keys[0] in _HEAD and len(keys) == 1 and isinstance(value, str):
                setattr(dump, keys[0], value[:40])
            continue
        has_data = True
        name = parsed(keys[1]) if len(keys) > 1 else None
        if name is None or not isinstance(value, dict):
            odd += len(keys) > 1
            continue
        call = dump.calls.setdefault(keys[1], Call(keys[1], name))
        _fill(call, value)
        left -= len(call.inputs) + len(call.outputs) + len(call.weights)
        if left < 0:
            raise errors.large(file, MOST)
    if not dump.calls:
        raise errors.empty(file) if has_data or dump.level else errors.foreign(file)
    if odd:
        dump.notes.append(("odd", {"n": odd}))
    _construct(dump)
    return dump


def _construct(dump: Dump) -> None:
    file = os.path.join(dump.folder, "construct.json")
    if not os.path.exists(file) or not os.path.getsize(file):
        return
    tape = Tape(file)
    if tape.peek() != "{":
        return
    for keys, value in members(tape):
        parent = value[0] if isinstance(value, list) and value else value  # with the number of a micro batch
        if isinstance(parent, str) and keys[0] in dump.calls:
            dump.parents[keys[0]] = parent


def _fill(call: Call, row: dict[str, Any]) -> None:
    direction = call.name.direction
    if direction == GRADIENTS:
        call.outputs |= _values(row)
        return
    call.outputs |= _values(row.get("output"))
    if direction == BACKWARD:
        call.inputs |= _values(row.get("input"))
        return
    call.inputs |= _values(row.get("input_args"), "", call.literals)
    call.inputs |= _values(row.get("input_kwargs"), "kwargs", call.literals)
    call.weights |= _values(row.get("parameters"))


def _values(value: Any, prefix: str = "", literals: dict[str, str] | None = None) -> dict[str, Value]:
    """Tensors in lists and dictionaries, by the way to each; other arguments go to `literals`."""
    found: dict[str, Value] = {}
    waiting = [(prefix, value, 0)]
    while waiting:
        slot, item, depth = waiting.pop()
        if isinstance(item, dict) and isinstance(item.get("type"), str) and not isinstance(item.get("shape"), list):
            if literals is not None and len(literals) < 1000 and "value" in item:
                literals[slot.removeprefix("kwargs.")] = str(item["value"])[:_LITERAL]
        elif isinstance(item, dict) and isinstance(item.get("shape"), list) and isinstance(item.get("dtype"), str):
            if (tensor := _tensor(item)) is not None:
                found[slot] = tensor
        elif isinstance(item, (dict, list)) and depth < _DEEP:
            rows = item.items() if isinstance(item, dict) else enumerate(item)
            inner = [(f"{slot}.{key}" if slot else str(key), part, depth + 1) for key, part in rows]
            waiting += reversed(inner)
    return found


def _tensor(row: dict[str, Any]) -> Value | None:
    shape = row["shape"][:64]
    if not all(type(n) is int and n >= 0 for n in shape) or prod(shape) >= _LARGEST:
        return None
    top, bottom, mean, norm = (_number(row.get(key)) for key in ("Max", "Min", "Mean", "Norm"))
    md5, file = row.get("md5"), row.get("data_name")
    return Value(
        _dtype(row["dtype"]), tuple(shape), top, bottom, mean, norm,
        md5[:40] if isinstance(md5, str) else "", file if isinstance(file, str) else "", row.get("requires_grad") is True,
    )  # fmt: skip


def _dtype(text: str) -> str:
    name = text[:40].rpartition(".")[2].lower()
    return _TYPES.get(name, name)


def _number(value: Any) -> float | None:
    """NaN and infinities are numbers, also as texts."""
    if isinstance(value, (bool, int, float, str)):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return None
    return None
