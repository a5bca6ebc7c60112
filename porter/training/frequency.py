"""Judges whether code runs only for some batches, or only beside the training: by conditions, and by names of classes.

Conditions are judged by their words and form alone. `rarely` and `matters` of `context.py` combine these questions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from porter.python.blocks import BODIES, once, place, within
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.regex import lazy
from porter.rulebook.table import hint
from porter.training.chances import is_seldom

_NOW_AND_THEN, _REPORTS = map(hint, ("now-and-then", "reports"))
STEPS = frozenset({"training_step", "train_step", "compute_loss"})  # methods that a trainer calls for every batch
SCALES = lazy(rb"(?i)scaler\([ \t\n]*\w+[ \t\n]*,")  # see `scales_and_steps`
BACKWARDS = frozenset({"backward", "fused_backward"})  # the second belongs to LOMO, which also updates the weights
# 1 if the comparison holds in training, -1 if it holds outside
_SAME = {ast.Eq: 1, ast.Is: 1, ast.NotEq: -1, ast.IsNot: -1}
_STEPPED = lazy(r"(?i)optim|(?:^|[_.])opt|scaler")  # what an optimizer, or the scaler that steps it, is called
_CONJUGATE, _EPOCH = lazy(r"(?i)conjugate_?grad"), lazy(r"(?i)epoch")
# names of objects that hold the options of a run
_OPTIONS = lazy(r"^(?:args?|opts?|options|cfg|conf|config|hparams|flags|FLAGS)$")
_EPOCHS = lazy(r"(?i)(?<!per_)(?<!each_)(?<!_in_)epochs?$")  # a number of epochs
_RANGES = frozenset({"range", "trange"})
_NO_GRAD = lazy(r"no_grad|inference_mode")
# accelerators that are neither GPUs nor NPUs, and what asks for one. DirectML is "privateuseone"; torch_npu renames that to "npu"
OTHERS = ("mps", "xla", "xpu", "hpu", "tpu", "mlu", "musa", "privateuseone")
IS_OTHERS = "mps|xla|xpu|hpu|tpu|mlu|musa|dml|directml"  # behind `is_`
_ASKS_FOR_OTHERS = lazy(rf"(?:^|_)is_(?:{IS_OTHERS})$")
_LEAVES = (ast.Return, ast.Continue)
TROUBLE = frozenset({"error", "warning", "warn", "exception", "critical", "debug"})  # functions that report a problem


@once
def fills_once(node: ast.If) -> frozenset[str]:
    """The branches that keep what they make, so that they run once: `if self.x is None: self.x = ...`,
    `if key not in table: table[key] = ...`."""
    if node.test.__class__ is not ast.Compare:
        return frozenset()
    return frozenset(name for name in ("body", "orelse") if _fills(node.test, getattr(node, name), name == "body"))


def _fills(test: Node, block: list[Node], inside: bool) -> bool:
    op, right = test.ops[0].__class__, test.comparators[0]
    missing = op is ast.Is and inside and test.left.__class__ is ast.Attribute and getattr(right, "value", 0) is None
    if not missing and op is not (ast.NotIn if inside else ast.In):
        return False
    for statement in block:
        for target in statement.targets if statement.__class__ is ast.Assign else ():
            if missing and getattr(target, "attr", "") == test.left.attr:
                return True
            if not missing and target.__class__ is ast.Subscript and ast.dump(target.value) == ast.dump(right):
                return True
    return False


def is_of_others(test: Node) -> bool:
    """Whether a condition is true only on another accelerator: `x.device.type == "mps"`, `x.is_mps`."""
    if test.__class__ is not ast.Compare:
        return bool(_ASKS_FOR_OTHERS.search(getattr(test, "attr", "")))
    sides = [test.left, *test.comparators]
    return test.ops[0].__class__ is ast.Eq and any(str(constant(side)).partition(":")[0] in OTHERS for side in sides)


def counts_epochs(loop: Node) -> bool:
    """Whether a loop is over epochs: `for epoch in ...`, `for _ in trange(args.epochs)`."""
    if loop.__class__ is not ast.For:
        return False
    if any(_EPOCH.search(n.id) for n in walk(loop.target) if n.__class__ is ast.Name):
        return True
    ranges = [n for n in walk(loop.iter) if n.__class__ is ast.Call and call_name(n.func) in _RANGES and n.args]
    ends = (c.args[min(len(c.args), 2) - 1] for c in ranges)
    words = (n.id if n.__class__ is ast.Name else getattr(n, "attr", "") for a in ends for n in walk(a))
    return any(_EPOCHS.search(word) for word in words)


def happens_once(link: Link, loop: Node) -> bool:
    """Whether a place in a loop runs in at most one round: `if not done: ...; done = True`, `if step == 0:`."""
    child = link[0]
    for above in ancestors(link):
        node = above[0]
        if node is loop:
            return False
        if node.__class__ is ast.If and within(node, child, "body"):
            if _flags(node) or _is_of_one_round(node.test, loop):
                return True
        child = node
    return False


def _is_of_one_round(test: Node, loop: Node) -> bool:
    """Whether a condition is true in one round of a loop, by its counter: `step == 0`, `step == len(loader) - 1`."""
    if loop.__class__ is not ast.For:
        return False
    counted = {node.id for node in walk(loop.target) if node.__class__ is ast.Name}
    return any(name in counted and counted.isdisjoint(beside) for name, beside in _single_rounds(test))


@once
def _single_rounds(test: Node) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(name, names in the number) for each name that a condition compares with one number: ("step", ()) for
    `step == 0 and is_main`, ("i", ("loader",)) for `i + 1 == len(loader)`."""
    terms: list[Node] = test.values if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And else [test]
    equal = [term for term in terms if term.__class__ is ast.Compare and [op.__class__ for op in term.ops] == [ast.Eq]]
    pairs = [pair for t in equal for pair in ((t.left, t.comparators[0]), (t.comparators[0], t.left))]
    found = (
        (_counter(side), other)
        for side, other in pairs
        if type(constant(other)) is int or _is_length(other) or is_option(other)
    )
    return tuple(
        (name, tuple(n.id for n in walk(o) if n.__class__ is ast.Name and n.id != "len")) for name, o in found if name
    )


