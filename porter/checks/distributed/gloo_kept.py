"""A process group of gloo alone, in a program whose gradients lie on the device: gloo knows cpu and cuda, and no NPU."""

from __future__ import annotations

import ast

from porter.engine.nodes import positional
from porter.engine.rule import Answer, Hit, Rule, cst, named
from porter.engine.rule_file import Link, RuleFile
from porter.python.evidence import call_name, constant, given_flags, option_name
from porter.python.index import ancestors
from porter.regex import lazy

_GROUP = frozenset({"torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group"})
# functions that make the group in each process, told its backend by keyword
_STARTS = frozenset({"dask_pytorch_ddp.dispatch.run"})
_DEVICE = lazy(rb"\.cuda\(|[\"']cuda|\bcuda\.set_device\(")
_OTHERS = lazy(rb"(?im)^[^#\n]*(?:nccl|hccl|new_group\(|\bmpi\b)")  # what a comment says chooses nothing
# what sends parameters or gradients from where they lie
_SENDS = lazy(
    rb"\bDistributedDataParallel\(|\b(?:DDP|FSDP)\w*\(|\bfully_shard\(|\bFullyShardedDataParallel\(|\boptim\.Distributed\("
    rb"|\b(?:all_reduce|broadcast|reduce|all_gather)\([ \t]*\w+\.(?:grad|data)\b"
)
_OWN_DEVICE = lazy(rb"\bcuda\.set_device\(")  # each process has one, and another file may wrap what lies there
_ASKS = lazy(r"(?i)cpu|cuda|gpu|device|available|platform|os\.name|windows")


class GlooKept(Rule):
    code = "PRT218"
    calls = _GROUP | _STARTS
    edits = False

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        given = _backend(original, file)
        option = _option_of_gloo(given, file) if isinstance(given, cst.Attribute) else ""
        if given is None or not option and not _is_gloo(given):
            return None
        says, link = file.source.says, file.scene.link(original)
        sends = says(_SENDS) or file.facts.accelerators.wraps and says(_OWN_DEVICE)
        if not says(_DEVICE) or says(_OTHERS) or not sends or len(file.meaning.mentions.of(_GROUP | _STARTS)) > 1:
            return None
        if file.tested or link is None or _is_of_hosts(link):
            return None
        if option:
            return Hit(given, "default", values=named(option=option))
        return Hit(given, "kept", values=(("new", f"cpu:gloo,{file.target.device}:{file.target.backend}"),))


def _backend(call: cst.Call, file: RuleFile) -> cst.BaseExpression | None:
    if file.name(call.func) in _STARTS:
        return next((a.value for a in call.args if a.keyword and a.keyword.value == "backend"), None)
    backend = positional(call, 0, ("backend",))
    return backend[1].value if backend is not None and backend[1] is not None else None


def _is_gloo(given: cst.BaseExpression) -> bool:
    return isinstance(given, cst.SimpleString) and given.evaluated_value == "gloo"


def _option_of_gloo(given: cst.Attribute, file: RuleFile) -> str:
    """`--dist-backend` of `args.dist_backend`, if it is gloo where nobody says another; "" for others."""
    for link in file.buckets[ast.Call]:
        call = link[0]
        if call_name(call.func) == "add_argument" and option_name(call) == given.attr.value:
            is_gloo = any(keyword.arg == "default" and constant(keyword.value) == "gloo" for keyword in call.keywords)
            return max(given_flags(call), key=len) if is_gloo else ""
    return ""


def _is_of_hosts(link: Link) -> bool:
    """Whether a condition around asks for the device or the system: there is another way elsewhere."""
    tests = (above[0].test for above in ancestors(link) if above[0].__class__ is ast.If)
    return any(_ASKS.search(ast.unparse(test)) for test in tests)
