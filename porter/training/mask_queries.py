"""Finds what code asks of a selection, a tensor whose size only the data knows.

To count what a mask selects, or to take its mean, no selection is needed: `len(x[mask])`, `x[mask].mean()`. A number that is
read back and becomes a size (`x.max()`) makes the host wait, as a selection does.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from porter.python.evidence import call_name, constant
from porter.python.index import Link, Node, ancestors, walk
from porter.python.waits import SEARCHES
from porter.training import host_masks, masks, value_uses

if TYPE_CHECKING:
    from porter.training.scene import Scene

SIZES = frozenset({"max", "min", "sum"})  # methods whose value may become a size
ASKED = SIZES | {"mean", "size", "numel", "len"}


def asks(scene: Scene, link: Link) -> str | None:
    """What a call asks. 'size': its value becomes the size of a tensor. 'counted', 'averaged': only the number of elements, or
    the mean, of a selection is needed. None: nothing like that. `link`: of the function that is called."""
    call, name = link[1][0], call_name(link[0])
    if name in SIZES:
        if call.args or call.keywords or not scene.matters(link) or not value_uses.is_size(scene.names, link):
            return None
        asked = getattr(link[0], "value", None)
        on_host = value_uses.is_on_host(scene, asked, link) or host_masks.is_searched_there(asked, scene, link)
        return None if on_host else "size"
    selection: Node = call.args[0] if name == "len" and call.args else getattr(link[0], "value", None)
    if selection.__class__ is ast.Subscript:
        node = selection.slice
        if node.__class__ in (ast.Constant, ast.Slice) or not scene.matters(link):
            return None
        if not masks.is_mask(node, scene, link) or scene.file.receivers.is_array((selection.value, link)):
            return None
    elif name == "mean" or selection.__class__ is not ast.Call or not _searches(selection, scene, link):
        return None
    return {"len": _counted_by_len, "size": _counted, "numel": _counted, "mean": _averaged}[name](
        selection, call, scene, link
    )


def _searches(call: Node, scene: Scene, link: Link) -> bool:
    """Whether a call gives one row for each place, so that its rows can be counted: `x.nonzero()`, `torch.nonzero(x)`."""
    if call_name(call.func) not in SEARCHES or call.keywords or not scene.matters(link):
        return False
    return len(call.args) == (scene.names.resolve(call.func, link) in ("torch.nonzero", "torch.argwhere"))


def _counted(selection: Node, call: Node, scene: Scene, link: Link) -> str | None:
    if call_name(link[0]) == "size":
        return "counted" if len(call.args) == 1 and constant(call.args[0]) == 0 and not call.keywords else None
    certainty = selection.__class__ is ast.Subscript and masks.same_shape(selection.slice, selection.value, scene, link)
    return "counted" if certainty == "certain" and not call.args else None


def _counted_by_len(selection: Node, call: Node, scene: Scene, link: Link) -> str | None:
    """The same for `len`, but only of a tensor: an array of numpy has another nonzero()."""
    tensor = selection.value if selection.__class__ is ast.Subscript else (selection.args or [selection.func.value])[0]
    return "counted" if masks.is_tensor(tensor, link, scene) else None


def _averaged(selection: Node, call: Node, scene: Scene, link: Link) -> str | None:
    twice = not any(n.__class__ in (ast.Call, ast.Await, ast.NamedExpr) for n in walk(selection.slice))
    plain = twice and not call.args and not call.keywords
    return "averaged" if plain and masks.same_shape(selection.slice, selection.value, scene, link) else None


def is_settled(scene: Scene, link: Link) -> bool:
    """Whether a call that selects needs no finding: it runs on the host, only counts what is the same for every batch, or there
    is a finding about what is asked of it."""
    if _only_counts(link):
        return True
    func, args = link[0].func, link[0].args
    method = func.__class__ is ast.Attribute and scene.names.resolve(func, link) is None
    source = func.value if method else args[0] if args else None
    if source is None:
        return is_asked(scene, link)
    on_host = value_uses.is_on_host(scene, source, link) or host_masks.is_read_there(source, scene, link)
    return on_host or host_masks.is_searched_there(source, scene, link) or is_asked(scene, link)


def is_asked(scene: Scene, link: Link) -> bool:
    """Whether there is a finding about what is asked of a selection: `x[mask].mean()`, `len(x.nonzero())`."""
    up = link[1]
    call = up[1] and up[1][0]
    if up[0].__class__ is ast.Attribute and call.__class__ is ast.Call and call.func is up[0]:
        return up[0].attr in ASKED - SIZES and asks(scene, up) is not None
    if up[0].__class__ is ast.Call and call_name(up[0].func) == "len" and link[0] in up[0].args:
        return asks(scene, (up[0].func, up)) is not None
    return False


def depends_on_data(scene: Scene, link: Link) -> bool:
    """Whether a place, for every batch, makes or asks for something whose size only the data knows. For `Rule.only`."""
    if link[0].__class__ is ast.Subscript:
        return masks.picks(scene, link) and not is_asked(scene, link)
    if call_name(link[0]) in ASKED:
        return asks(scene, link) is not None
    return bool(scene.matters(link))


def _only_counts(link: Link) -> bool:
    """Whether a number that a caller did not give is counted: `if ways is None: ways = len(torch.unique(labels))`. It is the
    same for every batch."""
    around = [above for above in ancestors(link) if isinstance(above[0], ast.stmt)][:2]
    statement, branch = (above[0] for above in around) if len(around) == 2 else (None, None)
    if not isinstance(statement, ast.Assign) or not isinstance(branch, ast.If):
        return False
    target, value = statement.targets[0], statement.value
    counts = isinstance(value, ast.Call) and call_name(value.func) in ("len", "numel")
    return counts and isinstance(target, ast.Name) and ast.unparse(branch.test) == f"{target.id} is None"
