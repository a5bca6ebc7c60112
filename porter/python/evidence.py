"""Says by its words what an expression is: a device, a backend, a log call, a part of another array library."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from porter.python.blocks import once, within
from porter.python.index import Link, Node, ancestors, walk
from porter.regex import lazy
from porter.rulebook.table import hint, hints

DEVICES = frozenset({"cpu", "cuda", "mps", "xpu", "meta", "mtia", "hpu", "mlu", "musa", "npu", "ipu", "xla", "auto"})
OTHER_LIBRARIES = hints("other-library")
OWN_DEVICES = hints("library-with-devices")  # their own strings for devices include "cuda"
CUDA_LIBRARIES = OWN_DEVICES | hints("library-on-cuda")  # they use CUDA themselves, whatever device torch uses
PROCESSES = frozenset("run call Popen check_call check_output getoutput getstatusoutput".split())  # of subprocess
RUNNERS = PROCESSES | {"system", "popen", "execvp"}  # functions that run a command
HAVE_PARTS_ON_CUDA = frozenset(word.partition(".")[0] for word in CUDA_LIBRARIES if "." in word)
MOVES = frozenset({"cuda", "npu", "to"})  # methods that move a tensor or a module to a device
# what puts all that is made on a device; set_default_dtype does not
DEFAULT_DEVICE = lazy(rb"set_default_(?:device|tensor_type)")
_DEVICE_NAME, _BACKEND_NAME = hint("device"), hint("backend")
# names of objects that hold parsed options
OPTION_HOLDERS = "args|arguments|opts?|options|hparams|hps|cfg|config|flags|settings"
_LOOKUPS = ("get", "pop", "setdefault", "getattr", "get_option")  # functions that look up a setting by its key
_LOGS = frozenset(  # functions that only tell a person
    "print info warning warn debug error log exception critical write fatal print_rank_0 log_rank_0 echo secho fail skip".split()
)


def constant(node: Node) -> Any:
    """The value of a constant, None for anything else."""
    return node.value if node.__class__ is ast.Constant else None


def imported_packages(imports: Mapping[str, Sequence[tuple[str, Link]]]) -> set[str]:
    """The first words of what a file imports, by `Names.imports`."""
    return {full.partition(".")[0] for bound in imports.values() for full, _ in bound}


def asks_for_main(test: Node) -> bool:
    """`__name__ == "__main__"`"""
    if test.__class__ is not ast.Compare or len(test.ops) != 1 or test.ops[0].__class__ is not ast.Eq:
        return False
    sides = test.left, test.comparators[0]
    return any(getattr(side, "id", "") == "__name__" for side in sides) and "__main__" in map(constant, sides)


def starts_alone(link: Link) -> bool:
    """Whether code runs where its file is started, and not where it is imported: in the body of `if __name__ == "__main__":`."""
    child = link[0]
    for node, _ in ancestors(link):
        if node.__class__ is ast.If and asks_for_main(node.test) and within(node, child, "body"):
            return True
        child = node
    return False


def call_name(func: Node) -> str:
    """The last word of a chain of names: `step` of `self.optimizer.step`."""
    name: str = func.attr if func.__class__ is ast.Attribute else getattr(func, "id", "")
    return name


def words_of(node: Node) -> tuple[list[str], Node]:
    """The words of a chain, last word first, and the node that it begins with."""
    words = []
    while node.__class__ in (ast.Attribute, ast.Call, ast.Subscript):
        words += [node.attr] if node.__class__ is ast.Attribute else []
        node = getattr(node, "value", None) or node.func
    return words + ([node.id] if node.__class__ is ast.Name else []), node


class Listed(NamedTuple):
    """What the constants in a list say."""

    npu: bool  # one of them starts with npu
    hccl: bool  # one of them starts with hccl
    devices: bool  # all are devices, and there are several
    modes: bool  # one of them is a longer word with "cuda", as "cuda_graphs": they are ways to go, and "cuda" is one


@once
def listed(node: Node) -> Listed:
    values = [constant(e) for e in node.elts]
    npu, hccl = (any(str(v).startswith(word) for v in values) for word in ("npu", "hccl"))
    devices = len(values) > 1 and all(isinstance(v, str) and v.partition(":")[0] in DEVICES for v in values)
    modes = any(str(v).startswith("cuda") and str(v).partition(":")[0] != "cuda" for v in values)
    return Listed(npu, hccl, devices, modes)


def like(name: str, kind: str) -> bool:
    """Whether a name sounds like a device, or like a backend. `kind`: device | backend."""
    return bool((_DEVICE_NAME if kind == "device" else _BACKEND_NAME).search(name.strip("-").replace("-", "_")))


def lightning(name: str) -> bool:
    """Whether a name holds an accelerator of Lightning. Lightning knows an accelerator for NPUs only with a plug-in."""
    return "accelerator" in name.lower()


def trainer(resolved: str | None) -> bool:
    """Whether a full name belongs to Lightning. Its Trainer has no accelerator for NPUs, whatever string it is given."""
    return (resolved or "").partition(".")[0] in ("lightning", "pytorch_lightning", "lightning_fabric")


def target_name(node: Node) -> str:
    """`x` for the targets `x` and `self.x`."""
    return getattr(node, "attr", "") or getattr(node, "id", "")


def flag(node: Node) -> str | None:
    """A string as the name that an option has in Python: dist_backend of `--dist-backend`."""
    text = constant(node)
    return text.lstrip("-").replace("-", "_") if isinstance(text, str) else None


@once
def given_flags(call: ast.Call) -> tuple[str, ...]:
    """The flags of `add_argument("-d", "--device")`, with their dashes."""
    texts = (constant(a) for a in call.args)
    return tuple(text for text in texts if isinstance(text, str) and text.startswith("-"))


def option_name(call: ast.Call) -> str:
    """What the value of `add_argument("-b", "--dist-backend", dest="backend")` is called; "" for what has no dashes."""
    given = next((constant(keyword.value) for keyword in call.keywords if keyword.arg == "dest"), None)
    flags = given_flags(call)
    long = next((text for text in flags if text.startswith("--")), *flags[:1] or ("",))
    return str(given or long.lstrip("-").replace("-", "_"))


def device_like(node: Node) -> bool:
    """Whether an expression is a device by its words: `device`, `x.device.type`, `str(device)`, `cfg["device"]`, `get_device()`,
    `args.get("device")`."""
    kind = node.__class__
    if kind is ast.Name:
        return like(node.id, "device")
    if kind is ast.Attribute:
        return like(node.attr, "device") or node.attr == "type" and device_like(node.value)
    if kind is ast.Subscript:
        key = constant(node.slice)
        return isinstance(key, str) and like(key, "device") or key is not None and device_like(node.value)
    if kind is ast.Call:
        name = call_name(node.func)
        if name in ("str", "repr", "getattr", "get") and node.args:
            key = constant(node.args[-1 if name == "get" else min(1, len(node.args) - 1)])
            key = constant(node.args[0]) if name == "get" else key
            if name == "getattr" and key == "type":  # getattr(device, "type", None)
                return device_like(node.args[0])
            return isinstance(key, str) and like(key, "device") or name in ("str", "repr") and device_like(node.args[0])
        if name in ("lower", "strip", "split", "partition", "replace") and node.func.__class__ is ast.Attribute:
            return device_like(node.func.value)
        return like(name, "device")
    return False


def backend_like(node: Node) -> bool:
    """Whether an expression is a backend by its words: `args.backend`, `cfg["backend"]`, `dist.Backend.NCCL`."""
    kind = node.__class__
    if kind is ast.Call:
        if call_name(node.func) in ("lower", "str", "strip", "upper", "get", "getattr"):
            inside = [*node.args, getattr(node.func, "value", node)]
            return any(isinstance(constant(a), str) and like(constant(a), "backend") for a in node.args) or any(
                backend_like(a) for a in inside if a is not node
            )
        return like(call_name(node.func), "backend")
    if kind is ast.Subscript:
        return isinstance(constant(node.slice), str) and like(constant(node.slice), "backend")
    if kind is ast.Attribute and node.value.__class__ in (ast.Name, ast.Attribute) and backend_like(node.value):
        return True  # dist.Backend.NCCL, cfg.backend.type
    return like(getattr(node, "attr", "") or getattr(node, "id", ""), "backend")


def named(node: Node, kind: str) -> bool:
    """Whether an expression is a device, or a backend, by its words. `kind`: device | backend."""
    return device_like(node) if kind == "device" else backend_like(node)


def is_log(func: Node, name: str) -> bool:
    """Whether a call only tells a person something. `name`: the last word of `func`."""
    return name in _LOGS or name.endswith(("Error", "Warning", "Exception"))


def is_log_call(node: Node) -> bool:
    return isinstance(node, ast.Call) and is_log(node.func, call_name(node.func))


def logged(link: Link | None) -> bool:
    """Whether a place stands in a call that only tells a person something, or in a raise."""
    while link is not None and not isinstance(link[0], ast.stmt):
        if is_log_call(link[0]):
            return True
        link = link[1]
    return link is not None and link[0].__class__ is ast.Raise


def is_setting(part: Node) -> bool:
    """Whether a part of a condition is a flag of a configuration: `cfg.CUDA`. A member of an Enum would be compared."""
    flag = part.operand if part.__class__ is ast.UnaryOp else part
    return flag.__class__ is ast.Attribute and flag.value.__class__ is ast.Name and flag.value.id.islower()


def library_on_cuda(resolved: str | None) -> str | None:
    """The library that a full name belongs to, or the part of a library, if that uses CUDA itself."""
    name = (resolved or "").lstrip(".")
    root = name.partition(".")[0]
    if root in CUDA_LIBRARIES:
        return root
    if root not in HAVE_PARTS_ON_CUDA:
        return None
    return next((part for part in CUDA_LIBRARIES if "." in part and f"{name}.".startswith(f"{part}.")), None)


def is_part_of(path: str, library: str) -> bool:
    """Whether a file is one of the library's own: there its names are not those of another library."""
    return library in path.split("/")[:-1]


