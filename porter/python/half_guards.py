"""Finds what stays in a branch that a question for a GPU opens, or a comparison with one, where the style leaves it to a person:
half of a decision."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from porter.python import asked_of_ray, float8, held_answers, kernel_guards
from porter.python.blocks import once_for_file
from porter.python.capabilities import CAPABILITY, NO_FIELD, PROPERTIES, is_reached, lacks_field
from porter.python.cuda_versions import ORDERS
from porter.python.evidence import MOVES, call_name, constant
from porter.python.guarded_helpers import left_by_callers
from porter.python.held_questions import QUESTIONS
from porter.python.host_loads import PLACE, loaded_where_saved
from porter.python.index import FUNCTIONS, Link, Node, ancestors, walk
from porter.python.kernel_choices import beside
from porter.python.ladders import over_the_host
from porter.python.opened import choice, compared, inside
from porter.python.own_moves import may_be_own
from porter.python.receivers import OWN, UNKNOWN
from porter.python.refusing import NO
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import File

FORMATS = frozenset(
    {"torch.channels_last", "torch.channels_last_3d"}
)  # layouts that an NPU refuses, and that GPUs keep
_OVER_HOST = "over-the-host"
_TYPE = lazy(r"torch\.cuda\.\w+Tensor$")
_REFUSED = lazy(r"cuda(?:[ \t]+:[ \t]*|:[ \t]+)\d+")
_MENTIONED = lazy(rb"cuda(?:[ \t]+:[ \t]*|:[ \t]+)\d")
_WORDS = frozenset(name.rpartition(".")[2] for name in FORMATS)
_ASKING = frozenset({CAPABILITY, PROPERTIES})
# what captures a graph, and the name of a function of the project that does
_CAPTURES = frozenset({"torch.cuda.CUDAGraph", "torch.cuda.graph", "torch.cuda.make_graphed_callables"})
_GRAPHED = lazy(r"(?i)graphed_?callable|cuda_?graph")
_GRAPHS = lazy(rb"(?i)cuda_?graph|cuda\.graph|graphed")


def left_inside(file: File, link: Link | None) -> tuple[str, str] | None:
    """`target.cuda()` of `if torch.cuda.is_available(): target = target.cuda()`, where nobody can tell what `target` is and classes
    of the project have a `cuda()` of their own: ("half", what stays); None where all in the branch is ported with the question."""
    if link is not None and (key := asked_of_ray.key_of(file, link)):
        return "half", key
    call = link[1] if link is not None and _may_stay(file) else None
    if call is None or call[0].__class__ is not ast.Call:
        return None
    left = partial(_left_of, file)
    return left(call) or (left_by_callers(file, call, left) if _opens_moves(call) else None)


def _left_of(file: File, call: Link) -> tuple[str, str] | None:
    left = _left_by_question(file, choice(call))
    left = left or next(
        filter(None, (_asked_beside(file, reader) for reader in held_answers.readers(file, call))), None
    )
    if left is None and file.style.one_world:
        return _left_to_review(file, call)
    if left is not None:
        return left
    held = (_left_by_question(file, choice(reader)) for reader in held_answers.readers(file, call))
    if found := next(filter(None, held), None):
        return found
    taker = held_answers.handed_on(call) if may_be_own(file.facts.own, ()) else ""  # what moves there may be left, too
    return ("half", taker) if taker else None


def _opens_moves(call: Link) -> bool:
    """Whether something is moved in the branch of a question, or was before its move was ported."""
    found = choice(call)
    calls = (node for node in inside(*found) if node.__class__ is ast.Call) if found is not None else ()
    return any(getattr(node.func, "attr", "") in MOVES for node in calls)


def _left_to_review(file: File, call: Link) -> tuple[str, str] | None:
    """What the branch of a question, or of a name that holds its answer, moves only after review: the two are one decision."""
    if not _reviews_moves(file):
        return None
    places = (call, *held_answers.readers(file, call))
    found = next(filter(None, (_left(file, choice(place)) for place in places)), None)
    return ("opens", found[1]) if found is not None else None


def left_by(file: File, link: Link | None) -> tuple[str, str] | None:
    """What stays in the branch that a comparison with a device opens: `if device.type == "cuda":`. In a style for NPUs alone the two
    are looked at together: ("opens", what stays)."""
    asked = compared(link) if link is not None else None
    if kept := _kept(file, link, *(asked or (link, True))):
        return kept
    if asked is not None and (what := beside(asked[0])):
        return "half", what
    found = choice(*asked) if asked is not None else None
    way = _other_way(*found) if found is not None else None
    if found is None or way is not None:
        return way
    if loaded_where_saved(file, *found):  # an NPU loads what a GPU saved on the other side
        return "loads", PLACE
    half = _left_by_question(file, found) if _may_stay(file) else None
    if half is None and (raising := _raising(file, *found)) is not None:  # review has nothing there to take along
        return "half", ast.unparse(raising)
    left = _left(file, found) if half is None and file.style.one_world else None
    return ("opens", left[1]) if left is not None else half


@once_for_file
def staying(file: File) -> tuple[Link, ...]:
    """The questions for a GPU that stay as they are for what they open."""
    asked = [] if file.style.one_world else file.meaning.mentions.of(QUESTIONS)
    return tuple(link for link in asked if left_inside(file, link))


def left_behind(file: File, link: Link | None) -> tuple[str, str] | None:
    """What stays, or is for a person to look at, in the branch that `x.is_cuda` opens, in every style; or the other way."""
    if kept := _kept(file, link, link):
        return kept
    found = choice(link) if link is not None else None
    return (_other_way(*found) or _left(file, found)) if found is not None else None


def _other_way(opened: Link, yes: bool) -> tuple[str, str] | None:
    """The way over the CPU that the program has for devices which are neither CUDA's nor the CPU."""
    if not yes or opened[0].__class__ is not ast.If:
        return None
    while opened[1] is not None and opened[1][0].__class__ is ast.If and opened[1][0].orelse == [opened[0]]:
        opened = opened[1]
    call = over_the_host(opened[0])
    return (_OVER_HOST, ast.unparse(call)) if call is not None else None


