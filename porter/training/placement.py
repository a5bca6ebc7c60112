"""Says what an expression is, and where: a tensor on the device, a tensor on the host, or a Python number.

This is asked in functions that run in the training step (training/context.py). If the values layer (values/values.py) cannot
tell, the answer is "".
"""

from __future__ import annotations

import ast
import re
import weakref
from collections.abc import Iterable
from types import NoneType
from typing import TYPE_CHECKING

from porter.python.evidence import DEFAULT_DEVICE, device_like
from porter.python.index import Link, Node, owner_of, walk
from porter.rulebook.table import hints
from porter.training import kept_on_host, named_on_host
from porter.training.buffers import is_parameter, registered
from porter.training.made_there import is_array, is_mesh, is_setting
from porter.training.numpy_arrays import made_by
from porter.training.rows import taken_from
from porter.values.value import Value
from porter.values.values import Body

if TYPE_CHECKING:
    from porter.training.protocols import AnyContext

_NOTHING: frozenset[str] = frozenset()
DEVICE, HOST, NUMBER, UNKNOWN = "device", "host", "number", ""
_FACTORIES = hints("makes-a-tensor")
# modules of torch whose functions are operators
_OPERATORS = frozenset("torch torch.nn.functional torch.linalg torch.special torch.fft".split())
_GIVEN = frozenset({"tensor", "as_tensor", "Tensor", "normal"})  # factories that may get a tensor on the device
_ASKING = hints("answers-with-a-number")
_ATTRIBUTES = frozenset(  # that are no tensors
    "shape ndim dtype device requires_grad is_cuda is_leaf is_sparse is_quantized layout names itemsize training".split()
)
_SAME = frozenset("T mT H data grad real imag values indices".split())  # attributes that are where their tensor is
_OF_TENSORS = hints("method-of-tensors-alone")
_SHARED = hints("method-of-tensors-and-arrays")
# operations of values/ whose result is a tensor
_MADE = frozenset(
    "linear layer_norm group_norm rms_norm softmax gelu silu sigmoid dropout matmul einsum module tanh relu".split()
)
_LAYERS = frozenset({"linear", "layer_norm", "group_norm"})  # they give a tensor, whatever their input is
# operations whose result is like their first argument; operations that combine all arguments
_FIRST = frozenset("item index half slice parts unbound view transpose".split())
_COMBINED = frozenset(
    """add sub mul div pow neg not square rsqrt sqrt exp mean norm normalize cat stack masked_fill where baddbmm addcmul UAdd Invert
    FloorDiv Mod BitAnd BitOr BitXor LShift RShift view_as_complex view_as_real""".split()
)
_DIVIDED = frozenset({"div", "FloorDiv", "Mod"})  # a number divided by an unknown value may be a number
_TRUTHS = frozenset({"compare", "not", "BitAnd", "BitOr"})  # operations whose result is true or false


