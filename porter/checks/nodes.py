"""`ast.walk` as rules need it: they ask a node by its class, by which mypy does not narrow."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from porter.python.index import Node

walk: Callable[[ast.AST], Iterator[Node]] = ast.walk
