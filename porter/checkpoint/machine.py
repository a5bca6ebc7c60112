"""What a pickle builds, without building it: instructions are followed on plain values, and every global stays a name.

Nothing is imported or called. Plain containers, numbers and texts become themselves; a call becomes what `make` says of it, or
`Made`, which remembers it.
"""

from __future__ import annotations

import pickletools
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from porter.checkpoint.errors import Damaged
from porter.checkpoint.model import Told
from porter.checkpoint.window import Window

MOST = 8_000_000  # instructions of one pickle, and of all that one file holds
TEXT = 1 << 28  # bytes of texts that are kept
IMPORTS = 10_000  # globals that are told
SHORT = 1 << 12  # bytes: what is longer is left where it lies
_BITS = 128  # of a number that is one
_SAFE = 61  # bits of a number that is its own hash


class Global(NamedTuple):
    module: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.module[:200]}.{self.name[:200]}"


@dataclass(eq=False, slots=True)
class Made:
    """An object that was not made: of what, from what, and what was put into it."""

    kind: object
    args: object = ()
    state: object = None

    @property
    def path(self) -> str:
        return self.kind.path if isinstance(self.kind, Global) else ""

    def fields(self) -> dict[object, object]:
        state = self.state[0] or self.state[1] if isinstance(self.state, tuple) and len(self.state) == 2 else self.state
        return state if isinstance(state, dict) else {}


class Mark:
    pass


_MARK = Mark()
_OPCODES = {opcode.code: opcode for opcode in pickletools.opcodes}
_LENGTHS = {"BINUNICODE": 4, "BINUNICODE8": 8, "BINSTRING": 4, "BINBYTES": 4, "BINBYTES8": 8, "BYTEARRAY8": 8}


class Reader(Protocol):
    """Who knows what the pickles of one kind of file mean. What is left is left for all pickles of one file."""

    told: Told
    left: int  # instructions
    text: int  # bytes

    def persistent(self, value: object) -> object: ...

    def make(self, kind: object, args: object) -> object | None:
        """What a call is; None where it is nothing that is known."""

    def build(self, target: object, state: object) -> None: ...


class Machine:
    def __init__(self, reader: Reader, window: Window):
        self.reader, self._told, self._window = reader, reader.told, window
        self.stack: list[Any] = []
        self.memo: dict[object, object] = {}
        self._protocol = 0

    def run(self) -> object:
        """The object of the pickle that begins here. Raises Damaged."""
        window = self._window
        try:
            return self._run()
        except (IndexError, KeyError, TypeError, AttributeError, ValueError):
            raise Damaged.of("pickle", at=window.start + window.at) from None

    def _run(self) -> object:
        window, reader, told = self._window, self.reader, self._told.instructions
        while True:
            code = window.read(1)
            opcode = _OPCODES.get(code.decode("latin-1"))
            if opcode is None:
                raise Damaged.of("cut" if not code else "pickle", at=window.start + window.at)
            name = opcode.name
            reader.left -= 1
            if reader.left < 0:
                raise Damaged.of("instructions", most=f"{MOST:,}")
            told.add(name)
            if name == "STOP":
                return self.stack.pop()
            argument = self._argument(opcode) if opcode.arg else None
            handler = _HANDLERS.get(name)
            if handler:
                handler(self, argument)
            elif opcode.arg:
                self.stack.append(argument)

    def _argument(self, opcode: pickletools.OpcodeInfo) -> object:
        window, name = self._window, opcode.name
        if width := _LENGTHS.get(name):
            at = window.at
            size = int.from_bytes(window.exactly(width), "little")
            if size > SHORT or "BYTE" in name:
                return window.take(size, is_text="UNICODE" in name)
            window.at = at
        read: Any = opcode.arg and opcode.arg.reader
        value = read(window)
        if isinstance(value, (str, bytes)):
            self.reader.text -= len(value)
            if self.reader.text < 0:
                raise Damaged.of("text", most=f"{TEXT:,}")
        if type(value) is int and value.bit_length() > _BITS:
            return Made(Global("builtins", "int"))
        return value

    def pop_mark(self) -> list[Any]:
        at = len(self.stack) - 1
        while self.stack[at] is not _MARK:
            at -= 1
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items

    def find(self, module: object, name: object) -> Global:
        if not isinstance(module, str) or not isinstance(name, str):
            module = name = "?"
        if self._protocol < 3:  # names of Python 2
            module, name = NAME_MAPPING.get((module, name)) or (IMPORT_MAPPING.get(module, module), name)
        found = Global(module, name)
        if len(self._told.imports) < IMPORTS:
            self._told.imports.setdefault(found.path, "")
        else:
            self._told.note("cut")
        return found

    def call(self, kind: object, args: object) -> object:
        if isinstance(kind, Global) and isinstance(args, tuple):
            text = next((arg for arg in args[:8] if isinstance(arg, str)), "")
            if text and self._told.imports.get(kind.path) == "":
                self._told.imports[kind.path] = text[:200]
        made = self.reader.make(kind, args)
        return Made(kind, args) if made is None else made

    def persistent(self, value: object) -> None:
        self.stack.append(self.reader.persistent(value))

    def protocol(self, value: object) -> None:
        self._protocol = value if isinstance(value, int) else 0


