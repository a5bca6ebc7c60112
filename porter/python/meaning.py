"""Answers what a name or an expression stands for, as far as the file shows it."""

from __future__ import annotations

import ast
import re
import weakref
from functools import cached_property
from typing import TYPE_CHECKING

from porter.python import capabilities, half_guards, kernel_branches, kernel_choices, library_branches
from porter.python.blocks import once_for_file, within
from porter.python.described_devices import is_described
from porter.python.evidence import OPTION_HOLDERS, call_name, constant, is_part_of
from porter.python.index import FUNCTIONS, Link, Node, parents, walk
from porter.python.mentions import Mentions
from porter.python.parameters import defaults
from porter.python.ranks import Ranks
from porter.python.refusing import refuses
from porter.python.replaced_none import is_replaced
from porter.python.scripted import is_scripted
from porter.python.unset_options import may_be_unset
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File


_OPTIONS = lazy(rf"(?i)(?:^|_)(?:{OPTION_HOLDERS}|arg|params|conf)$")
# methods after which a tensor is still what the function made that created it
_KEEPS = frozenset({"cuda", "npu", "to", "cpu", "coalesce", "float", "half", "double", "detach", "requires_grad_", "t"})
_RANK = lazy(r"(?:^|_)(?:local_?)?rank$", re.IGNORECASE)
_INTS = frozenset({"torch.cuda.current_device", "torch.distributed.get_rank", "torch.npu.current_device"})