def other_library(resolved: str | None) -> bool:
    """Whether a full name belongs to a library whose devices and backends are not those of torch."""
    if resolved is None:
        return False
    root = resolved.lstrip(".").partition(".")[0]
    known = root in OTHER_LIBRARIES or library_on_cuda(resolved) is not None
    return known or resolved.startswith("ray.util.collective.")


class Sides(NamedTuple):
    """The sides of a comparison, by what they tell about a string on the other side."""

    npu: tuple[ast.expr, ...]  # strings that name an NPU
    device: tuple[ast.expr, ...]
    backend: tuple[ast.expr, ...]
    names: tuple[ast.expr, ...]
    members: tuple[ast.expr, ...]  # `self.x`, `args.x`
    other: tuple[ast.expr, ...]  # strings that are no devices


@once
def sides_of(node: ast.Compare) -> Sides:
    sides = (node.left, *node.comparators)
    return Sides(
        tuple(filter(_names_npu, sides)),
        tuple(s for s in sides if named(s, "device") or getattr(s, "attr", "") == "type"),
        tuple(s for s in sides if named(s, "backend")),
        tuple(s for s in sides if s.__class__ is ast.Name),
        tuple(s for s in sides if getattr(s, "attr", "") and getattr(s, "value", None).__class__ is ast.Name),
        tuple(s for s in sides if s.__class__ is not ast.Name and has_other_words(s)),
    )


