"""Finds questions for a GPU that must stay as they are: `flash if torch.cuda.is_available() else plain`.

A question is a call such as torch.cuda.is_available(). Mostly the port makes it torch.npu.is_available(). In the cases here an
NPU must take the way without a GPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from porter.python import cuda_packages, cuda_versions, float8, kernel_guards, kernel_imports, lightning_choices
from porter.python.blocks import once, once_for_file
from porter.python.build_scripts import BUILDER, builds_extensions, compiled
from porter.python.capabilities import CAPABILITY
from porter.python.described_devices import answers, asked_first, describes
from porter.python.evidence import call_name, constant, is_log, is_log_call, is_setting
from porter.python.held_questions import QUESTIONS
from porter.python.host_loads import PLACE, loads_on_host
from porter.python.index import Link, Node, ancestors, chain_of, walk
from porter.python.kernel_branches import is_kernel, kernel, kernels_called
from porter.python.kernel_switches import chooses, given_to_cuda, reports, switched_off, switched_on, switches
from porter.python.own_kernels import imported_below
from porter.python.parallel_choices import kept_for_parallel, one_device, parallel, unwraps
from porter.python.quantized import quantized
from porter.python.started_kernels import started
from porter.python.stopping import after, stops_without_gpu
from porter.regex import lazy
from porter.rulebook.table import any_of

if TYPE_CHECKING:
    from porter.python.file import File

# (kind, name of what the choice is about). The kinds are keys of the messages of PRT101 in rules/cuda.toml:
# kernel | member | loads | half | together | stops | raises | one-device | unwraps | advises |
# float8 | versioned | reports | describes
Choice = tuple[str, str]

_BUILDS = frozenset({"CUDAExtension", "CUDA_HOME", "CUDNN_HOME"})  # of torch.utils.cpp_extension, in setup.py
_SUPPORTS = lazy(r"(?:^|_)supports?_cuda$|(?:^|_)cuda_support(?:ed)?$")  # says whether something has a way for CUDA
_SOURCES = lazy(r"\.cuh?$|_cuda\.(?:c|cc|cpp|h)$|WITH_CUDA$")  # sources and flags for a CUDA compiler alone
# packages with CUDA kernels that a message may recommend; there is an apex for NPUs as well
_ADVISED = lazy(rf"(?i)\b(?:{any_of('said-to-need-cuda')}|apex)\b")
_COUNTING = frozenset(  # functions that only count and name devices, before the port and after it
    f"torch.{device}.{name}"
    for device in ("cuda", "npu")
    for name in ("device_count", "current_device", "get_device_name")
)
_PLAIN = frozenset(  # functions that run on any machine
    "range len str int float bool tuple list set dict sorted min max sum map filter zip enumerate print isinstance append add"
    " extend update join format".split()
)
_PARTS_OF_APEX = (
    (lazy(r"^has_apex$"), "apex.optimizers"),
    (lazy(r"(?i)^(?:has|have|with)_(?:apex|fused)_?(?:layer_?|rms_?)?norm$"), "apex.normalization"),
)  # what a flag is called, and what it says is there
_SETTER = "torch.set_default_tensor_type"
_GIVEN_BY_SERVER = "gpu_id"  # of what TorchServe tells a handler, which counts what nvidia-smi shows
_PORTED = ("together", "half")  # with what they lead to, by porter or by a person
# a branch of them runs nothing else than what it chooses
_CHOICES = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Pass, ast.Return)


def decided(file: File, link: Link | None) -> Choice | None:
    """Why a question for a GPU must stay: it decides about a CUDA kernel, about the member of an Enum that stays CUDA, about
    whether a file is loaded to the CPU, and so on. None where it can be ported."""
    if reports(file):
        return "reports", file.path.rpartition("/")[2]
    if number := lightning_choices.of_number(file, link):
        return "half", number
    if argument := given_to_cuda(link):
        return "kernel", argument
    if package := kernel_guards.needed(file, link):
        return "stops", package
    choice = _decided(file, link) or cuda_packages.answered(link)
    if choice is None and (name := float8.decided(file, link, link and chain_of(link)[1])):
        return "float8", name
    if choice is None and builds_extensions(file):  # such a script chooses sources, whatever it makes of the answer
        return "kernel", BUILDER
    if choice is None and link and (word := compiled(file, link)):
        return "kernel", word
    return ("stops", choice[1]) if choice and choice[0] == "kernel" and stops_without_gpu(link) else choice


@once_for_file
def staying(file: File) -> tuple[Link, ...]:
    """The questions of a file that stay as they are."""
    asked = (link for name in sorted(QUESTIONS) for link in file.apis.get(name, ()))
    return tuple(link for link in asked if (choice := decided(file, link)) and choice[0] not in _PORTED)


def _decided(file: File, link: Link | None) -> Choice | None:
    child = link[0] if link else None
    for up in ancestors(link):
        above = up[0]
        kind = above.__class__
        # asked together with something that only CUDA has
        if kind is ast.BoolOp:
            if choice := next((choice for value, choice in _beside(above) if value is not child), None):
                return choice
            if package := cuda_packages.beside(above, child):
                return "kernel", package
            if name := next((name for value, name in _kernels_asked(file, up) if value is not child), None):
                return "kernel", name
            if part := _asks_for_apex(above, file):
                return "kernel", part
        elif kind in (ast.IfExp, ast.If) and child is above.test and loads_on_host(file, up):
            return "loads", PLACE
        elif kind is ast.IfExp and child is above.test:
            if accelerator := lightning_choices.of_choice(file, up):
                return lightning_choices.kind(up, accelerator), accelerator
            if any(constant(node) == _GIVEN_BY_SERVER for node in walk(above.body)):
                return "served", _GIVEN_BY_SERVER
            if version := cuda_versions.taken(file, up):
                return "versioned", version
            if led := one_device(file, link):
                return "one-device", led
            sides = (above.body, above.orelse)
            names = (_built_for(part) or _kernel(file, part, up) or quantized([part]) for part in sides)
            return _choice(next(filter(None, names), None), [above.body])
        elif kind is ast.If and child is above.test:
            stays = _raising(file, above.body, up) or parallel(file, up) or _advising(above)
            if not stays and (accelerator := lightning_choices.of_choice(file, up)):
                return lightning_choices.kind(up, accelerator), accelerator
            if not stays and (version := cuda_versions.taken(file, up)):
                return "versioned", version
            if not stays and (led := one_device(file, link)):
                return "one-device", led
            if not stays and (wrapped := unwraps(file, link, up)):
                return "unwraps", wrapped
            stays = stays or asked_first(file, up)
            return stays or _choice(_branch(file, above, up), [getattr(s, "value", None) for s in above.body])
        elif kind is ast.Assign:
            target: str = getattr(above.targets[0], "id", "")
            if accelerator := lightning_choices.of_name(file, above.targets[0], up):
                return lightning_choices.kind(up, accelerator), accelerator
            if chooses(target) or switches(target):
                return "kernel", target
            return kept_for_parallel(file, up, child) or describes(file, up, child)
        elif kind is ast.keyword and switches(above.arg):
            return "kernel", above.arg
        elif kind is ast.Call and child is not above.func or isinstance(above, ast.stmt):
            return None
        # `if not torch.cuda.is_available(): return`, and what follows
        elif kind is ast.UnaryOp and isinstance(above.op, ast.Not) and getattr(up[1] and up[1][0], "test", 0) is above:
            if up[1][0].__class__ is ast.If and (stays := _raising(file, after(up[1]), up[1]) or answers(file, up[1])):
                return stays
            if version := cuda_versions.taken(file, up[1], False):
                return "versioned", version
            if up[1][0].__class__ is ast.If and (module := imported_below(file, up[1])):
                return "stops" if up[1][0].body[-1].__class__ is ast.Raise else "kernel", module
        child = above
    return None


def _raising(file: File, block: list[ast.stmt], link: Link) -> Choice | None:
    """The choice of a block that calls a function which raises on an NPU and does nothing else, except to log."""
    calls = [inner for statement in block for inner in walk(statement) if inner.__class__ is ast.Call]
    name = ""
    for call in calls:
        full = file.names.resolve(call.func, link) or ""
        if full in (CAPABILITY, _SETTER):
            name = name or full
        elif (
            full not in _COUNTING and call_name(call.func) not in _PLAIN and not is_log(call.func, call_name(call.func))
        ):
            return None
    if name == _SETTER and not any("torch.cuda." in ast.unparse(arg) for call in calls for arg in call.args):
        return None  # it sets a type of tensors of the CPU
    if name == _SETTER and not file.facts.once.unmoved:
        return "together", name  # the question is ported together with the setter, after review
    return ("raises", name) if name else None


def _advising(node: ast.If) -> Choice | None:
    """The choice of a branch that only recommends a package with CUDA kernels to a person."""
    calls = [statement.value for statement in node.body if isinstance(statement, ast.Expr)]
    if node.orelse or len(calls) != len(node.body):
        return None
    if not all(map(is_log_call, calls)):
        return None
    word = kernel_guards.named(calls, _ADVISED)
    return ("advises", word) if word else None


def _choice(kernel: str | None, chosen: list[Node]) -> Choice | None:
    if kernel:
        return "kernel", kernel
    member = next((name for part in chosen if (name := _member(part))), None)
    return ("member", member) if member else None


def beside(part: Link) -> str | None:
    """What of CUDA a condition asks for together with one of its parts: `device.type == "cuda" and backend.supports_cuda`."""
    test: Node = part[1][0] if part[1] else None
    if test.__class__ is not ast.BoolOp or not isinstance(test.op, ast.And):
        return None
    choices = (choice[1] for value, choice in _beside(test) if value is not part[0])
    return next(choices, None) or cuda_packages.beside(test, part[0])


@once
def _beside(test: ast.BoolOp) -> tuple[tuple[ast.expr, Choice], ...]:
    """The parts of a condition that ask for something of CUDA: `torch.cuda.is_available() and CUDA_HOME is not None`."""
    choices: list[tuple[ast.expr, Choice]] = []
    for value in test.values:
        words = (getattr(n, "id", "") or getattr(n, "attr", "") for n in walk(value))
        if word := next((word for word in words if word in _BUILDS or _SUPPORTS.search(word)), None):
            choices.append((value, ("kernel", word)))
        elif isinstance(test.op, ast.And) and cuda_versions.asks_for_amd(value):
            choices.append((value, ("versioned", cuda_versions.AMD)))
        elif not is_setting(value) and (member := _member(value)):
            choices.append((value, ("member", member)))
    return tuple(choices)


@once
def _asks_for_apex(test: ast.BoolOp, file: File) -> str | None:
    """The part of apex that a condition asks for by a flag, and that the file imports. These are CUDA kernels: an apex for NPUs has
    other optimizers and no norms."""
    flags = {getattr(value, "id", "") for value in test.values}
    parts = (part for pattern, part in _PARTS_OF_APEX if any(map(pattern.search, flags)))
    return next((part for part in parts if part in _imported_of_apex(file)), None)


@once_for_file
def _imported_of_apex(file: File) -> frozenset[str]:
    bound = (target for bindings in file.names.imports.values() for target, _ in bindings)
    return frozenset(".".join(target.split(".")[:2]) for target in bound if target.startswith("apex."))


def _kernels_asked(file: File, test: Link) -> list[tuple[Node, str]]:
    """The first two parts of a condition that ask for a tensor on the device and decide about a kernel, with that kernel:
    `torch.cuda.is_available() and x.is_cuda`. Two are enough, as at most one of them is the question itself."""

    def asked() -> Iterator[tuple[Node, str]]:
        for value in filter(_asks_device, test[0].values):
            if name := kernel(file, (value, test)):
                yield value, name

    return file.names.once("kernels asked for", test[0].values, lambda: list(islice(asked(), 2)))


def _asks_device(node: Node) -> bool:
    sides = (node.left, *node.comparators) if node.__class__ is ast.Compare else ()
    return getattr(node, "attr", "") == "is_cuda" or any(constant(side) == "cuda" for side in sides)


def _member(node: Node) -> str | None:
    """The member CUDA of an Enum in an expression: `TorchDevice.CUDA`."""
    inside = walk(node) if node is not None else ()
    members = (n for n in inside if getattr(n, "attr", "") == "CUDA" and n.value.__class__ is ast.Name)
    return next(map(ast.unparse, members), None)


def _built_for(part: Node) -> str | None:
    """The first word of a part that is for a CUDA compiler alone."""
    for inner in walk(part):
        word = getattr(inner, "id", "") or getattr(inner, "attr", "") or str(constant(inner) or "")
        if word in _BUILDS or _SOURCES.search(word):
            return word
    return None


def _branch(file: File, node: ast.If, link: Link) -> str | None:
    """The kernel of a branch that builds one, or that imports, assigns or returns one or what it computes and does nothing else."""
    # an `elif` has a question of its own
    others = node.orelse if len(node.orelse) != 1 or node.orelse[0].__class__ is not ast.If else []
    for statement in (*node.body, *others):
        if name := _built_for(statement) or switched_off(statement):
            return name
    if run := started(file, node.body, link):
        return run
    tried = [inner for outer in node.body for inner in (outer.body if isinstance(outer, ast.Try) else [outer])]
    if not all(isinstance(statement, _CHOICES) or switched_on(statement) for statement in tried):
        return kernel_imports.only(file, node.body, link)
    for statement in tried:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            kernel = next(kernels_called(file, statement, link), None)
        else:
            value = getattr(statement, "value", None)
            kernel = switched_on(statement) or _kernel(file, value, link) or quantized([statement])
        if kernel:
            return kernel
    return None


def _kernel(file: File, part: Node, link: Link) -> str | None:
    """The kernel that an expression calls or names. If it is a function of the file: the kernel that the function calls."""
    node = part.func if part.__class__ is ast.Call else part
    functions = file.names.scopes.functions.get(node.id) if node.__class__ is ast.Name else None
    if functions:
        function = functions[0]
        return next((name for s in function[0].body for name in kernels_called(file, s, function)), None)
    if node.__class__ in (ast.Name, ast.Attribute) and is_kernel(file, node, link):
        return ast.unparse(node)
    return next(kernels_called(file, part, link), None) if part is not None else None
