"""Says what a string is where it is used: in an argument, an option, a comparison. `Flow` (flow.py) derives from `Sinks`: it
follows a string to such a place and calls the handler that is named after the class of the parent node, `_call` for ast.Call."""

from __future__ import annotations

import ast
import builtins
import sys

from porter.python.blocks import once, place
from porter.python.evidence import (
    call_name,
    constant,
    device_like,
    flag,
    is_log,
    lightning,
    like,
    listed,
    named,
    other_library,
    sides_of,
    target_name,
    trainer,
)
from porter.python.index import Link, Node, parents
from porter.python.strings.callees import Callees
from porter.python.strings.fixtures import FIXTURE, VALUES, OfTests, Role
from porter.python.strings.other_words import has_others, other_cases
from porter.python.strings.rows import PARAMETRIZE, SET, argument_names, named_by_list
from porter.regex import lazy
from porter.rulebook.table import Sink, hints

# names of variables that ask for NVIDIA's chips
_VENDOR = lazy(r"(?i)nvidia|hopper|blackwell|ampere|volta")
INDEXED = lazy(r"cuda:\d+$")

# names for any array library: `xp` of the array API standard, and functions that return the library of an array
_NAMESPACE = lazy(r"^_?xp(?:\d*$|_)|array_?(?:namespace|module)|get_namespace")

# functions that add an option or a field with a default
OPTIONS = {
    "add_argument",
    "option",
    "Option",
    "argument",
    "Argument",
    "DEFINE_string",
    "DEFINE_enum",
    "add_option",
    "Field",
    "field",
}
PUT = ("append", "add", "insert", "extend")  # methods that put a value into a list or a set
ATTRIBUTES = frozenset({"getattr", "hasattr", "setattr", "delattr"})  # functions that take the name of an attribute
PATHS = frozenset({"join", "joinpath", "Path", "PurePath", "glob", "open", "makedirs", "exists"})
# functions whose strings are names, paths or texts
_NAMES_OF_THINGS = {*ATTRIBUTES, *PATHS, *hints("takes-names-and-texts")}
# names of arguments that say which of several choices is taken at first: `gr.Dropdown(["cuda", "cpu"], value="cuda")`
_CHOSEN = frozenset({"value", "default", "initial", "selected"})
_LOOKUPS = {"get", "pop", "setdefault", "getenv", "getattr", "get_option", "item"}
# libraries whose functions with a device are in rules/*.toml, or that have none
_KNOWN = frozenset({"torch", "transformers", "pytest", *sys.stdlib_module_names})
MOVED = "torch.distributed."  # a function under this prefix is found by its last word, as several modules have it


