"""Says where a name cannot mean a method of a certain class: in `self.save()` of a class that has no object in common with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from porter.files.kinds import PYTHON, kind_of
from porter.python.graphs import ClassTree
from porter.regex import lazy

# gives the files that contain a word, and their texts, those near a file first; None if that is not known
Texts = Callable[[bytes, str], "Iterable[tuple[str, bytes]] | None"]

_SELF = b"self."
_HEAD = lazy(rb"\n[ \t]*class[ \t]+(\w+)[ \t]*(?:\(([^:]*)\))?[ \t]*:")
_WORD = lazy(rb"[A-Za-z_]\w*")
# the last statement of the first column before a place: it has to be a class, or nobody knows whose `self` it is
_MARGIN = lazy(rb"(?:class[ \t]+(\w+)|[^\s#)\]}])")


class OtherClasses:
    """The classes of a project, by their names alone. Every word among its bases counts as a base of a class."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._strangers: dict[tuple[bytes, bytes], bool] = {}

    @cached_property
    def _bases(self) -> dict[bytes, set[bytes]]:
        found: dict[bytes, set[bytes]] = {}
        texts = self._texts(b"class", "")
        for path, text in texts if texts is not None else ():
            for name, bases in _HEAD.findall(b"\n" + text) if kind_of(path) == PYTHON else ():
                found.setdefault(name, set()).update(_WORD.findall(bases))
        return found

    @cached_property
    def _tree(self) -> ClassTree[bytes]:
        return ClassTree(self._bases)

    def have(self, owner: str, text: bytes, start: int) -> bool:
        """Whether a name is one of `self`, in a class that no object belongs to which belongs to the class `owner`, too."""
        if not text.endswith(_SELF, 0, start):
            return False
        name = _class_around(text, start)
        pair = (name, owner.encode())
        if pair not in self._strangers:
            known = all(one in self._bases for one in pair)
            self._strangers[pair] = known and self._tree.heirs(pair[0]).isdisjoint(self._tree.heirs(pair[1]))
        return self._strangers[pair]


def _class_around(text: bytes, start: int) -> bytes:
    """The top-level class around a place; nothing where it is in none."""
    end = start
    while end > 0:
        end = text.rfind(b"\n", 0, end)
        if match := _MARGIN.match(text, end + 1):
            return match[1] or b""
    return b""