def _kept(file: File, link: Link | None, answer: Link | None, yes: bool = True) -> tuple[str, str] | None:
    """Why a question is right as it is, on an NPU as without a GPU."""
    if package := kernel_guards.needed(file, link):
        return "stops", package
    name = float8.decided(file, link, answer, yes)
    return ("float8", name) if name else None


def _may_stay(file: File) -> bool:
    if not file.style.one_world or _reviews_moves(file):
        return True
    return file.source.says(_MENTIONED) or file.source.says(b"get_device_")


def _reviews_moves(file: File) -> bool:
    """Whether a style for NPUs alone edits some calls of `cuda()` after review; transfer_to_npu takes all of them."""
    return file.style.one_world and not file.target.shims and bool(file.facts.own.cuda)


def _left_by_question(file: File, found: tuple[Link, bool] | None) -> tuple[str, str] | None:
    """In every style a device that torch refuses; in one for NPUs alone the rest is ported with the question."""
    texts = map(constant, inside(*found)) if found is not None else ()
    if text := next((text for text in texts if _is_refused(text)), None):
        return "half", repr(text)
    return None if file.style.one_world else _left(file, found)


def _left(file: File, found: tuple[Link, bool] | None) -> tuple[str, str] | None:
    if found is None:
        return None
    moves, layout = _moved_inside(*found)
    left = next((node for node in moves if _is_left(node, file)), None)
    left = left or _raising(file, *found) or _capturing(file, *found)
    left = left or (None if file.style.one_world else _typed(*found) or layout)
    return ("half", ast.unparse(left)) if left is not None else None


def _raising(file: File, opened: Link, yes: bool) -> Node:
    """A call that no style ports, and that the branch comes to in any case: it asks for the generation of a GPU."""
    for link in _unported(file):
        if is_reached(link, opened, yes):
            return link[1][0]
    return None


def _asked_beside(file: File, answer: Link) -> tuple[str, str] | None:
    """A call that raises behind an answer, in one condition with it: `SUPPORTED and torch.cuda.get_device_capability()[0] >= 7`."""
    test = answer[1] and answer[1][0]
    if test.__class__ is not ast.BoolOp or not isinstance(test.op, ast.And):
        return None
    unported = (link for link in _unported(file) if any(up[0] is test for up in ancestors(link)))
    call = next((link[1][0] for link in unported), None)
    return ("half", ast.unparse(call)) if call is not None else None


def _capturing(file: File, opened: Link, yes: bool) -> Node:
    """The call of a function of the file that captures a graph of CUDA, which is edited after review alone."""
    names = _captured(file)
    calls = (node for node in inside(opened, yes) if node.__class__ is ast.Call) if names else ()
    return next((call.func for call in calls if call_name(call.func) in names), None)


@once_for_file
def _captured(file: File) -> frozenset[str]:
    """The functions of a file that capture a graph, themselves or with one of the project: `make_graphed_callable(f, args)`."""
    if not file.source.says(_GRAPHS):
        return frozenset()
    named = (link for link in file.buckets[ast.Call] if _GRAPHED.search(call_name(link[0].func)))
    places = [*file.meaning.mentions.of(_CAPTURES), *named]
    around = (next((a[0] for a in ancestors(link) if a[0].__class__ in FUNCTIONS[:2]), None) for link in places)
    return frozenset(function.name for function in around if function is not None)


