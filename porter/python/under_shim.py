"""What becomes of a hit where transfer_to_npu runs: it takes the place over, an edit is left to make, or a person is told.

What the shim does to a name, and to the arguments of a call, is asked of the catalogue of the target. Four answers:

- covered (PRT150): the place stays as it is, and the inventory says what the shim makes of it
- kept: the shim does not touch it, so that the port is the edit that renames
- compared (PRT151): what torch answers is `npu` or `hccl` there, what the program itself holds is not: it takes both
- told (PRT151): the shim makes something else of it than the program means
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from porter.engine.nodes import chain, imported
from porter.engine.rule import Hit, named
from porter.python.blocks import once_for_file
from porter.python.compared import both_sides, is_compared, is_key, is_torchs, other_device
from porter.python.evidence import call_name
from porter.python.handed_index import CURRENT
from porter.python.held_questions import QUESTIONS
from porter.python.index import Link
from porter.python.shims import is_for_nvidia
from porter.rulebook.table import hints

if TYPE_CHECKING:
    from porter.catalog.read.operators import Transfer
    from porter.python.file import File

COVERED, GAP = "PRT150", "PRT151"
_TEXTS = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
_OWNERS = ("torch.Tensor", "torch.nn.Module")
_LAYERS, _MESH = ("torch.nn", "torch.nn.modules"), "torch.distributed.device_mesh.DeviceMesh"
_MOVES = ("to", "to_empty")  # of which a bare index is a device, wherever it stands
# they look for their modules on `cuda:0`: the shim replaces the function that names the device where torch does not read it
_ASK_CUDA = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.data_parallel"})
# what is said of a question that no port lets an NPU answer with yes, as only CUDA has what it leads to: the shim does let it.
# Where setup.py runs, it is not imported
_CUDA_WAYS = frozenset({"kernel", "raises"})
_ASIDE = ("tested", "refused")  # what they say of a place holds whatever ports it


def settled(hit: Hit, original: cst.CSTNode, file: File) -> Hit:
    """What the style shim makes of the answer of a rule."""
    if hit.code in (COVERED, GAP) or hit.optional or _is_outside(file):
        return hit
    edits = hit.new is not None or bool(hit.after or hit.more)
    literal = file.literal(hit.at) if isinstance(hit.at, _TEXTS) else None
    if edits and file.path in file.facts.accelerators.shimmed.own:
        return _covered(hit, "chosen", name=_said(hit, file))
    if literal is not None and literal.kind in ("device", "backend"):
        return _text(hit, literal, file) if edits or literal.role == "member" else hit
    if isinstance(original, (cst.Import, cst.ImportFrom)):
        return _import(hit, original, file) if edits else _chosen_inside(hit, file)
    if isinstance(original, cst.Call) and file.name(original.func) == CURRENT:
        return _covered(hit, "value", old=file.text(original))  # whatever takes it for a device is changed by the shim
    if isinstance(original, cst.Call):
        return _call(hit, original, file) if edits else _asks_cuda(hit, original, file)
    if isinstance(original, (cst.Attribute, cst.Name)):
        return _name(hit, original, file, edits)
    if isinstance(original, cst.FunctionDef) and original.name.value in ("cuda", "is_cuda"):
        return _covered(hit, "own", name=original.name.value)
    return hit


@once_for_file
def _is_outside(file: File) -> bool:
    return file.path in file.facts.accelerators.shimmed.outside


def _is_never_under(file: File) -> bool:
    return file.path.endswith("setup.py") or is_for_nvidia(file.source.utf8)


def _covered(hit: Hit, why: str, **values: str) -> Hit:
    return Hit(hit.at, why, values=named(**values), code=COVERED)


def _told(hit: Hit, why: str, **values: str) -> Hit:
    return Hit(hit.at, why, values=named(**values), code=GAP)


def _said(hit: Hit, file: File) -> str:
    return " ".join(file.text(hit.at).split()) if isinstance(hit.at, cst.CSTNode) else ""


def transfer(file: File, name: str | None) -> Transfer | None:
    return file.session.catalogue.operators.transfer(name) if name else None


def _inside(file: File, name: str) -> Transfer | None:
    """What the shim does to what a function or a module of torch hands its device on to."""
    if name in hints("hands-to-mesh"):
        return transfer(file, _MESH)
    home, _, last = name.rpartition(".")
    is_module = home in _LAYERS and last[:1].isupper() and "Parallel" not in last
    return transfer(file, "torch.empty") if is_module else None


# ---- strings


def _text(hit: Hit, literal: Any, file: File) -> Hit:
    old = file.text(hit.at)
    if literal.role in ("compared", "stripped", "case") or is_key(literal.link) and literal.role != "saved":
        return _compared(hit, literal, file)
    if literal.role == "saved":
        return _told(hit, "saved", old=old)
    if literal.kind == "backend" and ("cuda:" in old or "NCCL" in old):
        return hit  # how much of the first is changed differs from version to version, and capitals are not
    if (taken := taker(literal.link)) is not None:
        call, where = taken
        name = file.names.resolve(call[0].func, call)
        if name == "torch.device":
            other = other_device(call, file) if is_compared(call) else "made"
            if other == "made":
                return _covered(hit, "device", old=old)
            return _told(hit, "made-or-given" if other else "made", old=old)
        effect = effect_on(file, call, name)
        if effect is not None and takes(file, effect, where, literal.kind):
            return _covered(hit, "argument", old=old, name=name or call_name(call[0].func))
        if effect is not None or (name or "").startswith("torch."):
            return hit
    return _covered(hit, "value", old=old)


def taker(link: Link) -> tuple[Link, str | int] | None:
    """The call that takes a string, a choice of strings or what is made of one, and the place or the keyword."""
    child, above = link, link[1]
    while above is not None:
        node = above[0]
        if node.__class__ is ast.Call:
            if child[0] is not node.func:
                place = next((i for i, argument in enumerate(node.args) if argument is child[0]), None)
                return (above, place) if place is not None else None
            if call_name(node.func) != "format":
                return None
        elif node.__class__ is ast.keyword:
            return above[1], node.arg or "**"
        elif node.__class__ is ast.Dict and not any(value is child[0] for value in node.values):
            return None
        elif node.__class__ not in _WITHIN or getattr(node, "test", None) is child[0]:
            return None
        child, above = above, above[1]
    return None


_WITHIN = frozenset(
    {ast.IfExp, ast.BinOp, ast.BoolOp, ast.JoinedStr, ast.Tuple, ast.List, ast.Dict, ast.Attribute, ast.Starred}
)


def effect_on(file: File, call: Link, name: str | None) -> Transfer | None:
    """What the shim does to what a call calls; to the method of that name where it is one."""
    if name is not None and name.partition(".")[0] == "torch":
        return transfer(file, name) or _inside(file, name)
    func = call[0].func
    if func.__class__ is not ast.Attribute or name is not None and not name.startswith("."):
        return None
    return _on_method(file, func.attr)


def _on_method(file: File, name: str) -> Transfer | None:
    effects = (transfer(file, f"{owner}.{name}") for owner in _OWNERS)
    return next((effect for effect in effects if effect is not None), None)


def takes(file: File, effect: Transfer, where: str | int, kind: str = "device") -> bool:
    """Whether an argument becomes one of the NPU's."""
    known = file.session.catalogue.operators.transferred
    return effect.arguments and (isinstance(where, int) or where in known or kind == "backend")


