"""`apex.amp`: mixed precision from before torch had it."""

from __future__ import annotations

import ast

from porter.checks.apex.scaler import SINCE, native_amp
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import Link, Node, RuleFile
from porter.files.paths import is_test
from porter.python.evidence import constant
from porter.python.index import ancestors, chain_of, parents, walk

KINDS = {
    "initialize": "initialize",
    "scale_loss": "scale-loss",
    "master_params": "master-params",
    "state_dict": "state",
    "load_state_dict": "state",
    **{f"{kind}_function": "cast" for kind in ("half", "float", "promote", "bfloat16")},
    **{f"register_{kind}_function": "cast" for kind in ("half", "float", "promote", "bfloat16")},
    "init": "initialize",
    "disable_casts": "cast",
    "_amp_state": "private",
}
_WHOLE = "apex.amp"
_INITIALIZE: tuple[str | None, ...] = ("models", "optimizers", "enabled", "opt_level")  # what it takes, in their order


class ApexAmp(Rule):
    code = "PRT350"
    references = frozenset(
        [_WHOLE, *(f"{_WHOLE}.{module}{name}" for module in ("", "frontend.", "handle.") for name in KINDS)]
    )

    def visit(self, original: cst.Attribute | cst.Name, updated: cst.Attribute | cst.Name, file: RuleFile) -> Answer:
        if is_test(file.path) and file.facts.own.has_package("apex", file.path):
            return None  # a test of apex itself: with torch.amp in its place nothing is tested
        if file.name(original) == _WHOLE:
            if file.imported.optional(original):
                return None
            if called := _called_of(_kept_as(original, file), file):
                return Hit(original, "kept", values=(("name", called), _scaler(file)))
            return Hit(original, "handed") if file.around.argument(original) else None
        function = (file.name(original) or "").rpartition(".")[2]
        values, severity = (("name", function),), "note" if file.imported.optional(original) else None
        ported = native_amp(file)
        more = ported.pieces.get(file.span(original)[0], ()) if ported else ()
        if ported and more and function == "initialize":
            return Hit(original, "ported", values=(*values, ("count", str(ported.count))), more=more, loads=True)
        if severity and not more and _is_asked_for(file.link(original)):
            return Hit(original, "asked", values=values, severity=severity)
        why = _without_loss(original, file) if function == "initialize" else ""
        why = why or KINDS[function]
        told = (*values, _scaler(file)) if why == "initialize" else values
        return Hit(original, why, values=told, severity=severity, more=more, loads=bool(more))


def _scaler(file: RuleFile) -> tuple[str, str]:
    """The call of the GradScaler that a person writes: torch's own takes a device, where this torch has it."""
    older = file.style.name("amp.GradScaler", "amp.GradScaler", file) or "torch.npu.amp.GradScaler"
    return "scaler", 'torch.amp.GradScaler("npu")' if file.target.torch >= SINCE else f"{older}()"


def _is_asked_for(link: Link | None) -> bool:
    """Whether a place runs only where a condition that names apex says so, as `self.use_apex` of a Trainer does."""
    child = link[0] if link is not None else None
    for above in parents(link):
        if above.__class__ in (ast.If, ast.IfExp) and child in _body(above):
            if any("apex" in (getattr(n, "attr", "") or getattr(n, "id", "")).lower() for n in walk(above.test)):
                return above.test.__class__ is not ast.UnaryOp
        child = above
    return False


def _body(choice: Node) -> list[Node]:
    return choice.body if isinstance(choice, ast.If) else [choice.body]


def _without_loss(original: cst.Attribute | cst.Name, file: RuleFile) -> str:
    """What is said of a call that scales no loss: 'halves' at O3, 'inference' where it gets no optimizer; "" of all others."""
    link = file.link(original)
    link = chain_of(link) if link is not None else None
    call = next((above[0] for above in ancestors(link)), None)
    if link is None or not isinstance(call, ast.Call) or call.func is not link[0]:
        return ""
    if any(isinstance(a, ast.Starred) for a in call.args):
        return ""
    given = {**dict(zip(_INITIALIZE, call.args)), **{k.arg: k.value for k in call.keywords}}
    level, optimizers = constant(given.get("opt_level")), given.get("optimizers")
    if level == "O3":
        return "halves"
    none = optimizers is None or isinstance(optimizers, ast.Constant) or getattr(optimizers, "elts", optimizers) == []
    return "inference" if none and None not in given and level != "O0" and "enabled" not in given else ""


def _kept_as(original: cst.Attribute | cst.Name, file: RuleFile) -> str:
    """`self.amp` of `self.amp = amp`."""
    link = file.link(original)
    above = link[1][0] if link is not None and link[1] is not None else None
    target = above.targets[0] if isinstance(above, ast.Assign) and len(above.targets) == 1 else None
    return ast.unparse(target) if isinstance(target, ast.Attribute) else ""


def _called_of(kept: str, file: RuleFile) -> str:
    """The first function of apex.amp that is called of what it is kept as."""
    spelled = (f"{kept}.{name}" for name in KINDS if kept)
    return next((name for name in spelled if file.source.says(f"{name}(".encode())), "")
