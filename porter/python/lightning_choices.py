"""Finds questions for a GPU that choose an accelerator of Lightning: `accelerator = "gpu" if use_gpu else "cpu"`.

Lightning has no accelerator for NPUs, and the other arguments of its Trainer depend on this one. Question and accelerator are
ported together or not at all. So are a question and the number of GPUs, by which an older Trainer takes them. As porter leaves
both of these to a person, it leaves the question, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.python.assigned import values_of
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name, constant, lightning, target_name, trainer
from porter.python.index import Link, Node, ancestors, owner_of, walk
from porter.python.parameters import defaults, is_static
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.engine.rule_file import RuleFile
    from porter.python.file import File

_GPU = ("gpu", "cuda")
_ACCELERATOR = "accelerator"
_GPUS = "gpus"
_COUNTS = frozenset({"min", "max", "int", "bool"})
_LIGHTNING = lazy(rb"lightning|Trainer\(")  # a project may have a Trainer derived from it, in another file
_ANSWERS = (ast.BoolOp, ast.Compare, ast.UnaryOp, ast.NamedExpr)  # their value is still an answer to the question
_NUMBERS = (*_ANSWERS, ast.BinOp, ast.IfExp)  # their value is still a number that follows from it


def of_choice(file: File | RuleFile, choice: Link) -> str | None:
    """`accelerator="gpu"` for a condition `accelerator="gpu" if torch.cuda.is_available() else "cpu"`, and for an `if` with
    a branch that sets it."""
    if choice[0].__class__ is ast.If:
        return next(_set_in(file, choice), None)
    place: Link = choice[1]
    given: list[Node] = [place[0]] if place[0].__class__ is ast.Assign else []
    sought: tuple[str, ...] = _GPU
    if place[0].__class__ is ast.keyword and place[1] and place[1][0].__class__ is ast.Call:
        function = place[1][0].func
        if trainer(file.names.resolve(function, place[1])):
            given = place[1][0].keywords
        # of the project, maybe derived from Lightning's, or settings for it: no device is called "gpu"
        elif call_name(function).endswith("Trainer"):
            given, sought = place[1][0].keywords, _GPU[:1]
        elif place[0].arg == _ACCELERATOR:
            given, sought = [place[0]], _GPU[:1]
    counts = file.source.says(b"gpus=") and file.source.says(b"lightning")
    for node in given:
        name = getattr(node, "arg", None) or target_name(getattr(node, "targets", [None])[0])
        side = constant(getattr(node.value, "body", None)) if node.value.__class__ is ast.IfExp else None
        if side in sought and lightning(name):
            return f'{name}="{side}"'
        if counts and name == "gpus" and node.value.__class__ is ast.IfExp:
            return f"gpus={ast.unparse(node.value.body)}"
    return None


def kind(choice: Link, accelerator: str) -> str:
    """How a question goes with the accelerator that it chooses: "half", where that stays. A name that holds "cuda" may be a device
    of torch, which is ported, and so is its question: "together"."""
    is_handed = choice[1] is not None and choice[1][0].__class__ is ast.keyword
    return "half" if is_handed or not accelerator.endswith('"cuda"') else "together"


def of_side(file: RuleFile, literal: Link) -> str | None:
    """The accelerator that a device is, in a condition that asks for a GPU: `accelerator = "cuda" if use_gpu else "cpu"`."""
    if literal[1][0].__class__ is not ast.IfExp or not file.source.says(b"accelerator"):
        return None
    return of_choice(file, literal[1])


def of_name(file: File | RuleFile, target: Node, link: Link) -> str | None:
    """The accelerator that a name chooses further down: `use_gpu = gpus > 0 and torch.cuda.is_available()`."""
    if target.__class__ is not ast.Name or not _may_choose(file):
        return None
    uses = file.names.readers(target.id, (target, link))
    choices = (choice for use in uses if (choice := _tested(use)))
    return next(filter(None, (of_choice(file, choice) for choice in choices)), None)


def of_number(file: File | RuleFile, question: Link | None, hops: int = 1) -> str | None:
    """The number of GPUs that follows from a question, as an older Trainer takes it: `gpus=torch.cuda.device_count()`, also by a name,
    and as what an option is by default."""
    if question is None or not file.source.says(_GPUS.encode()) or not file.source.says(b"lightning"):
        return None
    child = question[0]
    for up in ancestors(question):
        node: Node = up[0]
        if isinstance(node, (ast.keyword, ast.Dict)):
            number = _handed_number(up, child)
            return f"{_GPUS}={ast.unparse(number)}" if number is not None else None
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            if len(node.targets) != 1 or not hops or not isinstance(target, ast.Name):
                return None
            uses = file.names.readers(target.id, (target, up))
            return next(filter(None, (of_number(file, use, hops - 1) for use in uses)), None)
        counts = isinstance(node, ast.Call) and call_name(node.func) in _COUNTS and child is not node.func
        if not counts and not isinstance(node, _NUMBERS) and child is not getattr(node, "func", None):
            return None
        child = node
    return None


def _handed_number(up: Link, child: Node) -> Node:
    """What a Trainer, its options or its settings get as the number of GPUs; None where the keyword or key is another."""
    node = up[0]
    if isinstance(node, ast.Dict):
        keys = [key for key, value in zip(node.keys, node.values) if value is child]
        return child if keys and constant(keys[0]) == _GPUS else None
    call: Node = up[1] and up[1][0]
    called = call_name(getattr(call, "func", None))
    is_default = (
        called == "add_argument" and node.arg == "default" and constant(next(iter(call.args), None)) == "--gpus"
    )
    return node.value if is_default or node.arg == _GPUS and called.endswith("Trainer") else None


def of_comparison(file: RuleFile, literal: Link) -> str | None:
    """The accelerator that a comparison of a device with the string at `literal` chooses."""
    if not _may_choose(file):
        return None
    asked = literal[1]
    if choice := _tested(asked):
        return of_choice(file, choice)
    above = next((up for up in ancestors(asked) if up[0].__class__ not in _ANSWERS), None)
    if above is None or above[0].__class__ is not ast.Assign or len(above[0].targets) != 1:
        return None
    return of_name(file, above[0].targets[0], above)


@once_for_file
def accelerators(file: RuleFile) -> dict[Node, str]:
    """The strings for a GPU that Lightning's Trainer is given, as `accelerator="gpu"`: they stay what they are."""
    if not file.source.says(_ACCELERATOR.encode()):
        return {}
    links: list[Link] = [link for link in file.buckets[ast.Call] if trainer(file.names.resolve(link[0].func, link))]
    given = ((k.value, (k, link)) for link in links for k in link[0].keywords if k.arg == _ACCELERATOR)
    values = (value for node, up in given for value in given_as(file, (node, up)))
    return {value: f'{_ACCELERATOR}="{constant(value)}"' for value in values if constant(value) in _GPU}


