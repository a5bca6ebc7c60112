"""Which line of the port stands where a line of the original stood."""

from __future__ import annotations

import ast
from difflib import SequenceMatcher
from pathlib import Path

from porter.python.trees import FAULTS, tree_of

Block = tuple[str, int, int, int, int]


class Places:
    """Of two trees; a place is `path:line`."""

    def __init__(self, original: Path, port: Path) -> None:
        self._original, self._port = original, port
        self._blocks: dict[str, list[Block]] = {}
        self._lines_of_port: dict[str, list[bytes]] = {}
        self._imports: dict[str, set[int]] = {}

    def in_port(self, where: str) -> str:
        """In rewritten lines the partners are counted out, and the last of the port is that of all that are too many. A line
        that was taken out has the line behind it, or the last of the file."""
        path, line = _parted(where)
        for kind, start, end, after, after_end in self._of(path):
            if start < line <= end:
                if kind == "equal":
                    return f"{path}:{after + line - start}"
                last = len(self._lines_of_port[path]) or 1
                return f"{path}:{min(after + line - start, max(after_end, after + 1), last)}"
        return where

    def correspond(self, original: str, port: str) -> bool:
        """Whether the two lines are one, or stand in what takes the place of the other."""
        if original == port == "":
            return True
        (path, line), (port_path, port_line) = _parted(original), _parted(port)
        return path == port_path and any(
            (start < line <= end and after < port_line <= after_end)
            and (kind != "equal" or line - start == port_line - after)
            for kind, start, end, after, after_end in self._of(path)
        )

    def is_changed(self, port: str) -> bool:
        """Whether the line of the port is another one than the original's with its names exchanged, or something was
        taken out right before or behind it."""
        path, line = _parted(port)
        return any(
            kind != "equal" and (after < line <= after_end or (after == after_end and line in (after, after + 1)))
            for kind, _, _, after, after_end in self._of(path)
        )

    def is_rewritten(self, port: str) -> bool:
        """Whether the line itself says something else than the original beyond its names. No line of an import counts."""
        path, line = _parted(port)
        blocks = self._of(path)
        if not any(kind != "equal" and after < line <= after_end for kind, _, _, after, after_end in blocks):
            return False
        if path not in self._imports:
            self._imports[path] = _lines_of_imports(b"\n".join(self._lines_of_port[path]))
        return line not in self._imports[path]

    def _of(self, path: str) -> list[Block]:
        if path not in self._blocks:
            one, other = (_lines(root / path) for root in (self._original, self._port))
            self._lines_of_port[path] = other
            self._blocks[path] = list(SequenceMatcher(None, one, other, autojunk=False).get_opcodes())
        return self._blocks[path]


def _parted(where: str) -> tuple[str, int]:
    path, _, line = where.rpartition(":")
    return path, int(line or 0)


def _lines(path: Path) -> list[bytes]:
    """With the names of the port: what is merely renamed stands where it stood."""
    try:
        text = path.read_bytes()
    except OSError:
        return []
    return text.replace(b"cuda", b"npu").replace(b"nccl", b"hccl").splitlines()


def _lines_of_imports(text: bytes) -> set[int]:
    try:
        tree = tree_of(text)
    except FAULTS:
        return set()
    imports = (node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)))
    return {line for node in imports for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
