"""A Python package on disk, seen as an import path: its modules, and what a dotted name in it stands for."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from porter.catalog.make.static import Entry, Reader
from porter.errors import UserError
from porter.files.all_files import everything
from porter.files.read import LIMIT, beginning
from porter.python import trees

FUNCTION, CLASS, APPLY, OBJECT, NATIVE = "function", "class", "apply", "object", "native"
_VERSION = re.compile(r"^__version__\s*(?::\s*str\s*)?=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)
_OPERATOR = re.compile(rb"""["'](\w+)::(\w+)(?:["'(.])""")
_METADATA = re.compile(r"^Version:\s*(\S+)", re.MULTILINE)
_LOADERS = ("import_module", "load", "load_ext", "__import__")
# what a base class makes of its subclasses: whoever makes a module calls it, an optimiser steps
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
    """Both what `Reader` asks of its wheels, and what it makes of them for this package."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UserError(
                f"{folder}: no directory; --library names the folder of an importable package",
                f"{folder}：目录不存在；--library 应指定一个可导入包的目录",
            )
        self.folder, self.name = folder, folder.resolve().name
        if not (folder / "__init__.py").is_file():
            inner = [p.parent for p in sorted(folder.glob("*/__init__.py")) + sorted(folder.glob("src/*/__init__.py"))]
            inner = [p for p in inner if p.name not in ("tests", "test", "docs", "examples")]
            name = inner[0].as_posix() if inner else ""
            en, zh = (f"; name {name} inside it", f"；请指定其中的 {name}") if inner else ("", "")
            raise UserError(
                f"{folder}: has no __init__.py, so it is no package{en}", f"{folder}：没有 __init__.py，不是包{zh}"
            )
        files = everything(folder)
        self.files = {_module(f"{self.name}/{path}"): path for path in files if path.endswith(".py")}
        self.compiled = [path for path in files if path.endswith((".so", ".pyd"))]
        self.reader = Reader(self, (self.name,))  # type: ignore[arg-type]
        self.extensions: frozenset[str] = frozenset()  # modules that are compiled, as the project's build scripts say
        self._values: dict[str, dict[str, ast.expr]] = {}
        self._bases: dict[str, dict[str, list[str]]] = {}
        self._static: set[str] = set()  # methods that need no object

    # ---- what Reader asks of its wheels

    def __contains__(self, module: str) -> bool:
        return module in self.files

    def is_package(self, module: str) -> bool:
        return self.files.get(module, "").rpartition("/")[2] == "__init__.py"

    def parse(self, module: str) -> ast.Module | None:
        if module not in self.files:
            return None
        if (tree := trees.parse(self.data(module))) is None:
            return None
        self._values[module] = {name.id: value for name, value in _assigned(tree.body)}
        self._bases[module] = {}
        for node in _classes(tree.body):
            self._bases[module][node.name] = list(map(ast.unparse, node.bases))
            self._static |= {f"{module}:{node.name}.{name}" for name in _static(node)}
        return tree

    def data(self, module: str) -> bytes:
        return beginning(self.folder / self.files[module], LIMIT) or b""

    # ---- what a name stands for

    def absolute(self, name: str, module: str) -> str:
        """`..ops.nms`, as the file of `module` writes it, in full."""
        level = len(name) - len(name.lstrip("."))
        if not level:
            return name
        parts = module.split(".")
        parts = parts[: len(parts) - level + self.is_package(module)]
        return ".".join([*parts, name[level:]])

    def find(self, name: str, depth: int = 0) -> Symbol | None:
        """What a full name is; None where it is not this library's, or may be more than one thing."""
        head, _, last = name.rpartition(".")
        if name.partition(".")[0] != self.name or depth > 20:
            return None
        if not head or name in self and last not in self.reader.module(head).names:
            return Symbol("module", name)
        if head in self:
            entry = self.reader.imported(head, last)
            if last in self.reader.module(head).either:
                return None
            return self._symbol(entry, depth) if entry else self._unknown(head, last)
        owner = self.find(head, depth + 1)
        return owner and self.member(owner, last)

    def _unknown(self, head: str, last: str) -> Symbol | None:
        """A name below a package that no source binds is a module compiled from C++, or made at run time."""
        if f"{head}.{last}" in self.extensions:
            return Symbol(NATIVE, f"{head}.{last}")
        if not self.is_package(head) or not last.startswith("_"):
            return None
        path = self.files[head].removesuffix("__init__.py") + last
        # installed, its file lies there; in a checkout nothing is compiled yet
        return (
            Symbol(NATIVE, f"{head}.{last}") if not self.compiled or any(map(_is_file(path), self.compiled)) else None
        )

    def _symbol(self, entry: Entry, depth: int) -> Symbol | None:
        if entry.kind == "module":
            return Symbol("module", entry.home)
        if entry.kind in (FUNCTION, CLASS):
            return Symbol(entry.kind, entry.home, entry.name)
        if entry.kind == "foreign":
            return self.find(entry.home, depth + 1)
        if entry.kind == "value" and "." not in entry.name:
            value = self._values.get(entry.home, {}).get(entry.name)
            return self.value(value, entry.home, depth + 1) if value is not None else None
        return None

    def value(self, node: ast.expr, module: str, depth: int = 0) -> Symbol | None:
        """What an expression of a module's own level is: `C.apply`, `C()`, `load_ext("_ext", [...])`."""
        if node.__class__ is ast.Call:
            if loaded := self.loaded(node):
                return Symbol(NATIVE, loaded)
            made = self.value(node.func, module, depth + 1)
            return Symbol(OBJECT, made.module, made.name) if made and made.kind == CLASS else None
        name = ast.unparse(node) if node.__class__ in (ast.Name, ast.Attribute) else ""
        return self.find(f"{module}.{name}", depth + 1) if re.fullmatch(r"[\w.]+", name) else None

    def loaded(self, call: ast.Call) -> str:
        """The module that `importlib.import_module("x")` or a helper of the same kind loads, as far as it is written."""
        last = getattr(call.func, "attr", getattr(call.func, "id", ""))
        word = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "name"), None)
        if last not in _LOADERS or word.__class__ is not ast.Constant or word.value.__class__ is not str:
            return ""
        return f"{self.name}.{word.value.lstrip('.')}" if word.value.startswith((".", "_")) else word.value

    def member(self, owner: Symbol, name: str) -> Symbol | None:
        if owner.kind == NATIVE:
            return Symbol(NATIVE, owner.module, f"{owner.name}.{name}".lstrip("."))
        if owner.kind not in (CLASS, OBJECT):
            return None
        if found := self.members(owner).get(name):
            return Symbol(FUNCTION, found.home, found.name) if found.kind == FUNCTION else None
        if name == "apply" and owner.kind == CLASS and APPLY in self.kinds(owner):
            return Symbol(APPLY, owner.module, owner.name)
        return None

    def is_static(self, member: Symbol) -> bool:
        return member.key in self._static

    def members(self, owner: Symbol) -> dict[str, Entry]:
        entry = self.reader.module(owner.module).names.get(owner.name)
        return entry.members if entry is not None else {}

    def bases(self, owner: Symbol) -> Iterator[Symbol | str]:
        """Classes of the library, and full names of the others."""
        self.reader.module(owner.module)
        for text in self._bases.get(owner.module, {}).get(owner.name, ()):
            if found := self.find(f"{owner.module}.{text}"):
                yield found
            else:
                first, _, rest = text.partition(".")
                entry = self.reader.module(owner.module).names.get(first)
                yield ".".join(filter(None, (entry.home, rest))) if entry and entry.kind == "foreign" else text

    def kinds(self, owner: Symbol, depth: int = 0) -> frozenset[str]:
        found: set[str] = set()
        for base in self.bases(owner) if depth < 20 else ():
            found |= {BASES.get(base, "")} if isinstance(base, str) else self.kinds(base, depth + 1)
        return frozenset(found - {""})

    @cached_property
    def registered(self) -> frozenset[str]:
        """Operators that the package's own Python names to the dispatcher, "ns.op": for whichever device, it would have to run."""
        found: set[bytes] = set()
        for module in self.files:
            data = self.data(module)
            if b"::" in data:
                found.update(b"%s.%s" % words for words in _OPERATOR.findall(data))
        return frozenset(word.decode() for word in found)

    @cached_property
    def version(self) -> str:
        """From the package, else from what its installation or its project says; "" where nothing does."""
        places = [self.folder / name for name in ("__init__.py", "version.py", "_version.py", "__about__.py")]
        for file, pattern in ((file, _VERSION) for file in places):
            if found := pattern.search(_text(file)):
                return found[1]
        for file in sorted(self.folder.resolve().parent.glob(f"{self.name}-*.dist-info/METADATA")):
            if found := _METADATA.search(_text(file)):
                return found[1]
        return ""


