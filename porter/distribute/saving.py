"""What one rank does for all: saving, writing, downloading."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.distribute.own_files import HELPER
from porter.distribute.statements import called, inside, replaced
from porter.distribute.trace import Place, World
from porter.finding import Change
from porter.instrument.naming import statement_of
from porter.python.evidence import call_name, constant
from porter.python.index import Node

_SAVES = frozenset({"torch.save", "numpy.save", "numpy.savez", "numpy.savetxt", "torchvision.utils.save_image"})
_METHODS = frozenset("savefig save_pretrained save_model to_csv imsave imwrite save_checkpoint".split())
_MOVES = frozenset({"os.remove", "os.rename", "os.replace", "shutil.rmtree", "shutil.copy", "shutil.copyfile"})
_FOLDERS = frozenset({"os.mkdir", "os.makedirs"})
_WRITERS = ("SummaryWriter",)


class Once:
    """Each statement goes into a block of its own once, whatever calls in it ask for that."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.done: set[int] = set()

    def edits(self, place: Place) -> Iterator[Change]:
        """Of a call. Raises Crowded."""
        call, source = place.node, place.file.source
        full, name = place.file.names.resolve(call.func, place.link) or "", call_name(call.func)
        if full == "" and isinstance(call.func, ast.Name) and name == "open" or name in ("Path.open",):
            if _writes(call) and call.args:
                yield from called(source, call.args[0], f"{HELPER}.path")
        elif full in _FOLDERS and not _is_fine(call):
            yield replaced(source, call.func, f"{HELPER}.makedirs")
        elif name in _WRITERS:
            start, end = source.span(call.func)
            yield replaced(source, call.func, f"{HELPER}.writer({source.utf8[start:end].decode()})")
        elif full in _SAVES or full in _MOVES or name in _METHODS and not full.startswith("torch."):
            yield from self._block(place, f"if {HELPER}.is_first():")
        elif any(k.arg == "download" and constant(k.value) is not False for k in call.keywords):
            yield from self._block(place, f"with {HELPER}.first_alone():")

    def _block(self, place: Place, header: str) -> Iterator[Change]:
        statement: Node = statement_of(place.link)[0]
        if id(statement) in self.done or not isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign)):
            return
        if header.startswith("if") and not isinstance(statement, ast.Expr):
            return
        self.done.add(id(statement))
        yield from inside(place.file.source, statement, header)


def _writes(call: ast.Call) -> bool:
    mode = call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "mode"), None)
    text = constant(mode) if mode is not None else ""
    return isinstance(text, str) and bool(set(text) & set("wax"))


def _is_fine(call: ast.Call) -> bool:
    return any(k.arg == "exist_ok" for k in call.keywords)
