"""What a dotted name stands for in a Python package on disk, of which nothing is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from porter.catalog.make.static import Entry, Reader
from porter.python.index import Node
from porter.reach.package import Package

FUNCTION, CLASS, APPLY, OBJECT, NATIVE = "function", "class", "apply", "object", "native"
_LOADERS = ("import_module", "load", "load_ext", "__import__")
# The kind of a class, by its base. `_MADE` in reading.py says which methods a kind runs for whoever makes an object.
BASES = {
    "torch.nn.Module": "module",
    "torch.nn.modules.module.Module": "module",
    "torch.nn.modules.Module": "module",
    "torch.autograd.Function": APPLY,
    "torch.autograd.function.Function": APPLY,
    "torch.autograd.function.InplaceFunction": APPLY,
    "torch.optim.Optimizer": "optimizer",
    "torch.optim.optimizer.Optimizer": "optimizer",
}


class Symbol(NamedTuple):
    kind: str
    module: str
    name: str = ""

    @property
    def key(self) -> str:
        return f"{self.module}:{self.name}"


class Library:
    def __init__(self, folder: Path) -> None:
        self.package = Package(folder)
        self.reader = Reader(self.package, (self.package.name,))  # type: ignore[arg-type]  # it answers like wheels
        self.extensions: frozenset[str] = frozenset()  # modules that are compiled, as the project's build scripts say

    def absolute(self, name: str, module: str) -> str:
        """`..ops.nms`, as the file of `module` writes it, in full."""
        level = len(name) - len(name.lstrip("."))
        if not level:
            return name
        parts = module.split(".")
        parts = parts[: len(parts) - level + self.package.is_package(module)]
        return ".".join([*parts, name[level:]])

    def find(self, name: str, depth: int = 0) -> Symbol | None:
        """What a full name is; None where it is not this library's, or may be more than one thing."""
        head, _, attribute = name.rpartition(".")
        if name.partition(".")[0] != self.package.name or depth > 20:
            return None
        if not head or name in self.package and attribute not in self.reader.module(head).names:
            return Symbol("module", name)
        if head in self.package:
            entry = self.reader.imported(head, attribute)
            if attribute in self.reader.module(head).either:
                return None
            return self._symbol(entry, depth) if entry else self._unknown(head, attribute)
        owner = self.find(head, depth + 1)
        return owner and self.member(owner, attribute)

    def _unknown(self, head: str, name: str) -> Symbol | None:
        """A name below a package that no source binds is a module compiled from C++, or made at run time."""
        if f"{head}.{name}" in self.extensions:
            return Symbol(NATIVE, f"{head}.{name}")
        if not self.package.is_package(head) or not name.startswith("_"):
            return None
        path = self.package.files[head].removesuffix("__init__.py") + name
        # installed, its file lies there; in a checkout nothing is compiled yet
        return (
            Symbol(NATIVE, f"{head}.{name}")
            if not self.package.compiled or any(map(_is_file(path), self.package.compiled))
            else None
        )

    def _symbol(self, entry: Entry, depth: int) -> Symbol | None:
        if entry.kind == "module":
            return Symbol("module", entry.home)
        if entry.kind in (FUNCTION, CLASS):
            return Symbol(entry.kind, entry.home, entry.name)
        if entry.kind == "foreign":
            return self.find(entry.home, depth + 1)
        if entry.kind == "value" and "." not in entry.name:
            value = self.package.values.get(entry.home, {}).get(entry.name)
            return self._value(value, entry.home, depth + 1) if value is not None else None
        return None

    def _value(self, node: Node, module: str, depth: int = 0) -> Symbol | None:
        """What an expression of a module's own level is: `C.apply`, `C()`, `load_ext("_ext", [...])`."""
        if node.__class__ is ast.Call:
            if loaded := self._loaded(node):
                return Symbol(NATIVE, loaded)
            symbol = self._value(node.func, module, depth + 1)
            return Symbol(OBJECT, symbol.module, symbol.name) if symbol and symbol.kind == CLASS else None
        name = ast.unparse(node) if node.__class__ in (ast.Name, ast.Attribute) else ""
        return self.find(f"{module}.{name}", depth + 1) if re.fullmatch(r"[\w.]+", name) else None

    def _loaded(self, call: ast.Call) -> str:
        """The module that `importlib.import_module("x")` or a helper of the same kind loads, as far as it is written."""
        callee = getattr(call.func, "attr", getattr(call.func, "id", ""))
        word = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "name"), None)
        if callee not in _LOADERS or not isinstance(word, ast.Constant) or not isinstance(word.value, str):
            return ""
        return f"{self.package.name}.{word.value.lstrip('.')}" if word.value.startswith((".", "_")) else word.value

    def member(self, owner: Symbol, name: str) -> Symbol | None:
        if owner.kind == NATIVE:
            return Symbol(NATIVE, owner.module, f"{owner.name}.{name}".lstrip("."))
        if owner.kind not in (CLASS, OBJECT):
            return None
        if entry := self.members(owner).get(name):
            return Symbol(FUNCTION, entry.home, entry.name) if entry.kind == FUNCTION else None
        if name == "apply" and owner.kind == CLASS and APPLY in self.kinds(owner):
            return Symbol(APPLY, owner.module, owner.name)
        return None

    def is_static(self, member: Symbol) -> bool:
        return member.key in self.package.static

    def members(self, owner: Symbol) -> dict[str, Entry]:
        entry = self.reader.module(owner.module).names.get(owner.name)
        return entry.members if entry is not None else {}

    def bases(self, owner: Symbol) -> Iterator[Symbol | str]:
        """Classes of the library, and full names of the others."""
        self.reader.module(owner.module)  # reading the module fills `package.bases`
        for text in self.package.bases.get(owner.module, {}).get(owner.name, ()):
            if base := self.find(f"{owner.module}.{text}"):
                yield base
            else:
                first, _, tail = text.partition(".")
                entry = self.reader.module(owner.module).names.get(first)
                yield ".".join(filter(None, (entry.home, tail))) if entry and entry.kind == "foreign" else text

    def kinds(self, owner: Symbol, depth: int = 0) -> frozenset[str]:
        kinds: set[str] = set()
        for base in self.bases(owner) if depth < 20 else ():
            kinds |= {BASES.get(base, "")} if isinstance(base, str) else self.kinds(base, depth + 1)
        return frozenset(kinds - {""})


def _is_file(path: str) -> Callable[[str], bool]:
    """`_C.so`, `_C.cpython-311-x86_64-linux-gnu.so`."""
    return lambda compiled: compiled.startswith(f"{path}.")