def _names_npu(side: ast.expr) -> bool:
    """Whether one side of a comparison names an NPU, alone or in a list."""
    if hasattr(side, "elts"):
        return listed(side).npu or listed(side).hccl
    return str(constant(side)).startswith(("npu", "hccl"))


@once
def has_other_words(side: ast.expr) -> bool:
    """Whether a side is a string that is no device, or a list with such a string."""
    texts = (constant(e) for e in getattr(side, "elts", (side,)))
    words = (t for t in texts if isinstance(t, str) and t.strip(":"))  # `":" in device` asks for an index
    return any(t.partition(":")[0].lower() not in DEVICES | {"gpu"} for t in words)


def looked_up(call: ast.Call) -> str | None:
    """The key of `cfg.get("device", ...)`, `getattr(args, "device", ...)`, `os.getenv("DEVICE", ...)`."""
    callee = call_name(call.func)
    if callee not in _LOOKUPS and callee != "getenv":
        return None
    index = 1 if callee == "getattr" else 0
    key = constant(call.args[index]) if len(call.args) > index else None
    return key if isinstance(key, str) and re.fullmatch(r"[\w.-]+", key) else None


@once
def returns_devices(function: Node) -> bool:
    """Whether a function returns the string of another device than CUDA's, so that its strings are devices."""
    values = (n.value for n in walk(function) if n.__class__ is ast.Return and n.value is not None)
    return not (DEVICES - {"cuda"}).isdisjoint(map(constant, values))
