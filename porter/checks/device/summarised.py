"""`torchsummary.summary(model, size)`: its input lies on CUDA or on the CPU, and so has the model that a program prints."""

from __future__ import annotations

import ast

from porter.engine.rule_file import Link, Node, RuleFile
from porter.python.blocks import once_for_file
from porter.python.evidence import constant
from porter.python.index import FUNCTIONS, parents

_SUMMARIES = frozenset({"torchsummary.summary", "torchsummary.torchsummary.summary"})
_DEVICE = 3  # summary(model, input_size, batch_size, device)


def is_summarised(file: RuleFile, link: Link | None) -> bool:
    """Whether a place stands in a function, or beside all functions, that has a model summed up and where nothing trains.
    Under transfer_to_npu torchsummary's question for CUDA is answered by the NPU."""
    if b"torchsummary" not in file.source.words or file.session.target.style == "shim":
        return False
    return link is not None and _scope(link) in _scopes(file)


@once_for_file
def _scopes(file: RuleFile) -> frozenset[Node | None]:
    if b"backward" in file.source.words:
        return frozenset()  # the summary is to go, and the training to run on the accelerator
    calls = [link[1] for link in file.meaning.mentions.of(_SUMMARIES) if getattr(link[1][0], "func", None) is link[0]]
    return frozenset(_scope(call) for call in calls if not _is_on_host(call[0]))


def _is_on_host(call: Node) -> bool:
    """`summary(model, size, device="cpu")`."""
    given: list[ast.expr] = [keyword.value for keyword in call.keywords if keyword.arg == "device"] or call.args[
        _DEVICE:
    ]
    return bool(given) and constant(given[0]) == "cpu"


def _scope(link: Link) -> Node | None:
    return next((above for above in parents(link) if isinstance(above, FUNCTIONS[:2])), None)
