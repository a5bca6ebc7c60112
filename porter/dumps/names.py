"""Names of calls, and the spelling that both sides are brought to."""

from __future__ import annotations

from functools import lru_cache

from porter.checkpoint.rules import canonical
from porter.dumps.model import Call, Name
from porter.dumps.rules import operation
from porter.regex import lazy

_MODULE = lazy(r"(Module|Cell)\.(.{1,1000})\.([^.]{1,200})\.(forward|backward|parameters_grad)(?:\.(\d{1,9}))?")
_OPERATOR = lazy(r"([^.]{1,60})\.(.{1,300})\.(\d{1,9})\.(forward|backward)")
_INDEX = lazy(r"\d{1,4}\.")  # of a model in a list of models


def parsed(text: str) -> Name | None:
    """None: no call of a module or an operator."""
    if match := _MODULE.fullmatch(text):
        return Name(match[1], match[2], match[3], match[4], int(match[5] or 0))
    if match := _OPERATOR.fullmatch(text):
        return Name(match[1], "", match[2].rpartition(".")[2], match[4], int(match[3]))
    return None


@lru_cache(maxsize=1 << 16)
def path_of(path: str) -> str:
    """`Module.0.module.decoder.layers.0.mlp.linear_fc2` and `Cell.model.layers.0.feed_forward.w2` are one."""
    match = _INDEX.match(path)
    return canonical((path[match.end() :] if match else path) + ".weight").removesuffix(".weight")


def key(call: Call) -> str:
    """Of a module unique in its direction; of an operator its kind."""
    name = call.name
    return f"{path_of(name.path)} {name.number}" if name.path else f"= {operation(name.operator)}"


def of_pass(call: Call, direction: str) -> str:
    """The name of the call in another pass."""
    name = call.name
    if name.direction == direction:
        return call.text
    if name.path:
        return f"{name.prefix}.{name.path}.{name.operator}.{direction}.{name.number}"
    return call.text.removesuffix(name.direction) + direction
