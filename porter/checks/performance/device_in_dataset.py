"""`__getitem__`, `__iter__` and collate functions that put tensors on the device: loader workers cannot do that."""

from __future__ import annotations

import ast

from porter.checks.performance import prefilters
from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.python.evidence import MOVES
from porter.python.index import Link, Node, ancestors, walk
from porter.regex import lazy
from porter.training import transfers

WORKERS = lazy(r"^__(?:getitem|iter)__$|(?i:collate(?!d))")  # what is collated already has left the workers
COLLECTIVES = lazy(rb"\b(?:all_gather|all_reduce|all_to_all|reduce_scatter)\w*\(")  # of processes that train
LOADER = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})
FACTORIES = "tensor as_tensor zeros ones empty full rand randn randint randperm arange linspace".split()


class DeviceInDataset(Rule):
    code = "PRT636"
    edits = False
    methods = MOVES
    calls = frozenset(f"torch.{name}" for name in FACTORIES)
    only = staticmethod(prefilters.works_for_loader)

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        name = file.name(original.func)
        if file.tested or not file.scene.inside(original, WORKERS, dataset=True):
            return None
        if name is None and file.receiver(original) in ("other", "own"):
            return None
        link = file.scene.link(original)
        if link is None or self._is_no_worker(file, link) or name and self._is_asked(file, link) or _comes_back(link):
            return None
        callee = name or (f".{original.func.attr.value}" if isinstance(original.func, cst.Attribute) else "")
        if callee not in (".cuda", ".npu") and not file.tensors.moves(original):
            return None
        why = "worker"
        if _loads_itself(file):
            if not file.scene.function_name(link).startswith("__"):
                return None  # a whole batch, where it is trained with
            why = "alone"
        return Hit(original, why, values=(("name", f"{callee}()"),))

    @staticmethod
    def _is_no_worker(file: RuleFile, link: Link) -> bool:
        """A module collates what it is handed in the step, a batch has a `to`; or copies go on a stream, to where data lies, or
        between the processes that train."""
        owner = file.scene.owner(link)
        if owner is not None and any((file.names.resolve(b, link) or "").endswith("nn.Module") for b in owner.bases):
            return True
        function: Node = (file.scene.function(link) or (None, None))[0]
        if file.source.says(COLLECTIVES, function) or owner is not None and _is_for_others(owner, function):
            return True
        return file.source.says(b"record_stream", function) or function.name in MOVES or transfers.follows_data(link)

    @staticmethod
    def _is_asked(file: RuleFile, link: Link) -> bool:
        """`device=device` of a function that joins tensors, wherever they are."""
        given = next((k.value for k in link[1][0].keywords if k.arg == "device"), None)
        return hasattr(given, "id") and not file.scene.function_name(link).startswith("__")


def _comes_back(link: Link) -> bool:
    """`net(x.cuda()).cpu().numpy()`: the device computes for the sample, which lies on the host again. Workers cannot do that on
    a GPU either."""
    for node, _ in ancestors(link):
        if isinstance(node, ast.stmt):
            return False
        if getattr(node, "attr", "") in ("cpu", "numpy"):
            return True
    return False


def _is_for_others(owner: Node, function: Node) -> bool:
    """A method that its class never calls, and no name of a worker's work: `Collater.to_device(batch)` of a training loop."""
    name = getattr(function, "name", "__call__")
    if name.startswith("__") or WORKERS.search(name):
        return False
    return all(getattr(node, "attr", getattr(node, "id", "")) != name for node in walk(owner))


def _loads_itself(file: RuleFile) -> bool:
    """The loaders of the file have no workers: what they load is made in the process that trains."""
    calls = [link[1][0] for link in file.meaning.mentions.of(LOADER) if getattr(link[1][0], "func", None) is link[0]]
    return bool(calls) and not any(map(_has_workers, calls))


def _has_workers(call: Node) -> bool:
    if len(call.args) > 5:
        return True
    given = {k.arg: k.value for k in call.keywords}
    return None in given or getattr(given.get("num_workers"), "value", 0) != 0