def _is_file(path: str) -> Callable[[str], bool]:
    """`_C.so`, `_C.cpython-311-x86_64-linux-gnu.so`."""
    return lambda compiled: compiled.startswith(f"{path}.")


def _text(file: Path) -> str:
    return (beginning(file, LIMIT) or b"").decode("utf-8", "replace")


def _module(path: str) -> str:
    return re.sub(r"(/__init__)?\.py$", "", path).replace("/", ".")


def _blocks(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        for name in ("body", "orelse", "finalbody"):
            if node.__class__ in (ast.If, ast.Try, ast.With) and (inner := getattr(node, name, None)):
                yield from _blocks(inner)


def _classes(body: list[ast.stmt]) -> Iterator[ast.ClassDef]:
    return (node for node in _blocks(body) if node.__class__ is ast.ClassDef)


def _assigned(body: list[ast.stmt]) -> Iterator[tuple[ast.Name, ast.expr]]:
    for node in _blocks(body):
        targets = (
            node.targets if node.__class__ is ast.Assign else [node.target] if node.__class__ is ast.AnnAssign else []
        )
        if len(targets) == 1 and targets[0].__class__ is ast.Name and node.value is not None:
            yield targets[0], node.value


def _static(node: ast.ClassDef) -> Iterator[str]:
    for item in node.body:
        marks = {getattr(d, "id", "") for d in getattr(item, "decorator_list", ())}
        if item.__class__ is not ast.ClassDef and marks & {"staticmethod", "classmethod"}:
            yield item.name