def _compared(hit: Hit, literal: Any, file: File) -> Hit:
    old = file.text(hit.at)
    if not is_torchs(literal, file):
        return _covered(hit, "held", old=old)
    new = old.replace("cuda", file.target.device).replace("nccl", file.target.backend)
    more = both_sides(literal.link, old, new, file)
    why = "compared" if more else "compared-by-hand"
    return Hit(hit.at, why, more=more, safe=True, values=named(old=old, new=new), code=GAP)


# ---- names, imports, calls


def _name(hit: Hit, original: cst.Attribute | cst.Name, file: File, edits: bool) -> Hit:
    name = file.name(original)
    effect = transfer(file, name) if name else None
    if name is None and isinstance(original, cst.Attribute):
        effect = transfer(file, f"torch.Tensor.{original.attr.value}")
        return _covered(hit, "method", name=original.attr.value, to=effect.to) if edits and effect else hit
    if name is not None and name.endswith(".Backend.NCCL") and edits:
        return _covered(hit, "value", old=name) if not is_compared(file.link(original), name) else hit
    if name == "torch.cuda" or (effect is None or effect.effect == "left") and _below(file, name):
        return _covered(hit, "module", name=name or "") if edits else hit
    if effect is None or hit.why in _ASIDE:
        return hit
    if effect.effect == "left":
        return hit if edits else replace(hit, values=(*hit.values, ("left_to_cuda", name or "")))
    if not edits and name in QUESTIONS and hit.why in _CUDA_WAYS and not _is_never_under(file):
        return _told(hit, "opens", name=name, what=dict(hit.values).get("what", ""))
    if not edits:
        return replace(hit, values=(*hit.values, ("by_shim", effect.to))) if effect.to else hit
    if effect.effect != "replaced":
        return _covered(hit, "argument", old=name or "", name=name or "")
    words = {(name or "").rpartition(".")[2], *(chain(hit.new)[-1:] if hit.new is not None else ())}
    if effect.to.rpartition(".")[2] not in words:
        return _told(hit, "otherwise", name=name or "", to=effect.to)
    if hit.safe:
        return _covered(hit, "replaced", name=name or "", to=effect.to)
    return replace(hit, new=None, after=(), more=(), values=(*hit.values, ("by_shim", effect.to)))


