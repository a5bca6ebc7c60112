"""Says whether a program whose imports lead to CUDA may come to it: by the names that it says, and by those that what they mean
says in turn. A check of data that imports a module for its arguments alone does not.

A name may mean any function or class of that name in the files that the imports lead to. What runs as a file is imported is
always come to, as is what stands below a decorator, which may put it into a registry. Where names are looked up as texts, all may
be meant.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import NamedTuple

from porter.project.meant_names import is_handed_on
from porter.project.said_devices import speaks_of_devices
from porter.python.evidence import target_name
from porter.python.trees import parse
from porter.regex import lazy
from porter.rulebook.table import any_of

# neither the device of another tensor nor a type says CUDA
_ON_DEVICE = lazy(
    rb"\.cuda\b|[\"']cuda|[\"']nccl|\bis_cuda\b|[Gg]radScaler|\bautocast\b|\btorch\.device\(|\bAccelerator\(|\bTrainer\("
    rb"|\bdevice[ \t]*=(?![ \t]*(?:[\w.]+\.device|None)\b)|\.to\((?![ \t]*(?:[\w.]+\.device|torch\.\w+|[\w.]*dtype)\b)"
)
_LOOKED_UP = lazy(
    rb"\bgetattr\([^,()]*,[ \t]*(?![ \t\"'])|\b(?:globals|locals|vars|eval|exec|__import__|import_module|instantiate|get_class|get_object)\("
    rb"|__dict__|(?i:registr|entry_?point)|\btorch\.load\((?![^\n]*[\"']cpu)|load_from_checkpoint|from_pretrained"
)
_WORD, _RENAMED = lazy(rb"[A-Za-z_]\w*"), lazy(rb"\b(\w+)[ \t]+as[ \t]+(\w+)")
_COMMENT = lazy(rb"(?m)(?:^[ \t]*#.*|[ \t]#[^\n\"']*)$")
_CHOOSES = lazy(rb"(?m)^[ \t]*(?:import|from)[ \t]+(?:%s)\b" % any_of("chooses-cuda").encode())
_BY_ITSELF = b" .cuda"  # behind what a file defines that imports such a library
_IMPORTS, _DEFINITIONS = (ast.Import, ast.ImportFrom), (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def chooses_cuda(text: bytes) -> bool:
    """Whether a file imports what asks torch for CUDA by itself: agents of stable-baselines3."""
    return _CHOOSES.search(text) is not None


class _Parts(NamedTuple):
    """A file: what runs as it is imported, and its functions, classes and constants by their names."""

    loose: bytes
    defined: tuple[tuple[bytes, bytes], ...]


class DeviceUsers:
    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = texts
        self._parts: dict[str, _Parts | None] = {}

    def may_use(self, program: str, files: Collection[str]) -> bool:
        """`files`: all that the imports of the program lead to, itself as well."""
        own = self._of(program)
        if own is None or speaks_of_devices(_joined(own)):  # what is come to in other files says it more plainly
            return True
        defined: dict[bytes, list[bytes]] = {}
        renamed: dict[bytes, set[bytes]] = {}
        todo = [_joined(own)]
        for path in sorted({*files} - {program}):
            if (parts := self._of(path)) is None:
                return True
            todo.append(parts.loose)
            chosen = _BY_ITSELF if chooses_cuda(self._texts[path]) else b""
            for name, text in parts.defined:
                defined.setdefault(name, []).append(text + chosen)
            for old, new in _RENAMED.findall(self._texts[path]):
                renamed.setdefault(new, set()).add(old)
        for old, new in _RENAMED.findall(self._texts[program]):
            renamed.setdefault(new, set()).add(old)
        known: set[bytes] = set()
        while todo:
            text = todo.pop()
            if _ON_DEVICE.search(text) or _LOOKED_UP.search(text):
                return True
            words = {*_WORD.findall(text)} - known
            while words:
                known |= words
                todo += [part for word in words for part in defined.pop(word, ())]
                words = {old for word in words for old in renamed.get(word, ())} - known
        return False

    def _of(self, path: str) -> _Parts | None:
        if path not in self._parts:
            tree = parse(self._texts[path])
            self._parts[path] = _parts(tree, self._texts[path]) if tree is not None else None
        return self._parts[path]


def _joined(parts: _Parts) -> bytes:
    return b"\n".join((parts.loose, *(text for _, text in parts.defined)))


def _parts(tree: ast.Module, text: bytes) -> _Parts:
    lines = text.splitlines(keepends=True)
    loose, defined = [], []
    for node in tree.body:
        if isinstance(node, _IMPORTS) or isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        decorators = node.decorator_list if isinstance(node, _DEFINITIONS) else []
        first = min([node.lineno, *(one.lineno for one in decorators)])  # `@torch.autocast("cuda")` is come to as well
        part = _code(b"".join(lines[first - 1 : node.end_lineno]))
        if isinstance(node, _DEFINITIONS) and not is_handed_on(node):
            defined.append((node.name.encode(), part))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            defined += [(target_name(target).encode(), part) for target in node.targets]  # `_C.BACKEND = "nccl"`, too
        else:
            loose.append(part)
    return _Parts(b"\n".join(loose), tuple(defined))


def _code(text: bytes) -> bytes:
    """Without comments: none of them moves a tensor."""
    return _COMMENT.sub(b"", text) if b"#" in text else text
