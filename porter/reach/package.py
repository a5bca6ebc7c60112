"""The folder of a Python package: its modules, as `Reader` asks of its wheels, and its version."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from porter.errors import UserError
from porter.files.all_files import everything
from porter.files.read import LIMIT, beginning
from porter.python import trees
from porter.python.index import Node
from porter.regex import lazy

_VERSION = lazy(r"^__version__\s*(?::\s*str\s*)?=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)
_OPERATOR = lazy(rb"""["'](\w+)::(\w+)(?:["'(.])""")
_METADATA = lazy(r"^Version:\s*(\S+)", re.MULTILINE)


class Package:
    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UserError(
                f"{folder}: no directory; --library names the folder of an importable package",
                f"{folder}：目录不存在；--library 应指定一个可导入包的目录",
            )
        self._folder, self.name = folder, folder.resolve().name
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
        self.values: dict[str, dict[str, ast.expr]] = {}  # by module, what its own level assigns
        self.bases: dict[str, dict[str, list[str]]] = {}  # by module and class
        self.static: set[str] = set()  # methods that need no object

    def __contains__(self, module: str) -> bool:
        return module in self.files

    def is_package(self, module: str) -> bool:
        return self.files.get(module, "").rpartition("/")[2] == "__init__.py"

    def parse(self, module: str) -> ast.Module | None:
        """Also what `values`, `bases` and `static` say of the module."""
        if module not in self.files:
            return None
        if (tree := trees.parse(self.data(module))) is None:
            return None
        self.values[module] = {name.id: value for name, value in _assigned(tree.body)}
        self.bases[module] = {}
        for node in _classes(tree.body):
            self.bases[module][node.name] = list(map(ast.unparse, node.bases))
            self.static |= {f"{module}:{node.name}.{name}" for name in _static(node)}
        return tree

    def data(self, module: str) -> bytes:
        return beginning(self._folder / self.files[module], LIMIT) or b""

    @cached_property
    def registered(self) -> frozenset[str]:
        """Operators that the package's own Python names to the dispatcher, "ns.op": for whichever device, it would have to run."""
        operators: set[bytes] = set()
        for module in self.files:
            data = self.data(module)
            if b"::" in data:
                operators.update(b"%s.%s" % words for words in _OPERATOR.findall(data))
        return frozenset(word.decode() for word in operators)

    @cached_property
    def version(self) -> str:
        """From the package, else from what its installation or its project says; "" where nothing does."""
        places = [self._folder / name for name in ("__init__.py", "version.py", "_version.py", "__about__.py")]
        for file, pattern in ((file, _VERSION) for file in places):
            if match := pattern.search(_text(file)):
                return match[1]
        for file in sorted(self._folder.resolve().parent.glob(f"{self.name}-*.dist-info/METADATA")):
            if match := _METADATA.search(_text(file)):
                return match[1]
        return ""


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
    return (node for node in _blocks(body) if isinstance(node, ast.ClassDef))


def _assigned(body: list[ast.stmt]) -> Iterator[tuple[ast.Name, ast.expr]]:
    node: Node
    for node in _blocks(body):
        targets = (
            node.targets if node.__class__ is ast.Assign else [node.target] if node.__class__ is ast.AnnAssign else []
        )
        if len(targets) == 1 and targets[0].__class__ is ast.Name and node.value is not None:
            yield targets[0], node.value


def _static(node: ast.ClassDef) -> Iterator[str]:
    item: Node
    for item in node.body:
        marks = {getattr(d, "id", "") for d in getattr(item, "decorator_list", ())}
        if item.__class__ is not ast.ClassDef and marks & {"staticmethod", "classmethod"}:
            yield item.name