class Natures:
    """Answers for one file. A nature is DEVICE, HOST, NUMBER or UNKNOWN."""

    def __init__(self, scene: AnyContext) -> None:
        self._file = scene.file
        self._scene: AnyContext = weakref.proxy(scene)  # weak, because the scene holds this object
        self._bodies: dict[Node, Body | None] = {}
        self._known: dict[tuple[Node, Value], str] = {}
        self._given: dict[tuple[Node, str], str] = {}
        self._asked: dict[Node, tuple[dict[str, set[str]], set[str]]] = {}
        self._default_is_device = self._file.source.says(DEFAULT_DEVICE)

    def of(self, node: Node, link: Link) -> str:
        """The nature of an expression at, or below, this link."""
        function = self._scene.function(link)
        value = self._value(node, function)
        return self._nature(value, function) if function is not None and value is not None else UNKNOWN

    def is_length(self, node: Node, link: Link) -> bool:
        """Whether a number is a size of a tensor: `x.size(0)`, a name that is set to `x.shape[1]`, or the minimum with such."""
        function = self._scene.function(link)
        value = self._value(node, function)
        return function is not None and value is not None and self._is_length(value, function)

    def _value(self, node: Node, function: Link | None) -> Value | None:
        body = self._body(function) if function is not None else None
        return body.at.get(node) if body is not None else None

    def _is_length(self, value: Value, function: Link) -> bool:
        if value.op == "item" and value.args[0].op in ("attribute", "call"):
            return self._is_length(value.args[0], function)
        if (
            value.op == "attribute"
            and value.info == "shape"
            or value.op == "call"
            and value.info[0] == "size"
            and value.args
        ):
            return self._nature(value.args[0], function) in (DEVICE, UNKNOWN)
        if (
            value.op == "call"
            and value.info[0] == "len"
            and value.args
            and value.args[0].op not in ("parts", "unbound")
        ):
            return self._nature(value.args[0], function) == DEVICE
        return value.op == "call" and value.info[0] == "min" and any(self._is_length(a, function) for a in value.args)

    def _body(self, function: Link) -> Body | None:
        if function[0] not in self._bodies:
            from porter.values.operations import World

            world = World(self._file.names, self._file.receivers.members, {}, False)
            try:
                self._bodies[function[0]] = Body(function[0], owner_of(function), world)
            except RecursionError:  # an expression of hundreds of parts
                self._bodies[function[0]] = None
        return self._bodies[function[0]]

    def _nature(self, value: Value, function: Link) -> str:
        key = (function[0], value)
        if key not in self._known:
            self._known[key] = UNKNOWN
            self._known[key] = self._look(value, function)
        return self._known[key]

    def _look(self, value: Value, function: Link) -> str:
        op = value.op
        if op == "const":
            return NUMBER
        if op == "leaf":
            kind, name = value.info
            if kind == "parameter":
                return self._parameter(name, function)
            return self._member(name, function) if kind == "attribute" else UNKNOWN
        if op == "attribute":
            if value.info in _ATTRIBUTES:
                return NUMBER
            if value.info == "mesh" and is_mesh(value.args[0]):
                return HOST  # the ranks of a DeviceMesh lie on the CPU
            base = self._nature(value.args[0], function)
            if value.info == "grad" and base == UNKNOWN:
                return DEVICE  # only tensors have it
            return base if value.info in _SAME or base == NUMBER else UNKNOWN
        if op in _FIRST:
            return self._nature(value.args[0], function)
        if op == "cast":
            return self._cast(value, function)
        if op == "compare":
            texts = any(v.op == "const" and v.info.__class__ in (str, NoneType) for v in value.args)
            if texts or not {"Is", "IsNot", "In", "NotIn"}.isdisjoint(value.info):
                return NUMBER
            return self._combined((v for v in value.args if not is_setting(v, function[0])), function)
        if op == "choice":
            kinds = {self._nature(v, function) for v in value.args if not (v.op == "const" and v.info is None)}
            return kinds.pop() if len(kinds) == 1 else UNKNOWN
        if op in _COMBINED or op in _MADE:
            full = self._torch_name(value.node)
            nature = self._combined(value.args, function)
            if full and nature == UNKNOWN and op in _DIVIDED and self._nature(value.args[0], function) == NUMBER:
                return UNKNOWN  # `torch.div(x.shape[0], self.patch)` may be on the host
            if nature == UNKNOWN and op in _LAYERS:
                return DEVICE
            return DEVICE if full and nature == UNKNOWN or op in _MADE and nature == NUMBER else nature
        if op == "call" and value.node.__class__ is ast.Call:
            return self._call(value, function)
        if op == "opaque" and (whole := taken_from(value)) and (rows := self._value(whole, function)):
            return self._nature(rows, function)
        return DEVICE if op == "opaque" and is_parameter(value) else UNKNOWN

    def _combined(self, values: Iterable[Value], function: Link) -> str:
        """The nature of the result of an operator: a tensor, if one of the values is."""
        several = [*values]
        kinds = {self._nature(v, function) for v in several}
        if UNKNOWN in kinds:
            return DEVICE if DEVICE in kinds else HOST if any(map(is_array, several)) else UNKNOWN
        return next((kind for kind in (DEVICE, HOST, NUMBER) if kind in kinds), UNKNOWN)

    def _cast(self, value: Value, function: Link) -> str:
        base = self._nature(value.args[0], function)
        if value.node.__class__ is not ast.Call:
            return base
        if value.info == "type" and not value.node.args and not value.node.keywords:
            return NUMBER  # the name of the type
        if value.info != "to":
            return base or (DEVICE if value.info in _OF_TENSORS else UNKNOWN)
        for argument in (*value.node.args, *(k.value for k in value.node.keywords)):
            words = ast.unparse(argument)
            if "'cpu'" in words:
                return HOST
            if device_like(argument) or words.startswith(("'cuda", "'npu")):
                return DEVICE
        return base

    def _torch_name(self, node: Node) -> str:
        """The full name of the function of a call, if it belongs to torch; else ""."""
        words: list[str] = []
        func: Node = getattr(node, "func", node)
        while func.__class__ is ast.Attribute:
            words.append(func.attr)
            func = func.value
        is_called = node.__class__ is ast.Call and func.__class__ is ast.Name
        base = self._file.names.plain.get(func.id) if is_called else None
        full = ".".join((base, *reversed(words))) if base else ""
        return full if full.startswith("torch.") else ""

    def _call(self, value: Value, function: Link) -> str:
        node, name = value.node, value.info[0]
        function_name = name.rpartition(".")[2]
        if function_name in _ASKING or name.startswith("math."):
            return NUMBER
        if self._torch_name(node):
            return self._torch(value, function_name, function)
        if name.startswith(("numpy.", "random.")):
            return HOST
        if node.func.__class__ is ast.Name:  # an unknown function: its result is on the host if all arguments are
            there = node.func.id in made_by(self._file)
            return HOST if there or value.args and self._combined(value.args, function) == HOST else UNKNOWN
        if node.func.__class__ is not ast.Attribute or "." in name or not value.args:
            return UNKNOWN
        if getattr(node.func.value, "id", "") == "np" and not self._file.names.bound("np"):
            return HOST  # numpy, from a star import
        base = self._nature(value.args[0], function)
        if function_name in ("cpu", "numpy"):
            return HOST
        if function_name in ("cuda", "npu"):
            return DEVICE
        if function_name in _OF_TENSORS:
            return base if base in (HOST, DEVICE) else UNKNOWN if base == NUMBER else DEVICE
        if (
            base == UNKNOWN
            and function_name in ("any", "all")
            and value.args[0].op in _TRUTHS
            and not self._file.names.bound("np")
        ):
            return DEVICE  # a comparison of tensors, as the file does not use numpy
        return base if function_name.rstrip("_") in _SHARED and base != NUMBER else UNKNOWN

    def _torch(self, value: Value, function_name: str, function: Link) -> str:
        if function_name in _FACTORIES:
            device = next((k.value for k in value.node.keywords if k.arg == "device"), None)
            if device is not None:
                of_another = self._value(device.value, function) if getattr(device, "attr", "") == "device" else None
                beside = of_another is not None and self._nature(of_another, function) == HOST
                return HOST if beside or "'cpu'" in ast.unparse(device) else DEVICE
            given = self._nature(value.args[0], function) if value.args and function_name in _GIVEN else HOST
            return UNKNOWN if self._default_is_device or given == DEVICE else HOST
        if function_name.startswith("clip_grad_norm"):
            return DEVICE
        if value.info[0].rpartition(".")[0] not in _OPERATORS or function_name.startswith(("is_", "load")):
            return UNKNOWN
        tensors = [v for v in value.args if v.op != "const"]
        return self._combined(tensors, function) or DEVICE if tensors else UNKNOWN

    def _member(self, name: str, function: Link) -> str:
        owner = self._scene.owner((function[0].body[0], function))
        values = self._file.receivers.members(owner).get(name, []) if owner is not None else []
        if values and all(v.__class__ is ast.Constant for v in values):
            return NUMBER
        if owner is not None and name in registered(owner):
            return DEVICE
        if values and {self._torch_name(v) for v in values} <= {"torch.nn.Parameter", "torch.nn.parameter.Parameter"}:
            return DEVICE
        made = kept_on_host.makers(self._file, owner, name, values) if owner is not None else ()
        natures = {self._nature(v, at) if (v := self._value(node, at)) and at else UNKNOWN for node, at in made}
        return HOST if natures == {HOST} else UNKNOWN

    def _parameter(self, name: str, function: Link) -> str:
        key = (function[0], name)
        if key not in self._given:
            self._given[key] = self._look_at_parameter(name, function)
        return self._given[key]

    def _look_at_parameter(self, name: str, function: Link) -> str:
        """The nature of a parameter: a tensor by its annotation or by its uses; on the host if all calls pass such a tensor."""
        arguments = function[0].args
        if name in self._scene.callers.read_back(function) or name in named_on_host.on_host(function[0]):
            return HOST
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        annotation = next((argument.annotation for argument in every if argument.arg == name), None)
        words = ast.unparse(annotation) if annotation is not None else ""
        if words in ("int", "float", "bool"):
            return NUMBER
        named = words if "Tensor" in words else ""
        if not named and words or name == "self" or re.search("List|list|Dict|dict|Tuple|tuple|Sequence", named):
            return UNKNOWN
        used = not self.asked(function[0])[0].get(name, _NOTHING).isdisjoint(_OF_TENSORS)
        return DEVICE if named or used else UNKNOWN

    def asked(self, function: Node) -> tuple[dict[str, set[str]], set[str]]:
        """The attributes that a function reads of each name, and the names that it binds."""
        asked_and_bound = self._asked.get(function)
        if asked_and_bound is None:
            asked_and_bound = self._asked[function] = {}, set()
            for node in walk(function):
                if node.__class__ is ast.Attribute and node.value.__class__ is ast.Name:
                    asked_and_bound[0].setdefault(node.value.id, set()).add(node.attr)
                elif node.__class__ is ast.Name and node.ctx.__class__ is ast.Store:
                    asked_and_bound[1].add(node.id)
        return asked_and_bound
