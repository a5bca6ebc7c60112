"""Finds the strings of a file that are devices, backends or tensor types: first by their text, then by where they go."""

from __future__ import annotations

import ast
import re
import typing
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from porter.python.blocks import place
from porter.python.evidence import constant, logged
from porter.python.index import Link, ancestors, strings, walk
from porter.python.searches import Sought, lines_with
from porter.python.strings.fixtures import Role
from porter.python.strings.flow import Flow
from porter.python.strings.keyed import askers, container_of, name_of
from porter.python.strings.sinks import INDEXED
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.python.file import Parsed
    from porter.python.source import Source


# searches in lower-case text for lines with a candidate; a pattern is fast if it begins with plain letters
_BEGINS_CUDA, _IS_NCCL = r"cuda(?<=[\"']cuda)(?=[\"':{\\\r\n])", r"nccl(?<=[\"'}\r\n]nccl)(?=[\"'{\\\r\n])"
_TENSOR = r"torch\.cuda\.(?<=[\"']torch\.cuda\.)(?:sparse\.)?\w+tensor"
BYTES = tuple(map(Sought, (_BEGINS_CUDA, _TENSOR, _IS_NCCL, "cuda:nccl")))
# a string that may be one of them; a device; a tensor type; a backend
CANDIDATE = lazy(r"^cuda(?:$|:)|^nccl$|cuda:nccl|^torch\.cuda\.(?:sparse\.)?\w+Tensor$", re.IGNORECASE)
DEVICE = lazy(r"cuda(?::(?:\d+|%[ds]|\{[^{}]*\})?)?$")
_MADE = lazy(rb"\bf[\"']cuda:\{")
_SPARSE = "torch.cuda.sparse."
TYPED = lazy(r"torch\.cuda\.(?:sparse\.)?[A-Z]\w+Tensor$")
BACKEND = lazy(r"(?i:nccl)$|(?:\w+:\w+,)*cuda:nccl(?:,\w+:\w+)*$")
HANDED = ("argument", "assigned", "mapped")  # roles of a value that may go to another library
PROSE = ("help", "description", "metavar", "title", "msg", "message", "reason")  # keywords with text for people


Kind: TypeAlias = typing.Literal["device", "backend", "tensor-type"]


class Literal(NamedTuple):
    """A string that is a device, a backend or a tensor type."""

    link: Link  # of the whole string: a Constant, or the JoinedStr of an f-string
    kind: Kind
    # what the string is used as; the roles are described where Flow and Sinks give them
    role: str  # argument | default | option | choices | assigned | compared | stripped | returned | mapped | saved | case | member
    certain: bool


def lines_to_look_at(source: Source) -> list[int]:
    """The lines that may hold a candidate. Most files have none, which is known before they are parsed."""
    return lines_with(source, *BYTES, lowered=True)


def named_strings(file: Parsed) -> list[Link]:
    """The strings that may be a device, a backend or a tensor type by their text. The tree is walked for them once, and only
    if the text holds such a word."""
    known = file.answers["named strings"]
    if None not in known:
        lines = lines_to_look_at(file.source)
        known[None] = strings(file.tree, lines, CANDIDATE) if lines else []
    links: list[Link] = known[None]
    return links


def literals(file: Parsed) -> dict[int, Literal]:
    """The devices, backends and tensor types of a file, by offset."""
    by_offset: dict[int, Literal] = {}
    links = named_strings(file)
    if not links:
        return by_offset
    flow = Flow(file)
    for link in links:
        text, parent = link[0].value, link[1][0]
        kind: Kind
        if parent.__class__ is ast.JoinedStr:
            link = link[1]
            if parent.values[0].__class__ is not ast.Constant or not _pure(parent):
                continue
            kind, text = "device", "cuda:{}" if len(parent.values) > 1 else text
        elif DEVICE.match(text):
            kind = "device"
        elif BACKEND.match(text):
            kind = "backend"
        elif TYPED.match(text):
            kind = "tensor-type"
        else:
            continue
        role = _typed(flow, link) if kind == "tensor-type" else _role(flow, link, kind, text)
        if role is None and kind == "device":
            role = _made_key(file, flow, link, text)
        if role is not None and not (kind == "device" and role.role in HANDED and flow.handed_elsewhere(link)):
            by_offset.setdefault(file.source.span(link[0])[0], Literal(link, kind, *role))
    return by_offset


