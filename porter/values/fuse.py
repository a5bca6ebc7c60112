"""Replaces a computation by one operator: `porter migrate --fuse`.

It does so only if nothing else reads values that would be removed, and if each operand still has its value at the place of the
operator.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from porter.finding import Change
from porter.values.dtypes import ALWAYS, IF_ALL_FLOAT32, NEVER, agreement
from porter.values.fuse_attention import attention, functional
from porter.values.patterns import Match
from porter.values.place import Place, place_for
from porter.values.value import Value
from porter.values.views import Users, base, below

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile
    from porter.values.values import Body
    from porter.values.world import Operations, Owner

_FRESH = frozenset({"call", "linear", "module"})  # their results are contiguous in memory


def fused(file: RuleFile, match: Match) -> tuple[Change, ...]:
    """The edits; () where it cannot be shown that they are right."""
    write = _WRITERS.get((match.kind, match.why))
    if not keeps_the_type(file, match):
        return ()
    place = place_for(file, match) if write is not None else None
    if write is None or place is None or not place.settled:
        return ()
    new = write(place, match)
    return place.edits(new) if new else ()


def keeps_the_type(file: RuleFile, match: Match, not_enough: tuple[str, ...] = (IF_ALL_FLOAT32, NEVER)) -> bool:
    """Whether the operator gives the same type as the computation, whatever types the program uses. `not_enough`: answers of
    `agreement` that do not show it."""
    if (match.kind, match.why) not in _WRITERS or match.root is None or not file.facts.once.short_floats:
        return True
    return _agreed(match)[0] not in not_enough


def _agreed(match: Match) -> tuple[str, dict[str, Value]]:
    """When the types agree, and the casts that the operator must get in place of its parts for that."""
    agreed = agreement(match)
    if agreed == ALWAYS or match.kind != "rms-norm" or match.root is None:
        return agreed, {}
    handed: dict[str, Value] = {}
    for name in ("x", "weight"):
        cast = next((v for v in below(match.root) if v.op == "cast" and v.args[0] is match.parts.get(name)), None)
        if cast is not None:
            handed[name] = cast
            if agreement(match, handed) == ALWAYS:
                return ALWAYS, handed
    return agreed, {}


def _rms_norm(place: Place, match: Match) -> str | None:
    parts, world, owner = match.parts, place.body.world, place.body.owner
    if not {"eps", "weight"} <= parts.keys() or not _is_vector(parts["weight"], world, owner):
        return None
    eps = base(parts["eps"])
    if (
        eps.op == "leaf"
        and eps.info[0] == "attribute"
        and owner is not None
        and any(v.__class__ is ast.Call for v in world.members(owner).get(eps.info[1], ()))
    ):
        return None  # eps may be a tensor
    if not _keeps_type(place, match):
        return None
    parts = parts | _agreed(match)[1]
    x, weight, number = (place.spell(parts[name]) for name in ("x", "weight", "eps"))
    return f"torch_npu.npu_rms_norm({x}, {weight}, {number})[0]" if None not in (x, weight, number) else None


def _is_vector(weight: Value, world: Operations[Body], owner: Owner) -> bool:
    """Whether a weight is a parameter with one dimension."""
    weight = base(weight)
    if weight.op == "add":
        weight = next((base(a) for a in weight.args if a.op != "const"), weight)
    if weight.op != "leaf" or weight.info[0] != "attribute" or owner is None:
        return False
    values = world.members(owner).get(weight.info[1], ())
    if len(values) != 1 or values[0].__class__ is not ast.Call or len(values[0].args) < 1:
        return False
    tensor = values[0].args[0]
    has_one_length = (
        tensor.__class__ is ast.Call
        and len(tensor.args) == 1
        and tensor.args[0].__class__ in (ast.Name, ast.Attribute, ast.Constant)
    )
    return has_one_length and "shape" not in ast.unparse(tensor.args[0])


def _keeps_type(place: Place, match: Match) -> bool:
    """Whether the result has the type of x, like that of the operator: a computation in another type is cast back."""
    x = match.parts["x"]
    casts = [v for v in place.inside if v.op == "cast"]
    back = [v for v in casts if base(v) is not x and base(v).op == "mul"]
    if any(not _is_type_of(x, v) for v in back):
        return False
    return bool(back) or _is_cast_later(place) or all(base(v) is not x for v in casts)


def _is_cast_later(place: Place) -> bool:
    users = Users(place.body).of(place.root)
    return bool(users) and all(u.op == "cast" and u.args[0] is place.root for u in users)


def _is_type_of(x: Value, cast: Value) -> bool:
    """Whether a cast gives the type of x: `y.to(x.dtype)`, `y.type_as(x)`."""
    if len(cast.args) != 2:
        return False
    kind = cast.args[1]
    typed = (
        kind if cast.info == "type_as" else kind.args[0] if kind.op == "attribute" and kind.info == "dtype" else None
    )
    return typed is x


def _swiglu(place: Place, match: Match) -> str | None:
    x = _whole(place, match)
    return f"torch_npu.npu_swiglu({x}, dim=-1)" if x and match.parts["activated"].info == 0 else None


def _geglu(place: Place, match: Match) -> str | None:
    x, form = _whole(place, match), _activation(place)
    if not x or form not in ("none", "tanh"):
        return None
    left = ", activate_left=True" if match.parts["activated"].info == 0 else ""
    return f"torch_npu.npu_geglu({x}, dim=-1, approximate={int(form == 'tanh')}{left})[0]"


def _activation(place: Place) -> Any:
    """The form of the GELU in a gate: none | tanh."""
    return next((base(a).info for a in place.root.args if base(a).op == "gelu"), None)


def _whole(place: Place, match: Match) -> str | None:
    """The text of the tensor whose halves a gate multiplies, made contiguous."""
    x = match.parts["x"]
    text = None if any(v.op == "cast" for v in place.inside) else place.spell(x)
    if text is None or x.op in _FRESH:
        return text
    return f"{text}.contiguous()" if text.replace(".", "").isidentifier() else None


def _rotary(place: Place, match: Match) -> str | None:
    if any(v.op == "cast" and (v in place.inside or base(v) is place.root) for v in place.body.made):
        return None  # the operator needs operands of one type
    x, cos, sin = (place.spell(match.parts.get(name)) for name in ("x", "cos", "sin"))
    mode = ', rotary_mode="interleave"' if match.why == "interleave" else ""
    return f"torch_npu.npu_rotary_mul({x}, {cos}, {sin}{mode})" if None not in (x, cos, sin) else None


def _gelu(place: Place, match: Match) -> str | None:
    x, prefix = place.spell(match.parts["x"]), functional(place)
    if x is None or any(v.op == "cast" for v in place.inside):
        return None
    if match.why == "sigmoid":
        return f"torch_npu.npu_fast_gelu({x})"
    if match.why == "erf":  # `F.gelu` computes the tanh form on an NPU
        return f'torch_npu.npu_gelu({x}, approximate="none")'
    return prefix and f'{prefix}.gelu({x}, approximate="tanh")'


def _group_norm_swish(place: Place, match: Match) -> str | None:
    norm, x = base(place.root.args[0]), place.spell(match.parts["x"])
    owner = place.body.owner if norm.info.__class__ is str else None
    definitions = place.body.world.members(owner).get(norm.info, ()) if owner is not None else ()
    if len(definitions) != 1 or not x or not x.isidentifier() or any(v.op == "cast" for v in place.inside):
        return None
    layer = f"self.{norm.info}"  # with autocast, x may have a shorter type than the weights
    weights = f"{layer}.weight.to({x}.dtype), {layer}.bias.to({x}.dtype)"
    return f"torch_npu.npu_group_norm_swish({x}, {layer}.num_groups, {weights}, {layer}.eps)[0]"


# by kind and message of a match: the function that writes the operator
_WRITERS: dict[tuple[str, str], Callable[[Place, Match], str | None]] = {
    ("attention", "written-out"): attention,
    ("rms-norm", "written-out"): _rms_norm,
    ("gate", "silu"): _swiglu,
    ("gate", "gelu"): _geglu,
    ("gelu", "erf"): _gelu,
    ("gelu", "tanh"): _gelu,
    ("gelu", "sigmoid"): _gelu,
    ("norm", "group-norm-silu"): _group_norm_swish,
    ("rotary", "half"): _rotary,
    ("rotary", "interleave"): _rotary,
}


def every(file: RuleFile, matches: list[Match]) -> Iterator[Change]:
    """The edits of all matches at one place, without overlaps. One function may be seen by several callers."""
    taken: list[Change] = []
    for match in matches:
        new = fused(file, match)
        if new and not any(a.start < b.end and b.start < a.end for a in new for b in taken):
            taken += new
    yield from taken