def _counter(node: Node) -> str:
    """The name in `i` and in `i + 1`."""
    if node.__class__ is ast.BinOp and node.op.__class__ is ast.Add and type(constant(node.right)) is int:
        node = node.left
    return str(getattr(node, "id", ""))


def _is_length(node: Node) -> bool:
    """Whether an expression is a length: `len(loader)`, `len(loader) - 1`."""
    if node.__class__ is ast.BinOp and node.op.__class__ is ast.Sub and type(constant(node.right)) is int:
        node = node.left
    return node.__class__ is ast.Call and call_name(node.func) == "len"


def is_option(node: Node) -> bool:
    """Whether an expression is an option, which is one number for the whole run: `args.start_epoch`, `opt.update_until`."""
    return node.__class__ is ast.Attribute and _OPTIONS.search(getattr(node.value, "id", "")) is not None


def asks_for_one_round(test: Node, link: Link) -> bool:
    """Whether a condition is true in only one round of a loop around it, in the same function."""
    if not _single_rounds(test):
        return False
    for above in ancestors(link):
        if isinstance(above[0], FUNCTIONS):
            return False
        if _is_of_one_round(test, above[0]):
            return True
    return False


@once
def _flags(node: Node) -> bool:
    """Whether the body makes its condition false: `if not done: done = True`."""
    test: Node = node.test
    terms: list[Node] = test.values if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And else [test]
    asked = {ast.unparse(t) for t in terms}
    sets = (s for s in node.body if s.__class__ is ast.Assign and s.value.__class__ is ast.Constant)
    return any(
        ast.unparse(ast.UnaryOp(ast.Not(), s.targets[0]) if s.value.value else s.targets[0]) in asked for s in sets
    )


def fails(node: ast.If, child: Node) -> bool:
    """Whether a branch ends in a raise, so that it runs at most once."""
    field = place(node, child)[0]
    return field in ("body", "orelse") and getattr(node, field)[-1].__class__ is ast.Raise


class Blocks:
    """Finds statements below one that nearly always leaves its block. Each block is searched once."""

    def __init__(self) -> None:
        self._left: dict[Node, frozenset[Node]] = {}

    def leave_over(self, node: Node, child: ast.stmt) -> bool:
        """Whether `if self.training: return ...` or `if not should_log: return` stands above in the same block."""
        if node not in self._left:
            blocks: Iterable[Node] = (getattr(node, name, None) for name in BODIES)
            self._left[node] = frozenset(s for block in blocks if block.__class__ is list for s in _below(block))
        return child in self._left[node]


def _below(block: list[Node]) -> list[Node]:
    """The statements below the first statement that leaves the block in nearly every step."""
    return next((block[n + 1 :] for n, s in enumerate(block) if s.__class__ is ast.If and _leaves(s)), [])


def _leaves(node: Node) -> bool:
    """Whether an `if` leaves the block in nearly every step: by itself, or in each branch that runs more than once."""
    if node.body[-1].__class__ in _LEAVES and _mostly(node.test, node.body[-1]):
        return True
    branches = [node.orelse] if _is_start(node.test) else [node.body, node.orelse]
    return all(any(s.__class__ is ast.If and _leaves(s) for s in branch) for branch in branches)