class Sinks(OfTests):
    """Handlers for nodes around a value. None: nothing says that the value is a device, or a backend.

    `node`: the value. `parent`: the node around it. `up`: the link of `parent`. `kind`: device | backend. `text`: the string.
    `depth`: how many steps the string has been followed."""

    calls: dict[str, Sink]
    moved: dict[str, Sink]
    methods: dict[str, Sink]
    callees: Callees
    own_devices: frozenset[tuple[str, str]]  # (class of the project, parameter that it moves tensors to)

    def _target(self, target: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        raise NotImplementedError

    def _used(self, name: str, up: Link, kind: str, text: str, depth: int) -> Role | None:
        raise NotImplementedError

    def _sink(self, resolved: str | None) -> Sink | None:
        if resolved is None:
            return None
        sink = self.calls.get(resolved)
        return sink or (self.moved.get(resolved.rpartition(".")[2]) if resolved.startswith(MOVED) else None)

    # ---- arguments

    def _keyword(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        call = up[1]
        if call is None or call[0].__class__ is not ast.Call:
            return None
        func, name = call[0].func, parent.arg
        resolved, callee = self.names.resolve(func, call), call_name(func)
        # add = parser.add_argument
        option = callee in OPTIONS or call[0].args and str(constant(call[0].args[0])).startswith("-")
        if option and name in ("default", "const", "choices", "enum_values", "default_factory"):
            return self._option(call, name, kind, text, depth)
        if callee == FIXTURE and name == VALUES:
            return self._fixture(call, kind, text, depth)
        sink = self._sink(resolved) or (self.methods.get(callee) if resolved is None else None)
        certain = kind != "device" or not self._any_array(func, call)
        if sink and sink.kind == kind and name in sink.keywords:
            return Role("argument", certain)
        if name and like(name, kind) or kind == "device" and (callee, name) in self.own_devices:
            if other_library(resolved):  # HParams(dist_backend="nccl"): a container of settings, for any program
                return Role("argument", False) if kind == "backend" and "dist" in name else None
            return Role("argument", certain)
        if name and kind == "device" and lightning(name) and not other_library(resolved) and not trainer(resolved):
            return Role("argument", False)
        if name in _CHOSEN and kind == "device" and _offers(call[0], text):
            return Role("assigned", True)
        return None

    def _any_array(self, func: Node, link: Link) -> bool:
        """Whether a function belongs to a name that may stand for any array library, such as NumPy: `xp.zeros(device="cuda")`."""
        root = func.value if func.__class__ is ast.Attribute else func
        while root.__class__ is ast.Attribute:
            root = root.value
        if root.__class__ is not ast.Name or self.names.resolve(root, link) is not None:
            return False
        if _NAMESPACE.search(root.id):
            return True
        bindings = self.names.bindings(root.id, link)
        return self.names.once("array module", bindings, lambda: any(map(_is_array_module, bindings)))

    def _option(self, call: Link, name: str, kind: str, text: str, depth: int) -> Role | None:
        role = "choices" if name in ("choices", "enum_values") else "option"
        names = [flag(a) for a in call[0].args] + [constant(k.value) for k in call[0].keywords if k.arg == "dest"]
        known = kind == "backend" or INDEXED.match(text) is not None
        known = known or any(n and (like(n, kind) or n in self.callees.made_devices) for n in names)
        target = None if known else self.role(call, kind, text, depth + 1)  # field(default=...) of an annotated name
        return Role(role, bool(known or target and target.certain))

    def _call(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        if node is parent.func:
            return None
        func = parent.func
        resolved, callee = self.names.resolve(func, up), call_name(func)
        index = place(parent, node)[1]
        if is_log(func, callee):
            return None
        sink = self._sink(resolved)
        if sink is None and func.__class__ is ast.Attribute and not (resolved or "").startswith("torch."):
            sink = self.methods.get(callee)
        if resolved is None and func.__class__ is ast.Name:
            sink = self.callees.sink(func, up)
        if sink and sink.kind == kind and sink.position == index:
            return None if other_library(resolved) else Role("argument", True)
        if callee in PUT and func.__class__ is ast.Attribute:
            return self._target(func.value, up, kind, text, depth)
        if callee in OPTIONS:
            first = flag(parent.args[0]) if parent.args else None
            return Role("option", True) if index and first and like(first, kind) else None
        if callee in _LOOKUPS:
            key = constant(parent.args[index - 1]) if index else None
            return Role("default", True) if isinstance(key, str) and like(key, kind) else None
        if callee == "Choice":  # click's
            outer = next((n for n in parents(up) if n.__class__ is ast.Call), None)
            return Role("choices", any(n and like(n, kind) for n in map(flag, getattr(outer, "args", ()))))
        if callee in ("startswith", "endswith", "__eq__") and func.__class__ is ast.Attribute:
            return (
                Role("compared", True)
                if kind == "device" and self._is_kind(func.value, up, kind, text, depth)
                else None
            )
        if callee in ("replace", "removeprefix", "split") and func.__class__ is ast.Attribute and kind == "device":
            if index == 0:  # str(device).replace("cuda:", "")
                return Role("stripped", True) if device_like(func.value) else None
            return self.role(up, kind, text, depth + 1)
        if callee.startswith("assert") and any(a is not node for a in _words(parent)[kind]):
            return Role("compared", True)
        if other_library(resolved):
            return None
        if callee == PARAMETRIZE and index == 1:
            names = argument_names(parent.args[0])
            return Role("argument", True) if len(names) == 1 and like(names[0], kind) else None
        if callee == SET:
            name = named_by_list(up) or ""
            role = Role("argument", True) if like(name, kind) else self.role(up, kind, text, depth + 1)
            if role or name:
                return role
        if (parameter := self.callees.parameter(func, index)) is not None:
            return Role("argument", True) if like(parameter, kind) else None
        if like(self.callees.initial(func, index) or self.callees.elsewhere(func, resolved, index), kind):
            return Role("argument", True)
        if INDEXED.match(text) or text == "cuda:{}":
            return Role("argument", True)
        if (
            (resolved is None or text == "cuda" and resolved.partition(".")[0] not in _KNOWN)
            and kind == "device"
            and callee not in _NAMES_OF_THINGS
            and depth == 0
            and not hasattr(builtins, callee)
        ):
            return Role("argument", False)
        return None

    # ---- conditions

    def _compare(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        index = place(parent, node)[1] + 1
        op = parent.ops[index - 1 if index else 0]
        sides = sides_of(parent)

        def beside(candidates: tuple[ast.expr, ...]) -> bool:
            return any(side is not node for side in candidates)

        if beside(sides.npu):
            return None
        if up[1][0].__class__ is ast.Assign and all(_VENDOR.search(target_name(t)) for t in up[1][0].targets):
            return None  # is_nvidia = platform == "cuda"
        if isinstance(op, (ast.In, ast.NotIn)) and index == 0:  # "cuda" in str(device)
            group = parent.comparators[0]
            held = group.elts if isinstance(group, (ast.Tuple, ast.List)) else (group,)  # "cuda" in (source, target)
            return Role("compared", True) if any(named(one, kind) for one in held) else None
        if not isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            return None
        if beside(sides.device if kind == "device" else sides.backend):
            return Role("compared", True)
        names = [side for side in sides.names if side is not node]
        if any(self._is_kind(s, up, kind, text, depth) for s in names):
            return Role("compared", True)
        if kind == "device" and beside(sides.other):
            return None
        members = sides.members if kind == "device" else filter(_is_attribute, (parent.left, *parent.comparators))
        if any(has_others(self.names, side, up, kind) for side in (*names, *members)):
            return None
        return Role("compared", False)

    def _is_kind(self, node: Node, up: Link, kind: str, text: str, depth: int) -> bool:
        """Whether an expression is a device by its words, or a name by its other uses."""
        if named(node, kind):
            return True
        if node.__class__ is not ast.Name:
            return False
        if like((self.names.root(node.id, up) or "").rpartition(".")[2], kind):  # from config import DEVICE as D
            return True
        bindings = self.names.bindings(node.id, up)
        # b = dist.get_backend()
        if self.names.once(
            ("given", kind), bindings, lambda: bool(bindings) and all(_is_given(binding, kind) for binding in bindings)
        ):
            return True
        used = self._used(node.id, up, kind, text, depth)
        return used is not None and used.certain and used.role != "compared"

    def _matchvalue(self, node: Node, parent: Node, up: Link, kind: str, text: str, depth: int) -> Role | None:
        while up and up[0].__class__.__name__ != "Match":
            if up[0].__class__.__name__ not in ("MatchValue", "MatchOr", "MatchAs", "match_case"):
                return None  # a part of a larger pattern
            up = up[1]
        if up and named(up[0].subject, kind):
            return Role("case", True)
        return None if up and kind == "backend" and other_cases(up[0]) else Role("case", False)


def _is_attribute(side: Node) -> bool:
    return side.__class__ is ast.Attribute


@once
def _words(call: ast.Call) -> dict[str, tuple[ast.expr, ...]]:
    """The arguments that are devices or backends by their words."""
    return {kind: tuple(a for a in call.args if named(a, kind)) for kind in ("device", "backend")}


def _is_array_module(binding: Link) -> bool:
    """Whether a binding gives a name an array library: `xp = get_namespace(x)`."""
    up = binding[1]
    if up is not None and up[0].__class__ is ast.Tuple and up[1]:
        up = up[1]
    value: Node = getattr(up and up[0], "value", None)
    return value.__class__ is ast.Call and bool(_NAMESPACE.search(call_name(value.func)))


def _is_given(binding: Link, kind: str) -> bool:
    """Whether a binding gives a name a device or a backend: `b = dist.get_backend()`."""
    return binding[1] is not None and binding[1][0].__class__ is ast.Assign and named(binding[1][0].value, kind)


def _offers(call: Node, text: str) -> bool:
    """Whether an argument of a call lists devices, and this is one of them."""
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    lists = (one for one in given if one.__class__ in (ast.List, ast.Tuple))
    return any(listed(one).devices and any(constant(item) == text for item in one.elts) for one in lists)
