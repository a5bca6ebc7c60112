"""`torchsummary.summary(model, size)`: its input lies on CUDA or on the CPU, and so has the model that a program prints."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, parents

SUMMARIES = frozenset({"torchsummary.summary", "torchsummary.torchsummary.summary"})
_DEVICE = 3  # summary(model, input_size, batch_size, device)
_MOVES = frozenset({"cuda", "cpu", "to", "eval"})  # methods that give the model back
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def is_summarised(file: RuleFile, link: Link | None) -> bool:
    """Whether a place is the device of a summary, or stands in a function, or beside all functions, that has a model summed up and
    does nothing more with it. Under transfer_to_npu torchsummary's question for CUDA is answered by the NPU."""
    if b"torchsummary" not in file.source.words or file.session.target.style == "shim":
        return False
    return link is not None and (_is_of_summary(file, link) or _scope(link) in _scopes(file))


def _is_of_summary(file: RuleFile, link: Link) -> bool:
    """Whether a place is an argument of the summary itself, which takes no NPU."""
    above = link[1][1] if link[1] is not None and link[1][0].__class__ is ast.keyword else link[1]
    call: Node = above[0] if above is not None else None
    return call.__class__ is ast.Call and call.func is not link[0] and file.names.resolve(call.func, above) in SUMMARIES


@once_for_file
def _scopes(file: RuleFile) -> frozenset[Node | None]:
    if b"backward" in file.source.words:
        return frozenset()  # the summary is to go, and the training to run on the accelerator
    calls = [link[1] for link in file.meaning.mentions.of(SUMMARIES) if getattr(link[1][0], "func", None) is link[0]]
    at_work = {_scope(call) for call in calls if _is_at_work(file, call)}
    return frozenset(_scope(call) for call in calls if given_device(call[0]) != "cpu") - at_work


def given_device(call: Node) -> object:
    """`cpu` of `summary(model, size, device="cpu")`; None where it is computed, or not given."""
    named: list[ast.expr] = [keyword.value for keyword in call.keywords if keyword.arg == "device"]
    given = named or call.args[_DEVICE:]
    return constant(given[0]) if given else None


def _is_at_work(file: RuleFile, call: Link) -> bool:
    """Whether a program goes on with the model: it is returned, handed to `train(model)`, or called for each batch."""
    model = next(
        iter((*call[0].args, *(keyword.value for keyword in call[0].keywords if keyword.arg == "model"))), None
    )
    while isinstance(model, ast.Call) and isinstance(model.func, ast.Attribute) and model.func.attr in _MOVES:
        model = model.func.value  # summary(model.cuda(), size)
    if not isinstance(model, ast.Name):
        return isinstance(model, ast.Attribute)  # `self.model`, which belongs to more than this function
    uses = (use for use in file.names.uses if use[0].id == model.id and isinstance(use[0].ctx, ast.Load))
    return any(_works(use, call[0]) for use in uses if _scope(use) is _scope(call))


def _works(use: Link, summary: Node) -> bool:
    above = use[1][1] if isinstance(use[1][0], ast.keyword) else use[1]
    if above[0].__class__ is ast.Call and above[0].func is use[0]:
        return any(isinstance(up, _LOOPS) for up in parents(above))
    shown = above[0] is summary or above[0].__class__ is ast.Call and call_name(above[0].func) == "print"
    return not shown and above[0].__class__ is not ast.Attribute


def _scope(link: Link) -> Node | None:
    return next((above for above in parents(link) if isinstance(above, FUNCTIONS[:2])), None)