def key_of(value: object) -> object:
    """What may be the key of a dictionary: what is cheap to hash stays itself."""
    if isinstance(value, tuple) and len(value) <= 8 and all(_is_plain(item) for item in value):
        return value
    return value if _is_plain(value) else Made(None, value)


def _is_plain(value: object) -> bool:
    if type(value) is int:
        return value.bit_length() < _SAFE
    return value is None or type(value) in (str, bool, float, bytes, Made, Global)


def _extend(target: object, items: list[Any]) -> None:
    if isinstance(target, list):
        target.extend(items)


def _update(target: object, items: list[Any]) -> None:
    if isinstance(target, Made):  # a dictionary of a kind of its own
        target.state = target.state if isinstance(target.state, dict) else {}
        target = target.state
    if isinstance(target, dict):
        for key, value in zip(items[::2], items[1::2]):
            target[key_of(key)] = value


def _build(m: Machine, _: object) -> None:
    state = m.stack.pop()
    target = m.stack[-1]
    if isinstance(target, Made):
        target.state = state
    else:
        m.reader.build(target, state)


def _tuple(count: int) -> Callable[[Machine, object], None]:
    def handler(m: Machine, _: object) -> None:
        items = tuple(m.stack[-count:])
        if len(items) != count:
            raise IndexError
        m.stack[-count:] = [items]

    return handler


def _two(action: Callable[[Machine, Any, Any], object]) -> Callable[[Machine, object], None]:
    def handler(m: Machine, _: object) -> None:
        second = m.stack.pop()
        m.stack.append(action(m, m.stack.pop(), second))

    return handler


def _marked(action: Callable[[Machine, list[Any]], object]) -> Callable[[Machine, object], None]:
    def handler(m: Machine, _: object) -> None:
        m.stack.append(action(m, m.pop_mark()))

    return handler


def _into(action: Callable[[object, list[Any]], None], count: int) -> Callable[[Machine, object], None]:
    """`count` items, or those behind a mark, go into what lies below them."""

    def handler(m: Machine, _: object) -> None:
        if count:
            items = m.stack[-count:]
            del m.stack[-count:]
        else:
            items = m.pop_mark()
        action(m.stack[-1], items)

    return handler


def _dictionary(m: Machine, items: list[Any]) -> dict[object, object]:
    made: dict[object, object] = {}
    _update(made, items)
    return made


def _push(value: Callable[[], object]) -> Callable[[Machine, object], None]:
    return lambda m, _: m.stack.append(value())


def _put(m: Machine, index: object) -> None:
    m.memo[len(m.memo) if index is None else index] = m.stack[-1]


def _get(m: Machine, index: object) -> None:
    m.stack.append(m.memo[index])


def _inst(m: Machine, name: Any) -> None:
    module, _, attribute = name.partition(" ")
    items = m.pop_mark()
    m.stack.append(m.call(m.find(module, attribute), tuple(items)))


def _three(m: Machine, _: object) -> None:
    keywords, args = m.stack.pop(), m.stack.pop()
    m.stack.append(m.call(m.stack.pop(), (*args, keywords) if isinstance(args, tuple) else args))


def _extension(m: Machine, code: object) -> None:
    m.stack.append(m.find("copyreg", f"extension {code}"))


def _ignore(m: Machine, _: object) -> None:
    pass


_HANDLERS: dict[str, Callable[[Machine, Any], object]] = {
    "NONE": _push(lambda: None), "NEWTRUE": _push(lambda: True), "NEWFALSE": _push(lambda: False),
    "EMPTY_LIST": _push(list), "EMPTY_DICT": _push(dict), "EMPTY_TUPLE": _push(tuple), "EMPTY_SET": _push(list),
    "MARK": _push(lambda: _MARK), "NEXT_BUFFER": _push(lambda: Made(Global("pickle", "PickleBuffer"))),
    "TUPLE1": _tuple(1), "TUPLE2": _tuple(2), "TUPLE3": _tuple(3), "TUPLE": _marked(lambda m, items: tuple(items)),
    "LIST": _marked(lambda m, items: items), "FROZENSET": _marked(lambda m, items: items), "DICT": _marked(_dictionary),
    "APPEND": _into(_extend, 1), "APPENDS": _into(_extend, 0), "ADDITEMS": _into(_extend, 0),
    "SETITEM": _into(_update, 2), "SETITEMS": _into(_update, 0),
    "POP": lambda m, _: m.stack.pop(), "POP_MARK": lambda m, _: m.pop_mark(), "DUP": lambda m, _: m.stack.append(m.stack[-1]),
    "MEMOIZE": _put, "PUT": _put, "BINPUT": _put, "LONG_BINPUT": _put, "GET": _get, "BINGET": _get, "LONG_BINGET": _get,
    "GLOBAL": lambda m, name: m.stack.append(m.find(*name.split(" ", 1))), "STACK_GLOBAL": _two(Machine.find), "INST": _inst,
    "REDUCE": _two(Machine.call), "NEWOBJ": _two(Machine.call), "NEWOBJ_EX": _three, "BUILD": _build,
    "OBJ": _marked(lambda m, items: m.call(items[0], tuple(items[1:]))),
    "PERSID": Machine.persistent, "BINPERSID": lambda m, _: m.persistent(m.stack.pop()),
    "EXT1": _extension, "EXT2": _extension, "EXT4": _extension,
    "PROTO": Machine.protocol, "FRAME": _ignore, "READONLY_BUFFER": _ignore,
}  # fmt: skip
