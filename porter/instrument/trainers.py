"""The step of a framework's trainer: it runs in a library, which takes callbacks or hooks."""

from __future__ import annotations

import ast
from collections.abc import Callable

from porter.analysis.file import File
from porter.instrument.loops import RECORDER, Missing, Plan
from porter.instrument.marks import Line
from porter.instrument.naming import statement_of, text_of
from porter.python.assigned import values_of
from porter.python.evidence import call_name, imported_packages, target_name
from porter.python.index import Link, Node, ancestors
from porter.training.context import Context
from porter.training.loops import LOOPS

_LIGHTNING = frozenset({"lightning", "pytorch_lightning"})
_TRAINS = {  # the method that trains: whose it is, and what an object that has it is called
    "train": (
        (frozenset({"transformers", "trl", "sentence_transformers"}), "trainer"),
        (frozenset({"mmengine"}), "runner"),
    ),
    "fit": ((_LIGHTNING, "trainer"),),
    "run": ((frozenset({"mmcv"}), "runner"),),
}
PACKAGES = frozenset(package for kinds in _TRAINS.values() for packages, _ in kinds for package in packages)
Kind = Callable[[str], "str | None"]  # the package that the class of a full name comes from in the end; None: unknown


def plan(file: File, kind: Kind, around: bool) -> tuple[str, Plan]:
    """The name of the framework, and what to do."""
    result, framework, by_itself = Plan([], [], []), "", []
    imported = imported_packages(file.names.imports)
    for link in sorted(file.buckets[ast.Call], key=lambda link: link[0].lineno):
        call = link[0]
        if call_name(call.func) == "LightningCLI" and imported & _LIGHTNING:
            by_itself.append(Missing(call.lineno, "cli", f"{RECORDER}.attach(cli.trainer)"))
            framework = "lightning"
        elif call.func.__class__ is ast.Attribute and call.func.attr in _TRAINS:
            if name := _framework(file, call.func.value, link, kind, imported):
                framework = name
                _attach(file, link, result)
        elif (step := _megatron(link)) is not None:
            framework = "megatron"
            _around_function(step, result, around)
    return framework, result if result.at else result._replace(missing=result.missing + by_itself)


def _framework(file: File, receiver: Node, link: Link, kind: Kind, imported: set[str]) -> str:
    """Of what a method that trains is called on."""
    for packages, word in _TRAINS[link[0].func.attr]:
        made = _class_of(file, receiver, link)
        root = kind(made) if made else None
        if root in packages:
            return str(root)
        # nothing says what it is; by its name it is one of theirs
        is_unknown = root is None or not (made or "").rpartition(".")[2][:1].isupper()
        if is_unknown and word in target_name(receiver).lower() and imported & packages:
            return min(imported & packages)
    return ""


def _class_of(file: File, receiver: Node, link: Link) -> str | None:
    """The full name of the class, or of the function, that made an object."""
    values: list[ast.expr] = []
    if isinstance(receiver, ast.Name):
        values = values_of(file.names, receiver, link)
    elif isinstance(receiver, ast.Attribute) and (owner := Context.owner(link)) is not None:
        values = file.receivers.members(owner).get(receiver.attr, [])
    elif isinstance(receiver, ast.Call):
        values = [receiver]
    for value in values:
        if isinstance(value, ast.Call):
            full = file.names.resolve(value.func, link) or getattr(value.func, "id", None)
            full = full or getattr(getattr(value.func, "value", None), "id", None)  # Runner.from_cfg
            full = (full or "").removesuffix(".from_cfg").removesuffix(".instantiate")
            return None if full in ("", "hydra.utils") else full
    return None


def _attach(file: File, link: Link, result: Plan) -> None:
    receiver, statement = link[0].func.value, statement_of(link)
    if receiver.__class__ not in (ast.Name, ast.Attribute):
        result.missing.append(Missing(link[0].lineno, "trainer", f"{RECORDER}.attach(trainer)"))
        return
    result.at.append(link[0].lineno)
    result.lines.append(Line(f"{RECORDER}.attach({text_of(file, receiver)})", statement[0]))


def _megatron(link: Link) -> Link | None:
    """`losses, skipped, ... = train_step(forward_step_func, iterator, model, optimizer, ...)`: its statement."""
    call, statement = link[0], statement_of(link)
    names = {a.id for a in [*call.args, *(k.value for k in call.keywords)] if isinstance(a, ast.Name)}
    is_call = call.func.__class__ is ast.Name and call.func.id == "train_step" and {"model", "optimizer"} <= names
    targets = statement[0].targets[0] if statement[0].__class__ is ast.Assign else None
    return statement if is_call and targets.__class__ is ast.Tuple else None


def _around_function(step: Link, result: Plan, around: bool) -> None:
    names = [target_name(part) for part in step[0].targets[0].elts]
    norm = next((name for name in names if "norm" in name), "")
    text = f"{RECORDER}.step(loss={names[0]}, optimizer=optimizer, model=model{f', grad_norm={norm}' * bool(norm)})"
    result.at.append(step[0].lineno)
    loop = next((above[0] for above in ancestors(step) if above[0].__class__ in LOOPS), step[0])
    result.lines.append(Line(f"{RECORDER}.watch(model, optimizer)", loop))
    if around:
        result.lines.append(Line(f"{RECORDER}.begin(model)", step[0]))
    result.lines.append(Line(text, step[0], below=True))
    if around:
        result.lines.append(Line(f"{RECORDER}.end()", step[0], below=True))
