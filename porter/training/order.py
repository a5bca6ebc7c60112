"""Finds calls that start the device before a place. A process that is forked after that cannot use the device, and a variable
that is set after that is not read.

Only code above in the same function counts; outside of functions, code above in the module.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from porter.python import blocks
from porter.python.evidence import call_name, constant
from porter.python.index import FUNCTIONS, Link, Node, ancestors
from porter.python.walks import children
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.names import Names
    from porter.training.protocols import File
    from porter.training.scene import Scene

# text that chooses another way to start processes than fork; functions that start processes; text about the CPU
_OTHERWISE = lazy(rb"spawn|forkserver|set_start_method")
_STARTS = ("Process", "Pool", "start_processes")
_HOST_ONLY = lazy(r"(?i)gloo|use_?cpu\b")
# functions that start the device; seeds, classes of amp and functions about the cache do not
_TOUCHES = lazy(
    r"(?:torch\.(?:cuda|npu)|torch_npu\.npu)\.(?!manual_seed|amp\.|nvtx\.|empty_cache$|is_initialized$|(?:max_)?memory_|reset_)"
)
# collectives, with which the links between devices are built
_COLLECTS = lazy(
    r"torch\.distributed\.(?:barrier|broadcast|reduce|all_|gather|scatter)|torch\.nn\.parallel\.(?:distributed\.)?DistributedDataP"
)

_ENDS = (ast.Return, ast.Raise)


def touched_before(names: Names, link: Link) -> str | None:
    """The call that starts the device, in a statement above in the blocks around, within the function."""
    return _above(names, link, _touch)


def grouped_before(names: Names, link: Link) -> str | None:
    """The same for the first collective, with which the links between ranks are built."""
    return _above(names, link, _collective)


def _above(names: Names, link: Link, finds: Callable[[Node, Link, Names], str | None]) -> str | None:
    child = link[0]
    for above in ancestors(link):
        node = above[0]
        if call := blocks.above(node, child, lambda statement: finds(statement, (statement, above), names), finds):  # noqa: B023
            return str(call)
        if node.__class__ in FUNCTIONS:
            return None
        child = node
    return None


def woken(scene: Scene, link: Link) -> str | None:
    """The call that starts the device before a process is forked that uses the device as well; else None. `link`: of the function
    that starts the process."""
    names = scene.names
    if scene.file.source.says(_OTHERWISE) or (call := touched_before(names, link)) is None:
        return None
    return call if _works(scene, link) else None


def children_work(scene: Scene, link: Link) -> bool | None:
    """Whether a process that the file starts uses the device; None where the function that it runs is not known."""
    around = scene.function(link)
    if around is not None and _is_host_only(around[0]):
        return False
    answers = [_works(scene, (call[0].func, call)) for call in _started(scene, link, around)]
    return True if True in answers else None if None in answers else False


@blocks.once
def _is_host_only(function: Node) -> bool:
    return bool(_HOST_ONLY.search(ast.unparse(function)))


def _started(scene: Scene, link: Link, around: Link | None) -> list[Link]:
    """The calls that start processes with a start method: this call, those of its context, or all of the file."""
    if call_name(link[0]) == "start_processes":
        return [link[1]]
    calls = _processes(scene.file)
    above = link[1][1] and link[1][1][0]
    name: Node = above.targets[0] if above.__class__ is ast.Assign else None  # `context = get_context("fork")`
    if name.__class__ is not ast.Name:
        return calls
    named = [call for call in calls if getattr(getattr(call[0].func, "value", None), "id", "") == name.id]
    return [call for call in named if scene.function(call) == around]


@blocks.once_for_file
def _processes(file: File) -> list[Link]:
    return [call for call in file.buckets[ast.Call] if call_name(call[0].func) in _STARTS]


def _works(scene: Scene, link: Link) -> bool | None:
    """Whether the function that a process runs uses the device in its own lines; None where the function is not known."""
    call = link[1][0]
    given = [k.value for k in call.keywords if k.arg in ("target", "initializer", "fn")]
    target = next(iter([*given, *(call.args[:1] if call_name(call.func) == "start_processes" else ())]), None)
    # `work`, `self.work`, `Worker.launch`: the only function of this name
    name = getattr(target, "id", None) or getattr(target, "attr", None)
    functions = [definition[0] for definition in scene.names.scopes.functions.get(name or "", ())]
    functions = [function for function in functions if function.__class__ is ast.FunctionDef]
    if len(functions) != 1:
        return None
    answers: dict[object, bool] = scene.file.answers["works"]
    key = (functions[0], scene.names.scopes.around(link))
    if key not in answers:
        answers[key] = any(_touch(statement, link, scene.names, is_passed=False) for statement in functions[0].body)
    return answers[key]


def _touch(statement: Node, link: Link, names: Names, is_passed: bool = True) -> str | None:
    """The call in a statement that starts the device: one of torch.cuda or torch.npu, `x.cuda(0)`, or one with a device.
    `is_passed`: the function goes on below the statement, so branches that leave it do not count."""
    for node in _calls(statement, is_passed=is_passed):
        full = names.resolve(node.func, link)
        if full and _TOUCHES.match(full):
            return full
        if full is None and node.func.__class__ is ast.Attribute and node.func.attr in ("cuda", "npu"):
            return f".{node.func.attr}()"
        place = _place(node)
        if place and full and full.startswith("torch.") and full != "torch.device":
            return full
        if place and call_name(node.func) == "to":
            return f'.to("{place}")'
    return None


def _place(call: Node) -> str:
    """The device that a call names as a string: `x.to("cuda")`, `torch.zeros(2, device="cuda:0")`; "" if it names none."""
    given = [k.value for k in call.keywords if k.arg == "device"]
    if call.func.__class__ is ast.Attribute and call.func.attr == "to":
        given += call.args[:1]
    texts = (constant(node) for node in given)
    return next((text for text in texts if isinstance(text, str) and text.startswith(("cuda", "npu"))), "")


def _collective(statement: Node, link: Link, names: Names) -> str | None:
    """The collective in a statement: `dist.barrier()`, `DistributedDataParallel(model)`."""
    resolved = (names.resolve(node.func, link) for node in _calls(statement, is_passed=True))
    return next((full for full in resolved if full and _COLLECTS.match(full)), None)


def _calls(statement: Node, *, is_passed: bool) -> Iterator[Node]:
    """The calls that a statement itself makes, not those in functions that it defines. `is_passed`: not those in branches that
    leave the function."""
    stack: list[Node] = [statement]
    while stack:
        node = stack.pop()
        if node.__class__ in FUNCTIONS or node.__class__ is ast.ClassDef:
            continue
        if node.__class__ is ast.Call:
            yield node
        if is_passed and node.__class__ is ast.If:
            blocks_left = [b for b in (node.body, node.orelse) if b and b[-1].__class__ not in _ENDS]
            stack += [node.test, *(inner for block in blocks_left for inner in block)]
        else:
            stack += children(node)