class Meaning:
    def __init__(self, file: File) -> None:
        self._file: File = weakref.proxy(file)  # weak, because the file holds this object
        self.mentions = Mentions(self._file)
        self._ranks = Ranks(self._file)

    def is_builtin(self, node: Node) -> bool:
        """Whether a name is a builtin: nothing in the file binds it."""
        link = self._file.link(node)
        return (
            link is not None
            and node.value not in self._file.names.imports
            and not self._file.names.bindings(node.value, link)
        )

    def made_by(self, node: Node) -> str | None:
        """The function whose calls bind a name, if all bindings call the same: `torch.cuda.get_device_properties`."""
        link = self._file.link(node) if type(node).__name__ == "Name" else None
        bound = self._file.names.bindings(node.value, link) if link else []
        makers = self._file.names.once("made by", bound, lambda: {*map(self._maker, bound)})
        return next(iter(makers)) if len(makers) == 1 else None

    def _maker(self, binding: Link) -> str | None:
        above = binding[1] and binding[1][0]
        value: Node = (
            above.value if above.__class__ in (ast.Assign, ast.NamedExpr) and binding[0] is not above.value else None
        )
        return self._made(value, binding)

    def _made(self, value: Node, link: Link, depth: int = 0) -> str | None:
        while value.__class__ is ast.Call:
            if made := self._file.names.resolve(value.func, link):
                return made
            method = getattr(value.func, "attr", "")
            if method.startswith("to_sparse"):
                return "torch.Tensor.to_sparse"
            if value.func.__class__ is ast.Name and not depth:
                return self._returned(value.func.id)
            value = value.func.value if method in _KEEPS else None  # `torch.sparse_coo_tensor(...).cuda()`
        return None

    def _returned(self, name: str) -> str | None:
        """The function that makes all that a function of the file returns. None where several things have its name."""
        functions = self._file.names.scopes.functions.get(name, ())
        if len(functions) != 1 or len(self._file.names.others.get(name, ())) != 1:
            return None
        known, function = self._file.answers["made by a function"], functions[0]
        if name not in known:
            returned = [(n.value, (n, function)) for n in walk(function[0]) if n.__class__ is ast.Return]
            makers = {self._made(value, link, 1) for value, link in returned}
            known[name] = next(iter(makers)) if len(makers) == 1 else None
        answer: str | None = known[name]
        return answer

    def local_rank(self, node: Node) -> str | None:
        """The expression for the local rank that can be used at a place; None where there is none."""
        return self._ranks.local_rank(self._file.link(node))

    def module_name(self, node: Node, module: str) -> str | None:
        """The name of a module at a place; None where it is not imported, or under several names."""
        return self._ranks.module(self._file.link(node), module)

    def dtype(self, node: Node) -> str | None:
        """`float64` for a name that is given `torch.tensor(..., dtype=torch.float64)`; of `x.double()` and `x.byte()` the method,
        `double` and `byte`. The first binding with one of these counts."""
        link = self._file.chain(node) if type(node).__name__ == "Name" else None
        bound = self._file.names.bindings(link[0].id, link) if link else []
        return self._file.names.once("dtype", bound, lambda: self._dtype(bound))

    def _dtype(self, bindings: list[Link]) -> str | None:
        for binding in bindings:
            above = binding[1] and binding[1][0]
            call: Node = above.value if above.__class__ is ast.Assign and within(above, binding[0], "targets") else None
            if call.__class__ is not ast.Call:
                continue
            moved = call.args if call_name(call.func) in ("to", "type") else ()
            args = [*moved, *(k.value for k in call.keywords if k.arg == "dtype")]
            full = next(
                (f for f in (self._file.names.resolve(g, binding) for g in args) if f and f.startswith("torch.")), None
            )
            if full or call_name(call.func) in ("double", "byte"):
                return full.rpartition(".")[2] if full else call_name(call.func)
        return None

    def asked_for(self, node: Node) -> str | None:
        """The other library for which the code asks `torch.cuda.is_available`."""
        library = library_branches.asked_for(self._file, self._file.chain(node))
        return None if library is None or is_part_of(self._file.path, library) else library

    def decides(self, node: Node) -> tuple[str, str] | None:
        """Why a question for a GPU must stay as it is: see kernel_choices.Choice and half_guards. Of a string, why the comparison
        with it must; of `x.is_cuda`, what it opens and a style does not port, or not unasked."""
        if (literal := self._file.literal(node)) is not None:
            return half_guards.left_by(self._file, literal.link)
        if getattr(getattr(node, "attr", None), "value", "") == "is_cuda":
            return half_guards.left_behind(self._file, self._file.receivers.link(self._file.span(node)[1]))
        link = self._file.chain(node)
        return kernel_choices.decided(self._file, link) or half_guards.left_inside(self._file, link)

    def capability(self, node: Node) -> str | None:
        """How a chain depends on a compute capability: see capabilities.capability. For torch.cuda.get_device_capability
        itself: "shielded", if its call does no harm on an NPU."""
        link = self._file.chain(node)
        if link is not None and self._file.names.resolve(link[0], link) == capabilities.CAPABILITY:
            questions = (*kernel_choices.staying(self._file), *half_guards.staying(self._file))
            kept_away = capabilities.shielded(link, questions) or is_described(self._file, link, questions)
            return "shielded" if kept_away or half_guards.is_kept_away(self._file, link) else None
        found = capabilities.capability(link)
        return "field" if found is None and half_guards.compares_field(self._file, link) else found

    def is_scripted(self) -> bool:
        """Whether TorchScript may compile the statement that is walked."""
        return is_scripted(self._file, self._file.statement)

    def is_fallback(self, node: Node) -> bool:
        """Whether a chain stands in an `except` block, which runs where a call of a newer torch failed."""
        return any(above.__class__ is ast.ExceptHandler for above in parents(self._file.link(node)))

    def kernel(self, node: Node) -> str | None:
        """The CUDA kernel that the code calls if `x.is_cuda` or `device.type == "cuda"` is true."""
        literal = self._file.literal(node)
        link = literal.link if literal else self._file.receivers.link(self._file.span(node)[1])
        return kernel_branches.kernel(self._file, link) or _compiled(self._file)

    def refuses(self, node: Node) -> bool:
        """Whether the program stops if its device is this string."""
        literal = self._file.literal(node)
        return literal is not None and refuses(literal.link)

    def may_be_none(self, node: Node) -> bool:
        """Whether a name is a parameter with None as its default, an option that may be left out, or what the `cuda(device=None)` of
        a class keeps."""
        if type(node).__name__ == "Attribute":
            option = self._file.chain(node)
            if option is None or not self._is_parsed(option):
                return option is not None and _is_given_to_cuda(option)
            return may_be_unset(self._file, option)
        link = self._file.chain(node) if type(node).__name__ == "Name" else None
        bound = self._file.names.bindings(link[0].id, link) if link else []
        may_be = any(binding[0].__class__ is ast.arg and _defaults_to_none(binding) for binding in bound)
        return may_be and link is not None and not is_replaced(self._file.names, link[0], link)

    def int_kind(self, node: Node) -> str:
        """Whether an expression is an int: 'known' by what binds it, 'likely' by its name, '' otherwise."""
        kind = type(node).__name__
        if kind == "Integer":
            return "known"
        if kind == "Call":
            name = self._file.name(node.func)
            plain = (
                type(node.func).__name__ == "Name" and node.func.value == "int" and not self._file.names.bound("int")
            )
            return "known" if plain or name in _INTS or self._is_index_of_tensor(node) else ""
        link = self._file.chain(node) if kind in ("Name", "Attribute") else None
        if link is None:
            return ""
        word = link[0].attr if kind == "Attribute" else link[0].id
        known = word in self._int_options and self._is_parsed(link) if kind == "Attribute" else self._name_is_int(link)
        return "known" if known else "likely" if _RANK.search(word) else ""

    def _is_index_of_tensor(self, call: Node) -> bool:
        """`x.get_device()` behind `if x.is_cuda:`, which tensors alone have."""
        link = self._file.chain(call.func) if type(call.func).__name__ == "Attribute" and not call.args else None
        if link is None or link[0].attr != "get_device":
            return False
        asked = ast.dump(ast.Attribute(link[0].value, "is_cuda", ast.Load()))
        return any(above.__class__ is ast.If and ast.dump(above.test) == asked for above in parents(link))

    def _is_parsed(self, link: Link) -> bool:
        """Whether an attribute is a parsed option: `args.device`, but not `x.device` of a tensor."""
        base = link[0].value
        if _OPTIONS.search(getattr(base, "attr", "") or getattr(base, "id", "")):
            return True
        bound = self._file.names.bindings(base.id, link) if base.__class__ is ast.Name else []
        makers = [getattr(binding[1] and binding[1][0], "value", None) for binding in bound]
        return bool(makers) and all(call_name(getattr(m, "func", None)) == "parse_args" for m in makers)

    def _name_is_int(self, link: Link) -> bool:
        bindings = self._file.names.bindings(link[0].id, link)
        return bool(bindings) and self._file.names.once("int", bindings, lambda: all(map(self._binds_int, bindings)))

    def _binds_int(self, binding: Link) -> bool:
        node, above = binding[0], binding[1] and binding[1][0]
        if node.__class__ is ast.arg:
            return getattr(node.annotation, "id", "") == "int"
        if above.__class__ is ast.Assign and within(above, node, "targets"):
            return self._is_int(above.value, binding)
        if above.__class__ is ast.AnnAssign:
            return getattr(above.annotation, "id", "") == "int"
        return (
            above.__class__ is ast.For
            and node is above.target
            and above.iter.__class__ is ast.Call
            and call_name(above.iter.func) == "range"
        )

    def _is_int(self, value: Node, link: Link) -> bool:
        if value.__class__ is ast.Call:
            return getattr(value.func, "id", "") == "int" or self._file.names.resolve(value.func, link) in _INTS
        return type(constant(value)) is int

    @cached_property
    def _int_options(self) -> frozenset[str]:
        """The options that are an int: `local_rank` for `add_argument("--local-rank", type=int, default=0)`. If an option is
        added twice, the first counts."""
        options: dict[str, bool] = {}
        for link in self._file.buckets[ast.Call]:
            call = link[0]
            if call_name(call.func) == "add_argument" and call.args:
                keywords = {k.arg: k.value for k in call.keywords}
                if getattr(keywords.get("type"), "id", "") == "int":
                    for a in call.args:
                        name = str(constant(a)).lstrip("-").replace("-", "_")
                        options.setdefault(name, type(constant(keywords.get("default"))) is int)
        return frozenset(name for name, plain in options.items() if plain)


