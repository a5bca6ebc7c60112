"""Finds methods that nobody calls. Three kinds: the steps that Lightning calls, in a project that trains nothing; the `forward` of
a module that objects only hold, such as a copy of the weights that moves with each step; and all methods of a class that no
settings name, in a project whose settings name its classes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from functools import cache, cached_property

from porter.files.kinds import NOTEBOOK, PYTHON, kind_of
from porter.files.paths import folder_of, is_test
from porter.project.meant_names import is_comment, whole_word
from porter.python.blocks import once
from porter.python.evidence import call_name
from porter.python.index import Link, collect
from porter.python.trees import parse
from porter.regex import lazy, rare
from porter.spans import span_of

# families about what costs time or precision where it runs: who asks this module drops their findings where nobody calls
ADVICE = ("PRT3", "PRT6", "PRT7")
_STEPS = frozenset(
    """training_step training_step_end training_epoch_end on_train_batch_start on_train_batch_end on_train_epoch_start
    on_train_epoch_end on_train_start on_train_end on_before_zero_grad on_after_backward on_before_optimizer_step
    optimizer_step configure_optimizers""".split()
)
# what trains: a step of a project's own, or a trainer from a library
_TRAINS = rare(
    rb"\.backward\(|\bbackward\(loss|Trainer\b|trainer\.(?:fit|train|run)\(|\.fit\(|LightningCLI|\bFabric\b"
    rb"|\.(?:training_step|configure_optimizers)\("
)
_LISTS = lazy(
    rb"\.(?:named_)?(?:children|modules)\(\)|\._modules\b|__getattr__"
)  # parts that are called without their names
# what may stand before the name of a class that is only held: imports, its definition, `self.ema = `, `super(`
_MAY_HOLD = lazy(rb"[ \t]*(?:(?:from|import|class)\b.*|self\.\w+[ \t]*(?::[^=\n]*)?=.*|.*\bsuper\(|(?:\w+,[ \t]*)*)$")
_CLASS_PATHS = {
    b"target": lazy(rb"target_?[\"']?[ \t]*:[ \t]*[\"']?([A-Za-z_]\w*)\."),
    b"class_path": lazy(rb"class_path[\"']?[ \t]*:[ \t]*[\"']?([A-Za-z_]\w*)\."),
}
_CALLS = frozenset({"forward", "__call__"})
_NODES = frozenset[type]({ast.Attribute, ast.ClassDef, ast.Import, ast.ImportFrom})
_ASKS = (ast.If, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.IfExp)


class Uncalled:
    """`saying(word, home)`: the files of the project that hold a word, with their texts, those near `home` first; None if there are
    too many to look into. `around(top, pattern)`: whether a file matches that has to do with a folder of the root."""

    def __init__(
        self,
        saying: Callable[[bytes, str], Iterable[tuple[str, bytes]] | None],
        around: Callable[[str, re.Pattern[bytes]], bool],
    ) -> None:
        self._saying = saying
        self._trained = cache(lambda top: around(top, _TRAINS))
        self._forwards: dict[tuple[str, str], bool] = {}

    def _trains(self, path: str) -> bool:
        return self._trained(path[: path.find("/") + 1])

    def at(self, tree: ast.Module | None, path: str, line: int, is_open: bool) -> str:
        """The method around a line, if nobody calls it: `LitEma.forward`. The class alone, if no settings name it: `Decoder`. Else
        "". `is_open`: programs outside of the project may import the class; they are no reason to think that its steps run."""
        spans = _methods(tree) if tree is not None and not is_test(path) else {}
        span = span_of(line, sorted(spans))
        owner, method = spans[span] if span else ("", "")
        if method in _STEPS and not self._trains(path):
            return f"{owner}.{method}"
        if owner and not is_open and self._is_in_no_settings(owner, path):
            return owner
        if method != "forward" or is_open and self._trains(path):
            return ""
        if (path, owner) not in self._forwards:
            self._forwards[path, owner] = self._is_never_called(owner, path)
        return f"{owner}.forward" if self._forwards[path, owner] else ""

    @cached_property
    def _in_settings(self) -> dict[str, list[str]]:
        """The packages whose classes settings name by their paths, each with these settings: `target: ldm.models.vae.Decoder`."""
        found: dict[str, list[str]] = {}
        for word, pattern in _CLASS_PATHS.items():
            for path, text in self._saying(word, "") or ():
                for name in {*pattern.findall(text)} if kind_of(path) not in (PYTHON, NOTEBOOK) else ():
                    found.setdefault(name.decode(), []).append(path)
        return found

    def _has_settings(self, folder: str) -> bool:
        """Whether settings name classes of a package that a folder belongs to, and lie beside that package or below."""
        if not self._in_settings:
            return False
        names = folder.split("/")[:-1]
        tops = ("".join(f"{name}/" for name in names[:depth]) for depth in range(len(names)))
        return any(
            path.startswith(top)
            for name, top in zip(names, tops, strict=True)
            for path in self._in_settings.get(name, ())
        )

    def _is_in_no_settings(self, owner: str, home: str) -> bool:
        """Whether settings name classes beside this one by their paths, and no file has its name."""
        if not self._has_settings(folder_of(home)):
            return False
        files = self._saying(owner.encode(), home)
        return files is not None and all(_only_defines(owner, text) for _, text in files)

    def _is_never_called(self, owner: str, home: str) -> bool:
        held: set[str] = set()
        for path, text in self._saying(owner.encode(), home) or [("", b"")]:
            names = _held(owner, text) if kind_of(path) == PYTHON else None
            if names is None:
                return False
            held |= names
        return bool(held) and all(self._is_only_held(name, home) for name in sorted(held))

    def _is_only_held(self, name: str, home: str) -> bool:
        """Whether nobody calls an attribute of this name, or hands it on."""
        files = self._saying(name.encode(), home)
        return files is not None and all(
            self._only_keeps(name, path, text) for path, text in files if kind_of(path) == PYTHON
        )

    def _only_keeps(self, name: str, path: str, text: bytes) -> bool:
        """Whether no code of a file that runs calls the attribute or hands it on."""
        if re.search(rb"[\"'](?:[\w.]*\.)?%s[\"'.]" % name.encode(), text):
            return False
        tree = parse(text)
        if tree is None:
            return False
        steps = (
            []
            if self._trains(path)
            else sorted(span for span, (_, method) in _methods(tree).items() if method in _STEPS)
        )
        uses = (link for link in collect(tree, _NODES)[0][ast.Attribute] if link[0].attr == name)
        return all(_is_kept(link) or span_of(link[0].lineno, steps) is not None for link in uses)


def _only_defines(name: str, text: bytes) -> bool:
    """Whether all places of a name are its class, without a decorator, and `super(Name, self)`."""
    places = (match.start() for match in whole_word(name.encode()).finditer(text))
    lines = [text[text.rfind(b"\n", 0, at) + 1 : at].strip() for at in places if not is_comment(text, at)]
    decorated = re.search(rb"(?m)^@.*\n(?:^@.*\n)*^class[ \t]+%s\b" % name.encode(), text)
    return not decorated and all(line == b"class" or line.endswith(b"super(") for line in lines)


def _is_kept(use: Link) -> bool:
    """`self.ema = ...`, `self.ema.store(...)`, `if self.ema:`; not what calls it, or hands it on."""
    node, above = use[0], use[1] and use[1][0]
    if not isinstance(node.ctx, ast.Load):
        return True
    if isinstance(above, ast.Attribute):
        return above.attr not in _CALLS
    return isinstance(above, _ASKS) and not (isinstance(above, ast.IfExp) and above.test is not node)


def _held(owner: str, text: bytes) -> set[str] | None:
    """The attributes that are set to instances of a class, which a file makes no other use of; None where it makes some."""
    places = [match.start() for match in whole_word(owner.encode()).finditer(text)]
    places = [place for place in places if not is_comment(text, place)]
    if not places:
        return set()
    if not all(_MAY_HOLD.match(text, text.rfind(b"\n", 0, place) + 1, place) for place in places):
        return None  # without a look at the tree
    tree = parse(text)
    if tree is None or _LISTS.search(text):
        return None
    found, names = collect(tree, _NODES)
    imports = (alias for kind in (ast.Import, ast.ImportFrom) for link in found[kind] for alias in link[0].names)
    known = sum(alias.name.rpartition(".")[2] == owner and alias.asname is None for alias in imports)
    known += sum(link[0].name == owner for link in found[ast.ClassDef])
    held = set[str]()
    for use in (link for link in (*names, *found[ast.Attribute]) if call_name(link[0]) == owner):
        attribute = "" if _is_super(use) else _holder(use)
        if attribute is None:
            return None
        known += 1
        held |= {attribute} - {""}
    return held if known == len(places) else None


def _is_super(use: Link) -> bool:
    """`super(LitEma, self)`"""
    above = use[1] and use[1][0]
    return isinstance(above, ast.Call) and getattr(above.func, "id", "") == "super"


def _holder(use: Link) -> str | None:
    """`ema` of `self.ema = LitEma(model) if decay else None`."""
    call = use[1]
    if call is None or not isinstance(call[0], ast.Call) or call[0].func is not use[0]:
        return None
    above, value = call[1], call[0]
    if above is not None and isinstance(above[0], ast.IfExp) and above[0].test is not value:
        above, value = above[1], above[0]
    if above is None or not isinstance(above[0], ast.Assign) or above[0].value is not value:
        return None
    targets = above[0].targets
    return targets[0].attr if len(targets) == 1 and isinstance(targets[0], ast.Attribute) else None


@once
def _methods(tree: ast.Module) -> dict[tuple[int, int], tuple[str, str]]:
    owners = (node for node in tree.body if isinstance(node, ast.ClassDef))
    return {
        (method.lineno, method.end_lineno or method.lineno): (owner.name, method.name)
        for owner in owners
        for method in owner.body
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
