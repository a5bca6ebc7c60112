"""Finds registries of a project that nobody asks for what they hold: `BLOCKS = Registry("blocks")`, where all other files only register
something by `@BLOCKS.register()`.

The class of such a registry belongs to the project, and its `__init__` tells nobody of the object that it makes: one of a library
may be asked by its parent, or by its name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator

from porter.files.kinds import PYTHON, kind_of
from porter.project.meant_names import HANDED_ON, is_comment, whole_word
from porter.project.passed_values import Texts
from porter.python.evidence import call_name
from porter.python.trees import parse
from porter.python.walks import walk

_BASES = frozenset({"object", "dict", "Generic"})  # bases that keep no list of their objects


class UnaskedRegistries:
    """`texts`: the files that contain a word. `may_be_any`: whether parts of a file may be named at run time. `users`: the other
    files that use a name which a file defines."""

    def __init__(
        self, texts: Texts, may_be_any: Callable[[str], bool], users: Callable[[str, str], Iterable[str]]
    ) -> None:
        self._texts, self._may_be_any, self._users = texts, may_be_any, users
        self._known: dict[str, str] = {}  # the files that make such registries

    def keeps(self, mark: ast.expr, path: str) -> bool:
        """Whether a decorator in a file hands what it marks to such a registry, and to nobody else."""
        called = getattr(mark, "func", mark)
        if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
            return False
        name = called.value.id
        if "register" not in called.attr:
            return False
        if name not in self._known:
            self._known[name] = self._made_in(name)
        return self._known[name] != "" and self._means(path, name, self._known[name])

    def _means(self, path: str, name: str, home: str) -> bool:
        """Whether a file means by a name what another one defines, or the same one."""
        return path == home or path in self._users(name, home)

    def _made_in(self, name: str) -> str:
        """The file that makes a registry which nobody asks; "" if somebody may."""
        texts, made = self._texts(name.encode(), ""), list[tuple[str, str]]()
        for path, text in texts if texts is not None else ():
            for owner in _said(name.encode(), text):
                if owner is None or kind_of(path) != PYTHON or owner and (made or self._may_be_any(path)):
                    return ""
                made += [(owner, path)] if owner else []
        return made[0][1] if made and self._is_silent(*made[0]) else ""

    def _is_silent(self, owner: str, path: str) -> bool:
        """Whether a class that a file names belongs to the project, and keeps its objects to itself."""
        defined: list[tuple[str, ast.stmt]] = []
        for home, text in self._texts(owner.encode(), path) or ():
            if kind_of(home) == PYTHON and re.search(rb"(?m)^class[ \t]+%s\b" % owner.encode(), text):
                tree = parse(text)
                defined += [(home, n) for n in tree.body if getattr(n, "name", "") == owner] if tree else []
        return len(defined) == 1 and all(self._means(path, owner, h) and _is_silent(n) for h, n in defined)


def _said(word: bytes, text: bytes) -> Iterator[str | None]:
    """For each place of a name in a file, the class that the name is made of there; "" where it is imported, or registers
    something; None for any other use."""
    imports = [match.span() for match in HANDED_ON.finditer(text)]
    makes = re.compile(rb"%s[ \t]*=[ \t]*(\w+)\([^()\n]*\)[ \t]*(?:#.*)?$" % word, re.MULTILINE)
    registers = re.compile(rb"[ \t]*@%s\.\w*register\w*\b" % word)
    for match in whole_word(word).finditer(text):
        start = text.rfind(b"\n", 0, match.start()) + 1
        if is_comment(text, match.start()) or any(a <= match.start() < b for a, b in imports):
            continue
        made = makes.match(text, start)
        if made:
            # its own name may stand among what it is made with
            if match.start() == start:
                yield made[1].decode()
        else:
            yield "" if registers.match(text, start) else None


def _is_silent(owner: ast.AST) -> bool:
    if (
        not isinstance(owner, ast.ClassDef)
        or owner.keywords
        or owner.decorator_list
        or not all(call_name(base) in _BASES for base in owner.bases)
    ):
        return False
    makers = [n for n in owner.body if getattr(n, "name", "") in ("__init__", "__new__", "__init_subclass__")]
    if any(getattr(node, "name", "") != "__init__" for node in makers):
        return False
    nodes = [node for maker in makers for node in walk(maker)]
    asked = {node.value for node in nodes if isinstance(node, ast.Attribute)}
    return not any(isinstance(node, ast.Name) and node.id == "self" and node not in asked for node in nodes)
