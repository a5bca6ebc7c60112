"""Says where a node stands in a training program: in the step that runs for every batch, in `forward`, or elsewhere."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from porter.files import paths
from porter.python.assigned import values_of
from porter.python.blocks import place, within
from porter.python.evidence import call_name
from porter.python.index import FUNCTIONS, Link, Node, ancestors, owner_of, walk
from porter.regex import lazy
from porter.training import backwards, by_class, frequency
from porter.training.beside import is_beside
from porter.training.callers import Callers
from porter.training.chances import is_seldom, is_usual
from porter.training.choices import is_never_taken
from porter.training.demos import stays_on_cpu, tries_out
from porter.training.frequency import (
    BACKWARDS,
    IS_OTHERS,
    OTHERS,
    SCALES,
    TROUBLE,
    Blocks,
    asks_for_one_round,
    asks_now_and_then,
    asks_training,
    fails,
    fills_once,
    is_of_a_rollout,
    is_of_others,
    needs_no_gradients,
    scales_and_steps,
    updates,
)
from porter.training.loops import LOOPS
from porter.training.on_the_host import is_for_host, knows_no_device, only_drives, optimises_there
from porter.training.placement import Natures
from porter.training.switches import is_off

if TYPE_CHECKING:
    from porter.training.protocols import File

# texts about other accelerators
_OTHERS = lazy(rb"""['"](?:%s)\b|is_(?:%s)\b""" % ("|".join(OTHERS).encode(), IS_OTHERS.encode()))
_ON_DEVICE = (b"is_cuda", b"is_npu", b"device.type")
STEP, FORWARD, CALLED = "step", "forward", "called"  # why code runs for every batch; see `where`
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Context:
    def __init__(self, file: File) -> None:
        # weak, because the file holds this object: else its trees would stay in memory until a garbage collection
        self.file: File = weakref.proxy(file)
        self.names = file.names
        self._where: dict[Node, str] = {}
        self._blocks = Blocks()

    @cached_property
    def steps(self) -> dict[Node, set[str]]:
        """The steps: the innermost loop around every `x.backward()`, or without one the function; each with the names of x."""
        steps: dict[Node, set[str]] = {}
        for link, said in self._backwards():
            around = next(
                (a[0] for a in ancestors(link) if a[0].__class__ in LOOPS or a[0].__class__ in FUNCTIONS), None
            )
            if around is None or self._defines_gradient(around) or stays_on_cpu(self.file, link) or tries_out(link):
                continue
            if not is_of_a_rollout(around):
                losses = {n.id for part in said for n in walk(part) if n.__class__ is ast.Name}
                losses |= {getattr(loss, "id", "") for loss in backwards.scaled(losses, link)} - {""}
                losses.difference_update(name for part in said for name in backwards.factors(part, self.names, link))
                steps.setdefault(around, set()).update(losses - self.names.imports.keys())
        functions = [link for kind in _DEFS for link in self.file.buckets[kind] if link[0] in steps]
        for loop, link, losses in backwards.calling_loops(self.file.buckets[ast.Call], functions):
            if not stays_on_cpu(self.file, link):
                steps.setdefault(loop, set()).update(losses)
        return steps

    def _backwards(self) -> Iterator[tuple[Link, list[Node]]]:
        """The places that go backwards, and what names the loss there: `x.backward()`, `loss_scaler(x, optimizer)`."""
        for link in self.file.buckets[ast.Attribute]:
            call = link[1][0]
            if link[0].attr in BACKWARDS and call.__class__ is ast.Call and call.func is link[0]:
                yield link, [call] if link[0].attr == "backward" else [link[0], *call.args[:1]]
        if self.file.source.says(SCALES):
            for link in self.file.buckets[ast.Call]:
                if scales_and_steps(link[0]):
                    yield link, link[0].args[:1]

    @staticmethod
    def _defines_gradient(function: Node) -> bool:
        """Whether a function is a method of an autograd function: its first parameter is `ctx`."""
        arguments: Sequence[Node] = getattr(getattr(function, "args", None), "args", ())
        return bool(arguments) and arguments[0].arg == "ctx"

    def where(self, link: Link) -> str:
        """STEP, FORWARD, or CALLED by one of them. "" for code that runs once, sometimes, or an unknown number of times."""
        while link[1] is not None and not isinstance(link[0], ast.stmt):
            link = link[1]
        if link[1] is None:
            return ""
        answer = self._where.get(link[1][0])  # the same for all statements of a block
        if answer is None:
            answer = self._where[link[1][0]] = self._look_around(link)
        return answer

    def _look_around(self, link: Link) -> str:
        for above in ancestors(link):
            node = above[0]
            if node.__class__ is ast.If and node in self._where:  # the `if` of an `elif`
                return self._where[node]
            if node in self.steps:
                return "" if self.function_name((node, above)).lstrip("_").startswith("test") else STEP
            if node.__class__ in _DEFS:
                owner = owner_of(above)
                is_method = owner and node.args.args[:1] and node.args.args[0].arg == "self" and not is_beside(owner)
                if is_method and node.name in frequency.STEPS:
                    return STEP
                if is_method and owner is not None and by_class.method_runs(owner, node.name):
                    return CALLED  # also where it needs no gradients
                if is_method and node.name == "forward":
                    return FORWARD
                return CALLED if self.callers.serves(above) else ""
        return ""

    @cached_property
    def callers(self) -> Callers:
        return Callers(self)

    @cached_property
    def natures(self) -> Natures:
        return Natures(self)

    @property
    def loops_over_batches(self) -> bool:
        return any(node.__class__ in LOOPS for node in self.steps)

    def matters(self, link: Link) -> str:
        """`where`, if the code runs for every batch of the training; else ""."""
        where = "" if self._never else self.where(link)
        return "" if not where or self.rarely(link, where) else where

    def losses(self, link: Link) -> set[str]:
        """The names of the losses of the steps around a place."""
        return set().union(*(self.steps[above[0]] for above in ancestors(link) if above[0] in self.steps))

    def rarely(self, link: Link, where: str = "") -> bool:
        """Whether code in a step runs only for some batches: below `step % 100 == 0`, `random() < 0.01`, `if verbose`,
        `if not self.training`, or after `if not log: return`."""
        child, leaves = link[0], False
        for above in ancestors(link):
            node = above[0]
            if node.__class__ in (ast.If, ast.IfExp) and child is not node.test:
                inside = child is node.body if node.__class__ is ast.IfExp else within(node, child, "body")
                test = self._meant(node.test, above)
                now_and_then = asks_now_and_then(test) and not is_usual(test, inside)
                if now_and_then and not (inside and updates(node)) or asks_training(node.test) == (-1 if inside else 1):
                    return True
                if is_seldom(node.test, inside) or where == CALLED and self._is_never_taken(node.test, inside, above):
                    return True
                if inside and (
                    self._names_others
                    and self._asks_for_others(node.test, above)
                    or is_off(self, node.test, above)
                    or asks_for_one_round(node.test, above)
                ):
                    return True
                if node.__class__ is ast.If and (place(node, child)[0] in fills_once(node) or fails(node, child)):
                    return True
                block: list[Node] = node.body if inside else node.orelse
                leaves = leaves or node.__class__ is ast.If and block[-1].__class__ is ast.Return
            if self._asks_tensors and is_for_host(self.file, node, child, above):
                return True
            is_left_over = isinstance(child, ast.stmt) and self._blocks.leave_over(node, child)
            if is_left_over or node.__class__ in (ast.ExceptHandler, ast.Raise) or child is getattr(node, "msg", None):
                return True
            if node.__class__ is ast.Call and call_name(node.func) in TROUBLE and child is not node.func:
                return True
            if node in self.steps and leaves and node.__class__ in LOOPS and self._runs_alone(above):
                return True
            if node in self.steps or node.__class__ in _DEFS:
                return where != CALLED and needs_no_gradients(node)  # a function that the step calls may need none
            child = node
        return False

    def _runs_alone(self, loop: Link) -> bool:
        """Whether a loop of steps stands in no other, so that what leaves its function with a `return` runs at most once."""
        function = self.function(loop)
        around = (above[0] for above in takewhile(lambda above: above[0].__class__ not in _DEFS, ancestors(loop)))
        return (
            function is not None
            and not any(node.__class__ in LOOPS for node in around)
            and not self.callers.serves(function)
        )

    def _meant(self, test: Node, link: Link) -> Node:
        """What a condition asks: of a name that has one value, `update = step % every == 0`, that."""
        values = values_of(self.names, test, link) if isinstance(test, ast.Name) else []
        return values[0] if len(values) == 1 and isinstance(values[0], ast.Compare) else test

    @cached_property
    def _asks_tensors(self) -> bool:
        """Whether the file asks a tensor where it lies."""
        return any(word in self.file.source.utf8 for word in _ON_DEVICE)

    def _is_never_taken(self, test: Node, inside: bool, link: Link) -> bool:
        function = self.function(link)
        return function is not None and is_never_taken(self, test, inside, function)

    @cached_property
    def _names_others(self) -> bool:
        return self.file.source.says(_OTHERS)

    def _asks_for_others(self, test: Node, link: Link) -> bool:
        """Whether a branch is only for another accelerator: `x.device.type == "mps"`, or a name that is set to that."""
        if test.__class__ is ast.BoolOp:
            asks = any if test.op.__class__ is ast.And else all
            return asks(self._asks_for_others(value, link) for value in test.values)
        if test.__class__ is ast.Name:
            values = values_of(self.names, test, link)
            return bool(values) and all(map(is_of_others, values))
        return is_of_others(test)

    @staticmethod
    def function(link: Link) -> Link | None:
        """The link of the function around a place."""
        return next((a for a in ancestors(link) if a[0].__class__ in _DEFS), None)

    @staticmethod
    def owner(link: Link) -> ast.ClassDef | None:
        """The class whose method is around a place."""
        function = Context.function(link)
        return function and owner_of(function)

    @cached_property
    def apart(self) -> bool:
        """Whether the file, by its path, is a test, a measurement or an export, or lies where nothing is trained."""
        return paths.is_apart(self.file.path)

    @cached_property
    def _never(self) -> bool:
        """Whether nothing in the file computes on a device, by its path, or as it knows none or only drives other processes."""
        on_host = only_drives(self.file) or knows_no_device(self.file) or optimises_there(self.file)
        return on_host or paths.never_trains(self.file.path)

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        return {link[0].name: link[0] for link in self.file.buckets[ast.ClassDef]}

    def function_name(self, link: Link) -> str:
        function = self.function(link)
        return function[0].name if function else ""