def _is_given_to_cuda(attribute: Link) -> bool:
    """`self.device` in a class with `def cuda(self, device=None): self.device = device`."""
    name, holder = attribute[0].attr, attribute[0].value
    owner = next((above for above in parents(attribute) if isinstance(above, ast.ClassDef)), None)
    if owner is None or getattr(holder, "id", "") != "self":
        return False
    for method in (node for node in owner.body if isinstance(node, FUNCTIONS[:2]) and node.name == "cuda"):
        unset = {n for n, d in defaults(method).items() if isinstance(d, ast.Constant) and d.value is None}
        sets = (node for node in walk(method) if isinstance(node, ast.Assign))
        kept = (node.targets for node in sets if getattr(node.value, "id", "") in unset)
        if any(getattr(target, "attr", "") == name for targets in kept for target in targets):
            return True
    return False


def _defaults_to_none(parameter: Link) -> bool:
    function = next((above for above in parents(parameter) if isinstance(above, FUNCTIONS)), None)
    default: Node = defaults(function).get(parameter[0].arg) if function is not None else None
    return default.__class__ is ast.Constant and default.value is None


@once_for_file
def _compiled(file: File) -> str | None:
    """The package that compiles Python functions of the file to CUDA kernels: numba.cuda."""
    targets = (target for imported in file.names.imports.values() for target, _ in imported)
    return "numba.cuda" if any(t == "numba.cuda" or t.startswith("numba.cuda.") for t in targets) else None