def is_kept_away(file: File, link: Link) -> bool:
    """Whether a call that stays runs only behind a question that stays because of it."""
    around = (
        (up for up in ancestors(link) if up[0].__class__ in (ast.If, ast.IfExp)) if not file.style.one_world else ()
    )
    return any(_asks(up[0].test) and is_reached(link, up, True) for up in around)


def _asks(test: Node) -> bool:
    """Whether a condition holds on a GPU alone: `torch.cuda.is_available() and more`, `x.is_cuda`, `device.type == "cuda"`."""
    words = [getattr(node, "attr", "") or str(constant(node) or "") for node in walk(test)]
    turned = any(isinstance(node, (ast.Not, ast.Or, *NO)) for node in ast.walk(test))
    return not turned and any(word in ("is_available", "is_cuda") or word.partition(":")[0] == "cuda" for word in words)


@once_for_file
def _unported(file: File) -> list[Link]:
    if not file.source.says(b"get_device_"):
        return []
    called = [link for link in file.meaning.mentions.of(_ASKING) if _is_called(link)]
    unported = [link for link in called if lacks_field(link) or file.names.resolve(link[0], link) == CAPABILITY]
    return unported + [place for link in called for place in _compared_fields(file, link)]


def compares_field(file: File, link: Link | None) -> bool:
    """Whether a style for GPUs as well leaves a question for the properties of a device, as a GPU's generation is read of them."""
    if link is None or file.style.one_world or not file.source.says(b"get_device_properties"):
        return False
    return getattr(link[1][0], "func", None) is link[0] and any(_compared_fields(file, link))


def _compared_fields(file: File, link: Link) -> Iterator[Link]:
    """`props.major >= 8` after `props = torch.cuda.get_device_properties(0)`: on an NPU it is None, and has no order."""
    given: Node = link[1][1] and link[1][1][0]
    target: Node = given.targets[0] if given.__class__ is ast.Assign else None
    for use in file.names.readers(target.id, (target, link[1][1])) if target.__class__ is ast.Name else ():
        field: Link = use[1]
        above = field[1][0] if field[1][0].__class__ is not ast.Tuple else field[1][1][0]
        if getattr(field[0], "attr", "") in NO_FIELD and above.__class__ is ast.Compare:
            if isinstance(above.ops[0], ORDERS):
                yield use


def _is_called(link: Link) -> bool:
    """Whether a function is called here, also by `map(torch.cuda.get_device_capability, devices)`."""
    call: Node = link[1][0]
    mapped = call.__class__ is ast.Call and call_name(call.func) == "map" and call.args[0] is link[0]
    return mapped or getattr(call, "func", None) is link[0]


def _moved_inside(opened: Link, yes: bool) -> tuple[list[Node], Node]:
    """The calls of `cuda()` of one side of an `if`; and a layout that an NPU refuses, where nothing else there is for a device."""
    moves: list[Node] = []
    layout, is_moved = None, False
    for inner in inside(opened, yes):
        if _moves(inner):
            moves.append(inner)
        elif getattr(inner, "attr", getattr(inner, "id", "")) in _WORDS:
            layout = layout or inner
        is_moved = is_moved or _is_for_device(inner)
    return moves, None if is_moved else layout


def _moves(node: Node) -> bool:
    return node.__class__ is ast.Call and getattr(node.func, "attr", "") == "cuda"


def _is_for_device(node: Node) -> bool:
    """`x.cuda()`, `x.to(device)`, "cuda:0": without the branch, something would stay where it is."""
    if node.__class__ is ast.Call and getattr(node.func, "attr", "") == "to":
        return bool(node.args)
    return _moves(node) or str(constant(node) or "").startswith("cuda")


def _typed(opened: Link, yes: bool) -> Node:
    """ "torch.cuda.FloatTensor", which a style for GPUs as well leaves to a person."""
    return next((node for node in inside(opened, yes) if _TYPE.match(str(constant(node) or ""))), None)


def _is_refused(text: object) -> bool:
    """Whether a text is a device but for its blanks: torch refuses "cuda: 0", with a GPU as without, and porter leaves it."""
    return isinstance(text, str) and _REFUSED.fullmatch(text) is not None


def _is_left(call: Node, file: File) -> bool:
    if not may_be_own(file.facts.own, (keyword.arg for keyword in call.keywords)):
        return False
    if getattr(call.func.value, "id", "") == "storage":  # the rule about `cuda()` knows these by the same name
        return False
    return file.receivers.judge(file.source.span(call.func)[1]) in (OWN, UNKNOWN)