def _below(file: File, name: str | None) -> bool:
    return file.session.catalogue.operators.transfers_below(name or "")


def _import(hit: Hit, original: cst.Import | cst.ImportFrom, file: File) -> Hit:
    """Covered where all that the shim knows of the names is that it puts others in their place."""
    names = [name for name in imported(original) if name.startswith("torch.")]
    effects = {name: effect for name in names if (effect := transfer(file, name)) is not None}
    left = [n for n, effect in effects.items() if effect.effect == "left" and not _below(file, n)]
    whole = any(name == "torch.cuda" or _below(file, name) for name in names)
    if left or not (whole or any(effect.effect == "replaced" for effect in effects.values())):
        return hit
    return _covered(hit, "imported", names=", ".join(names))


def _chosen_inside(hit: Hit, file: File) -> Hit:
    """A function of a package that takes CUDA unless it is told: what it calls of torch is changed as well."""
    name = dict(hit.values).get("name", "")
    row = file.rules.tables.packages.get(name)
    return hit if row is None or row.device is None or hit.why != row.why else _covered(hit, "inside", name=name)


def _call(hit: Hit, original: cst.Call, file: File) -> Hit:
    func, new = original.func, _called(hit)
    name = file.name(func)
    method = func.attr.value if isinstance(func, cst.Attribute) and (name is None or file.is_object(func.value)) else ""
    effect = _on_method(file, method) if method else transfer(file, name)
    if method == "cuda" and effect is not None:
        given = () if new is None else new.args
        same = len(given) == len(original.args) and all(a.deep_equals(b) for a, b in zip(original.args, given))
        is_moved = new is not None and getattr(new.func, "attr", cst.Name("to")).value == "to"
        if same and not is_moved or not original.args or hit.why in ("own", "moved"):
            return _covered(hit, "method", name=method, to=effect.to)
        return hit
    if new is None or not new.func.deep_equals(func):
        is_same = effect is not None and new is not None and effect.to.rpartition(".")[2] == chain(new.func)[-1:][0]
        return _covered(hit, "replaced", name=name or "", to=effect.to) if effect is not None and is_same else hit
    old = {_key(a, i): a for i, a in enumerate(original.args)}
    changed = [_key(a, i) for i, a in enumerate(new.args) if (b := old.get(_key(a, i))) is None or not a.deep_equals(b)]
    if name == "torch.device":
        return _covered(hit, "device", old=file.text(original))
    if not changed or effect is None or not all(takes(file, effect, where) for where in changed):
        return hit
    by_place = any(isinstance(where, int) for where in changed) and len(new.args) == len(original.args)
    if by_place and method not in _MOVES:
        return hit  # only these take an index by its place for a device
    return _covered(hit, "argument", old=file.text(original), name=name or method)


def _asks_cuda(hit: Hit, original: cst.Call, file: File) -> Hit:
    name = file.name(original.func)
    return replace(hit, values=(*hit.values, ("left_to_cuda", name))) if name in _ASK_CUDA else hit


def _called(hit: Hit) -> cst.Call | None:
    return hit.new if isinstance(hit.new, cst.Call) else None


def _key(argument: cst.Arg, index: int) -> str | int:
    return argument.keyword.value if argument.keyword is not None else index
