"""Finds the top-level functions and classes of a file that nothing in the project uses, in whatever file their users are.

One is used if its name stands in a statement that runs on import; in a file that is no Python; or in a function or class that is
used. A decorated one is used, as a registry may have it, but for decorators that keep nothing and registries that nobody asks; so is
one of a package that others install, if it is not private.
A name on a line that never runs uses nothing: an `Encoder` that one branch makes goes with the branch.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from porter.files.kinds import PYTHON, kind_of
from porter.files.paths import is_test
from porter.project.dead_lines import DeadLines
from porter.project.meant_names import HANDED_ON, is_comment, is_handed_on, is_private, whole_word
from porter.project.unasked_registries import UnaskedRegistries
from porter.project.unused import Uses
from porter.python.walks import walk
from porter.regex import lazy

_WORD, _CALL = lazy(r"[A-Za-z_]\w*"), lazy(r"([A-Za-z_]\w*)\(")
# a line that begins a top-level definition
_HEAD = lazy(rb"(?:async[ \t]+)?(?:def|class)[ \t]+([A-Za-z_]\w*)")
INSIDE = lazy(rb"\s|$|#|[)\]}]")  # a line that begins no top-level statement
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SENTENCE = 4  # words of a text that is no list of names
_FEW = 3  # files that may use a name without being live; of more, one mostly is


class _Parts(NamedTuple):
    """What the top level of a file says."""

    inside: dict[str, dict[str, list[int]]]  # for each definition, which others it names, and in which lines
    used: set[str]  # the definitions that what runs on import uses


class UnusedParts:
    def __init__(self, uses: Uses, dead: DeadLines) -> None:
        self._uses, self._dead = uses, dead
        self._registries = UnaskedRegistries(uses.saying, uses.may_be_any, uses.users)
        self._parts: dict[str, _Parts | None] = {}
        self._known: dict[tuple[str, str], bool] = {}

    def among(self, names: Iterable[str], path: str) -> set[str]:
        """Those of these top-level functions and classes of a file that nothing uses."""
        is_open = self._uses.is_installed(path)  # then others may use all that is not private
        names = {name for name in names if not is_open or is_private(name)}
        # the file itself comes first: for a name that nothing uses, all others are searched
        parts = self._of(path) if names and not self._uses.may_be_any(path) else None
        asked = names & parts.inside.keys() - parts.used if parts is not None else set()
        if parts is None or not asked or not parts.used and not self._uses.is_taken(path):
            return set()
        return {name for name in sorted(asked) if not self._is_live(name, path, parts, is_open)}

    def _is_live(self, name: str, path: str, parts: _Parts, is_open: bool) -> bool:
        """Whether something uses a definition: what runs on import, another file, or a definition that is live."""
        seen, todo = {name}, [name]
        while todo:
            used = todo.pop()
            users = {user: words[used] for user, words in parts.inside.items() if user not in seen and used in words}
            # what is surely live comes first: it is dear to ask whether a line never runs
            for user in sorted(users, key=lambda user: (user not in parts.used, user)):
                if not all(self._dead.has(path, number) for number in users[user]):
                    if user in parts.used or is_open and not is_private(user):
                        return True
                    seen.add(user)
                    todo.append(user)
        return any(self._used_elsewhere(user, path) for user in sorted(seen))

    def _of(self, path: str) -> _Parts | None:
        if path not in self._parts:
            tree = self._uses.tree(path)
            self._parts[path] = (
                _parts(tree, self._uses.is_own, partial(self._registries.keeps, path=path)) if tree else None
            )
        return self._parts[path]

    def _used_elsewhere(self, name: str, home: str) -> bool:
        """Whether another file uses a name, in a part that is used itself."""
        key = (name, home)
        if key not in self._known:
            self._known[key] = True  # while we look: of two that use each other, both count as used
            self._known[key] = self._is_used(name, home)
        return self._known[key]

    def _is_used(self, name: str, home: str) -> bool:
        for count, path in enumerate(self._uses.users(name, home)):
            if count == _FEW or kind_of(path) != PYTHON or not self._is_idle_in(path, name, home):
                return True
        return False

    def _is_idle_in(self, path: str, name: str, home: str) -> bool:
        """Whether nothing runs the parts of a file that use a name."""
        if is_test(path) or self._uses.is_installed(path):
            return False
        text = self._uses.text(path)
        lines = text.split(b"\n")
        owners = {number: owner(lines, number) for number in _lines_with(name.encode(), text)}
        named = {one for one in owners.values() if one}
        idle = self.among(named, path) if named else named
        return bool(owners) and all(one in idle or self._dead.has(path, number) for number, one in owners.items())


def owner(lines: Sequence[bytes], number: int) -> str | None:
    """The top-level function or class in which a line stands."""
    margin = (line for line in reversed(lines[:number]) if not INSIDE.match(line))
    match = _HEAD.match(next(margin, b""))
    return match[1].decode() if match else None


def _lines_with(name: bytes, text: bytes) -> Iterator[int]:
    """The lines with a name, outside of comments and of imports."""
    imports = [match.span() for match in HANDED_ON.finditer(text)]
    for match in whole_word(name).finditer(text):
        if not is_comment(text, match.start()) and not any(a <= match.start() < b for a, b in imports):
            yield text.count(b"\n", 0, match.start()) + 1


def _parts(tree: ast.Module, is_own: Callable[[str], bool], keeps: Callable[[ast.expr], bool]) -> _Parts:
    own = {name: node for node in tree.body if (name := _defined(node))}
    foreign = {called for called, module in _modules(tree) if not is_own(module)}
    inside = {name: _lines_of(node, own.keys() - {name}, foreign) for name, node in own.items()}
    defining = {*own.values()}
    running = [node for node in tree.body if node not in defining or is_handed_on(node, keeps)]
    running = [node for node in running if not _is_list_of_names(node)]
    used = {name for node in running for name in _lines_of(node, own, foreign)}
    return _Parts(inside, used | {node.name for node in running if isinstance(node, _DEFINITIONS)})


def _defined(node: ast.stmt) -> str:
    """The name that a statement defines: a function, a class, or an alias such as `attend = Attend.apply`."""
    if isinstance(node, _DEFINITIONS):
        return node.name
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        if isinstance(node.value, ast.Attribute) and isinstance(node.value.value, ast.Name):
            return node.targets[0].id
    return ""


def _is_list_of_names(node: ast.stmt) -> bool:
    """Whether a statement is `__all__ = [...]`. It uses nothing; a file that imports the names does."""
    return isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets)


def _modules(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The modules that a file imports at its top, each by the name that it has there."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], alias.name


def _lines_of(node: ast.AST, names: Collection[str], foreign: Collection[str]) -> dict[str, list[int]]:
    """The lines in which some names stand, also as words of a string, as a registry may look them up; not `dist.gather` of a
    module from elsewhere, and of a sentence only what it calls."""
    lines: dict[str, list[int]] = {}
    listed: set[ast.AST] = set()
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            words = [inner.id]
        elif isinstance(inner, ast.Attribute):
            words = [] if getattr(inner.value, "id", "") in foreign else [inner.attr]
            if inner.attr == "split":
                listed.add(inner.value)
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            sentence = inner not in listed and len(inner.value.split()) >= _SENTENCE
            words = (_CALL if sentence else _WORD).findall(inner.value)
        else:
            continue
        for word in words:
            if word in names:
                lines.setdefault(word, []).append(inner.lineno)
    return lines