def _role(flow: Flow, link: Link, kind: Kind, text: str) -> Role | None:
    role = flow.role(link, kind, text)
    if role is None and kind == "device" or role is not None and role.role == "mapped" and not role.certain:
        key = link if kind == "device" else _key_of(link)  # {"cuda": "nccl", "cpu": "gloo"}[device]
        if key is not None and (asked := askers(flow.names, key)) is not None:
            return Role("mapped", asked.certain)
    return role or _plain(flow, link, text)


def _made_key(file: Parsed, flow: Flow, link: Link, text: str) -> Role | None:
    """The role of the keys of a container that the file makes itself, by a name: `name = f"cuda:{i}"; used[name] = 0`. With them
    goes `used["cuda:0"]`, and without them it stays."""
    asked = container_of(*link) if INDEXED.match(text) and file.source.says(_MADE) else None
    if asked is None:
        return None
    container = ast.dump(asked[0])
    keys = [n.slice for n in walk(file.tree) if n.__class__ is ast.Subscript and ast.dump(n.value) == container]
    names = {key.id for key in keys if key.__class__ is ast.Name}
    made = [up for _, up in named_strings(file) if up is not None and up[0].__class__ is ast.JoinedStr and _pure(up[0])]
    roles = [_role(flow, up, "device", "cuda:{}") for up in made if up[0] in keys or name_of(up) in names]
    if not roles or None in roles:
        return None
    return Role("argument", all(role.certain for role in roles if role))


def _key_of(link: Link) -> Link | None:
    """The key of a dict that a value stands at."""
    above = link[1] and link[1][0]
    side, index = place(above, link[0]) if above.__class__ is ast.Dict else ("", -1)
    return (above.keys[index], link[1]) if side == "values" else None


def _plain(flow: Flow, link: Link, text: str) -> Role | None:
    """The role of a string such as "cuda:0" that cannot be followed to a sink. By its text it is still a device, but for
    review only, unless its number comes from torch.cuda."""
    if (
        not INDEXED.match(text)
        and text != "cuda:{}"
        or flow.foreign
        or link[1][0].__class__ not in (ast.Tuple, ast.List, ast.Assign, ast.keyword)
    ):
        return None
    child = link
    for above in ancestors(link):
        node = above[0]
        if node.__class__ in (ast.Compare, ast.Subscript, ast.Dict, ast.Expr) and child[0].__class__ is not ast.Call:
            return None
        if node.__class__ is ast.keyword and node.arg in PROSE or node.__class__ is ast.JoinedStr:
            return None
        child = above
    return None if logged(link) else Role("argument", flow.in_cuda(link[0], link))


def _typed(flow: Flow, link: Link) -> Role | None:
    """The role of the name of a tensor type. It counts everywhere but in texts for people: `SIZES[x.type()]` has it as a key. That of a
    sparse one is only compared: `x.type()` tells it of an NPU, which takes none."""
    up = link[1]
    above = up[0].__class__
    if above in (ast.Expr, ast.JoinedStr) or logged(link) and above is not ast.Compare:
        return None
    if link[0].value.startswith(_SPARSE):
        holder = up[1][0].__class__ if above in (ast.Tuple, ast.List, ast.Set) else above
        return Role("argument", True) if holder is ast.Compare else None
    return Role("argument", True)


def _pure(node: ast.JoinedStr) -> bool:
    """Whether an f-string is just a device: `f"cuda:{x}"`, or `f"cuda"` without an expression."""
    if len(node.values) == 1:
        return bool(DEVICE.match(str(constant(node.values[0]))))
    return (
        len(node.values) == 2 and constant(node.values[0]) == "cuda:" and node.values[1].__class__ is ast.FormattedValue
    )
