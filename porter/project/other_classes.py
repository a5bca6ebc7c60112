"""Says where a name cannot mean a method of a certain class: in `self.save()` of a class that has no object in common with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from porter.files.kinds import PYTHON, kind_of
from porter.python.graphs import ClassTree, reached
from porter.regex import lazy

# gives the files that contain a word, and their texts, those near a file first; None if that is not known
Texts = Callable[[bytes, str], "Iterable[tuple[str, bytes]] | None"]

_SELF = b"self."
_CLASS = lazy(rb"\n[ \t]*class[ \t]+(\w+)[ \t]*(?=[\[(:])")
_MARK = lazy(rb"#[^\n]*|\"[^\"\n]*\"|'[^'\n]*'|[\[({]|[\])}]|:")
_WORD = lazy(rb"[A-Za-z_]\w*")
# the last statement of the first column before a place: it has to be a class, or nobody knows whose `self` it is
_MARGIN = lazy(rb"(?:class[ \t]+(\w+)|[^\s#)\]}])")


# what stands before a name of a library: `torch.cuda.nvtx.range_push`, `hasattr(torch.cuda.nvtx, "range_push")`
_OF_LIBRARY = lazy(rb"(?<![\w.])(?:torch|numpy|np|os|math)(?:\.\w+)*(?:\.|,[ \t]*[\"'])\Z")
_LONGEST = 80  # bytes of that

# words among bases that call no method of a class by its name, but those that never_run.py knows
_CALL_NOTHING = frozenset(
    b"object Module Dataset IterableDataset ABC ABCMeta metaclass Generic Protocol T nn torch utils data abc typing".split()
)


class OtherClasses:
    """The classes of a project, by their names alone. Every word among its bases counts as a base of a class."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._strangers: dict[tuple[bytes, bytes], bool] = {}
        self._called: dict[str, bool] = {}  # classes that a library may call

    @cached_property
    def _bases(self) -> dict[bytes, set[bytes]]:
        found: dict[bytes, set[bytes]] = {}
        texts = self._texts(b"class", "")
        for path, text in texts if texts is not None else ():
            text = b"\n" + text
            for match in _CLASS.finditer(text) if kind_of(path) == PYTHON else ():
                found.setdefault(match[1], set()).update(
                    _WORD.findall(text, match.end(), _end_of_head(text, match.end()))
                )
        return found

    @cached_property
    def _tree(self) -> ClassTree[bytes]:
        return ClassTree(self._bases)

    def may_be_called_by_library(self, owner: str) -> bool:
        """Whether a class may be derived from a class of a library, by however many steps. That calls methods by their names, as
        Lightning does `training_step`."""
        if owner not in self._called:
            above = reached([owner.encode()], lambda name: self._bases.get(name, ()))
            self._called[owner] = any(name not in self._bases and name not in _CALL_NOTHING for name in above)
        return self._called[owner]

    def have(self, owner: str, text: bytes, start: int) -> bool:
        """Whether a name is one of a library; or one of `self`, in a class that no object belongs to which belongs to the class
        `owner`, too."""
        if _OF_LIBRARY.search(text, max(0, start - _LONGEST), start):
            return True
        if not text.endswith(_SELF, 0, start):
            return False
        classes = _classes_around(text, start)
        return bool(classes) and all(self._is_stranger(name, owner.encode()) for name in classes)

    def _is_stranger(self, name: bytes, owner: bytes) -> bool:
        """Whether no object belongs to both classes."""
        pair = (name, owner)
        if pair not in self._strangers:
            known = all(one in self._bases for one in pair)
            self._strangers[pair] = known and self._tree.heirs(name).isdisjoint(self._tree.heirs(owner))
        return self._strangers[pair]


def _end_of_head(text: bytes, start: int) -> int:
    """Where the colon stands that ends the head of a class: a comment, a slice or a lambda may have others."""
    depth = 0
    for match in _MARK.finditer(text, start):
        if match[0] in b"[({":
            depth += 1
        elif match[0] in b"])}":
            depth -= 1
        elif match[0] == b":" and depth < 1:
            return match.start()
    return len(text)


def _classes_around(text: bytes, start: int) -> list[bytes]:
    """The top-level class around a place, and those in it that begin above: one of them has the place. None outside of classes."""
    end = start
    while end > 0:
        end = text.rfind(b"\n", 0, end)
        if match := _MARGIN.match(text, end + 1):
            return _CLASS.findall(b"\n" + text[end + 1 : start]) if match[1] else []
    return []