def _is_start(test: Node) -> bool:
    """Whether a condition asks for the first step: `step == 0`."""
    is_equal = test.__class__ is ast.Compare and test.ops[0].__class__ is ast.Eq
    number = constant(test.comparators[0]) if is_equal else None
    return type(number) is int and number == 0


def _mostly(test: Node, leaves: Node) -> bool:
    """Whether a condition is true in nearly every step. `leaves`: the statement below it that leaves."""
    if is_seldom(test, holds=False):
        return True
    if asks_training(test) == 1:
        return leaves.__class__ is ast.Return
    if test.__class__ is ast.BoolOp and test.op.__class__ is ast.Or:
        return any(_mostly(v, leaves) for v in test.values)
    if test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not:
        words = (getattr(n, "attr", "") or getattr(n, "id", "") for n in walk(test.operand))
        return any(_REPORTS.search(word) for word in words)
    if test.__class__ is ast.Compare and len(test.ops) == 1:
        return _is_remainder(test.left) and test.ops[0].__class__ in (ast.NotEq, ast.Gt)
    return _is_remainder(test)


def _is_remainder(node: Node) -> bool:
    return node.__class__ is ast.BinOp and node.op.__class__ is ast.Mod


@once
def asks_training(test: Node) -> int:
    """1 for `self.training`, `torch.is_grad_enabled()` and `mode == "train"`; -1 for their opposites; 0 for anything else. Of an `and`
    the first part that is one of these counts."""
    sign = 1
    while test.__class__ is ast.UnaryOp and test.op.__class__ is ast.Not:
        sign, test = -sign, test.operand
    if test.__class__ is ast.Call:
        return sign if call_name(test.func) == "is_grad_enabled" else 0
    if test.__class__ is ast.BoolOp and test.op.__class__ is ast.And:
        asked = next((asked for value in test.values if (asked := asks_training(value))), 0)
        return asked if sign > 0 else int(asked < 0)  # `not (self.training and x)` may be true in training
    if test.__class__ is ast.Compare and len(test.ops) == 1:  # stage == Stage.TRAIN, mode != "train"
        other, op = test.comparators[0], test.ops[0].__class__
        word = str(getattr(other, "attr", "") or getattr(other, "value", "")).lower()
        return _SAME.get(op, 0) * sign if word in ("train", "training") else 0
    words = (getattr(test, "attr", ""), getattr(test, "id", ""))
    return sign if not {"training", "is_training", "is_train"}.isdisjoint(words) else 0


@once
def asks_now_and_then(test: Node) -> bool:
    """Whether a condition is true only sometimes: it has a remainder, `step % 100 == 0`, or a word such as `verbose`."""
    for node in walk(test):
        if node.__class__ is ast.BinOp and node.op.__class__ is ast.Mod:
            return True
        if _NOW_AND_THEN.search(
            getattr(node, "attr", "") if node.__class__ is ast.Attribute else getattr(node, "id", "")
        ):
            return True
    return False


@once
def updates(node: Node) -> bool:
    """Whether the body of an `if` goes backwards or steps an optimizer: `if step % accumulation == 0: optimizer.step()`. What
    stands beside it runs in every step, however many batches one takes."""
    if node.__class__ is not ast.If:
        return False
    calls = [n.func for part in node.body for n in walk(part) if n.__class__ is ast.Call]
    calls = [func for func in calls if func.__class__ is ast.Attribute]
    return any(
        func.attr in BACKWARDS or func.attr == "step" and _STEPPED.search(ast.unparse(func.value)) for func in calls
    )


@once
def needs_no_gradients(node: Node) -> bool:
    """Whether a function has a decorator like `@torch.no_grad()`."""
    marks = (call_name(getattr(d, "func", d)) for d in getattr(node, "decorator_list", ()))
    return any(map(_NO_GRAD.search, marks))


def scales_and_steps(call: ast.Call) -> bool:
    """Whether a call goes backwards and steps, as the scalers do that came with timm: `loss_scaler(loss, optimizer, ...)`."""
    second: Node = call.args[1] if len(call.args) > 1 else None
    word = getattr(second, "attr", "") or getattr(second, "id", "")
    return call_name(call.func).endswith(("scaler", "Scaler")) and word.startswith("optim")


def is_of_a_rollout(around: Node) -> bool:
    """Whether a function that goes backwards makes one update from all that an epoch collected: by conjugate gradients."""
    if around.__class__ not in FUNCTIONS:
        return False
    return any(n.__class__ is ast.Call and _CONJUGATE.search(call_name(n.func)) for n in walk(around))