def given_as(file: RuleFile, value: Link) -> list[Node]:
    """What a value may be, as far as the file says: itself, what its name is set to, or what the file's own calls hand to the
    parameter that it is; of a condition, both sides."""
    found: list[Node] = [value[0]]
    if value[0].__class__ is ast.Name:
        found = [*values_of(file.names, *value), *_handed(file, value)]
    return [side for node in found for side in (getattr(node, "body", node), getattr(node, "orelse", node))]


def _handed(file: RuleFile, use: Link) -> Iterator[Node]:
    """The default of the parameter that a name is, and what the file's own calls hand to it."""
    bindings = file.names.bindings(use[0].id, use)
    if len(bindings) != 1 or bindings[0][0].__class__ is not ast.arg:
        return
    name, function = use[0].id, bindings[0][1][1]
    yield from (default for parameter, default in defaults(function[0]).items() if parameter == name)
    is_method = owner_of(function) is not None and not is_static(function[0])
    parameters = [p.arg for p in (*function[0].args.posonlyargs, *function[0].args.args)][is_method:]
    for call, _ in file.buckets[ast.Call]:
        if call_name(call.func) == function[0].name:
            given = [*zip(parameters, call.args), *((k.arg, k.value) for k in call.keywords)]
            yield from (value for parameter, value in given if parameter == name)


def _may_choose(file: File | RuleFile) -> bool:
    """Whether a file names an accelerator, or how many GPUs an older Trainer takes."""
    return file.source.says(_ACCELERATOR.encode()) or file.source.says(b"gpus=")


def _tested(answer: Link) -> Link | None:
    """The `if`, or the condition, that an answer to the question is the test of."""
    child = answer[0]
    for up in ancestors(answer):
        if up[0].__class__ in (ast.If, ast.IfExp):
            return up if up[0].test is child else None
        if up[0].__class__ not in _ANSWERS:
            return None
        child = up[0]
    return None


def _set_in(file: File | RuleFile, branch: Link) -> Iterator[str]:
    """What the branches of an `if` set: `accelerator = "gpu"`, `options["accelerator"] = "gpu"`, `Trainer(accelerator="gpu")`."""
    counts = file.source.says(b"gpus=")
    if not _may_choose(file) or not file.source.says(_LIGHTNING):
        return
    for node in (inner for statement in (*branch[0].body, *branch[0].orelse) for inner in walk(statement)):
        pairs: list[tuple[str, Node]] = []
        if node.__class__ is ast.Assign:
            pairs = [(_holder(target), node.value) for target in node.targets]
        elif node.__class__ is ast.keyword:
            pairs = [(node.arg or "", node.value)]
        elif node.__class__ is ast.Dict:
            pairs = [(str(constant(key)), value) for key, value in zip(node.keys, node.values, strict=True)]
        if counts:  # what takes a number of GPUs takes no other device
            yield from (f"gpus={ast.unparse(value)}" for name, value in pairs if name == "gpus" and not _is_none(value))
        yield from (f'{name}="{value.value}"' for name, value in pairs if constant(value) in _GPU and lightning(name))


def _holder(target: Node) -> str:
    return str(constant(target.slice)) if target.__class__ is ast.Subscript else target_name(target)


def _is_none(value: Node) -> bool:
    """`gpus = None`, `gpus = 0`: the CPU."""
    return value.__class__ is ast.Constant and not value.value
