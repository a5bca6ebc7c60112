"""Finds settings that ask for a package without which the project also runs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from porter.files.paths import is_test
from porter.python.evidence import constant
from porter.python.imports import handler_of
from porter.python.index import Node
from porter.python.walks import statements, walk
from porter.regex import lazy

# the keys of rules/settings.toml that ask for the package flash_attn; torch's own attention may replace it
_KEYS = (b"flash_attention", b"use_flash_attention", b"use_flash_attn", b"enable_flash_attention")
_PLAIN = b"scaled_dot_product_attention"  # torch's own attention


def attention_falls_back(texts: Mapping[str, bytes], parse: Callable[[bytes], ast.Module | None]) -> tuple[str, ...]:
    """The keys that only one file reads, in an `if` that tries to import flash_attn. Without it, torch's own attention runs."""
    keys = []
    for key in _KEYS:
        reads = lazy(rb"\.%s\b(?!\s*(?::[^=\n]+)?=(?!=))|[\"']%s[\"']\s*(?:\](?!\s*=(?!=))|[,)])" % (key, key))
        readers = [path for path, data in texts.items() if key in data and not is_test(path) and reads.search(data)]
        if len(readers) == 1 and _PLAIN in texts[readers[0]]:
            tree = parse(texts[readers[0]])
            if tree is not None and _is_tried(tree, key.decode()):
                keys.append(key.decode())
    return tuple(keys)


def _is_tried(tree: ast.Module, key: str) -> bool:
    """Whether every import of flash_attn stands in a `try`, and one of them in an `if` that asks for the key."""
    tried: set[Node] = set()
    asked = False
    for node in statements(tree):
        if isinstance(node, ast.Try) and _goes_on(node):
            tried.update(inner for statement in node.body for inner in walk(statement))
    for node in statements(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and _is_flash(node) and node not in tried:
            return False
        if isinstance(node, ast.If) and any(_says(inner, key) for inner in walk(node.test)):
            inside = (inner for statement in node.body for inner in walk(statement))
            asked = asked or any(isinstance(i, (ast.Import, ast.ImportFrom)) and _is_flash(i) for i in inside)
    return asked


def _is_flash(node: ast.Import | ast.ImportFrom) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return any(name.partition(".")[0] == "flash_attn" for name in names)


def _says(node: Node, key: str) -> bool:
    return getattr(node, "attr", "") == key or constant(node) == key


def _goes_on(node: ast.Try) -> bool:
    """Whether a `try` catches a missing module and does not raise."""
    handler = handler_of(node)
    return handler is not None and not any(isinstance(inner, ast.Raise) for inner in walk(handler))
