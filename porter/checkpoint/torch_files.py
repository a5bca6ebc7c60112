"""What torch.save and pickle wrote: a zip file, the stream of pickles and storages before torch 1.6, the tar file before that."""

from __future__ import annotations

import struct
import tarfile
from typing import Any

from porter.checkpoint.archive import Archive
from porter.checkpoint.errors import Damaged, brief
from porter.checkpoint.machine import MOST, TEXT, Machine, Made
from porter.checkpoint.model import Span, Storage, Tensor, Told, checked, is_size, width
from porter.checkpoint.rebuild import MAKERS, NESTED, SUBCLASSES, Typed, fill, storage_dtype
from porter.checkpoint.window import Window, in_memory

MAGIC = 0x1950A86A20F9469CFC6C
_NESTED = 4  # pickles in pickles


class Torch:
    """One file. Its storages are known by the keys that its pickles name."""

    def __init__(self, told: Told):
        self.told, self.left, self.text = told, MOST, TEXT
        self.kind = ""
        self._storages: dict[object, Storage] = {}
        self._objects: dict[int, object] = {}  # of a tar file
        self._archive: Archive | None = None
        self._depth = 0
        self._window: Window | None = None

    def read(self, window: Window) -> object:
        head = window.part(0, min(window.size, 264)).read()
        self._window = window
        if head.startswith(b"PK\3\4"):
            return self._zip(Archive(window))
        return self._tar(window) if head[257:262] == b"ustar" else self._stream(window)

    def persistent(self, value: object) -> object:
        if self._objects and not isinstance(value, tuple) and (known := self._objects.get(_id(value))):
            return known
        if not isinstance(value, tuple) or len(value) < 5 or value[0] != "storage":
            if len(self.told.persistent) < 100:
                self.told.persistent.add(brief(value[0] if isinstance(value, tuple) and value else value))
            if isinstance(value, tuple) and value and value[0] == "module":  # with its source, before torch 1.6
                return value[1]
            return Made(None, value)
        kind, key, device, count = value[1:5]
        dtype = storage_dtype(kind)
        if dtype is None or not is_size(count) or not isinstance(key, (str, int)):
            raise Damaged.of("storage", storage=key)
        storage = self._storage(key, brief(device), count * width(dtype))
        return Typed(self._view(storage, value[5], dtype) if len(value) > 5 and value[5] else storage, dtype)

    def make(self, kind: object, args: object) -> object | None:
        path = getattr(kind, "path", "")
        if not isinstance(args, tuple):
            return None
        if path in NESTED:
            return self._nested(args)
        if path in SUBCLASSES and len(args) > 2:
            return self.make(args[0], args[2])
        # what is copied is counted: one list may be the argument of a million calls
        self.left -= sum(len(arg) for arg in args[:8] if isinstance(arg, (list, tuple, dict, str)))
        maker = MAKERS.get(path)
        try:
            return maker(args) if maker else None
        except (IndexError, TypeError, ValueError, AttributeError):  # not what torch or numpy writes
            return None

    def build(self, target: object, state: object) -> None:
        if isinstance(target, Tensor) and target.storage is None:
            fill(target, state)

    def _storage(self, key: object, device: str, size: int) -> Storage:
        if key not in self._storages:
            spans: tuple[Span, ...] = ()
            if self._archive:
                spans = (self._archive.span(f"{self._root}data/{key}"),)
                if size > spans[0].size:
                    raise Damaged.of("short", storage=key, size=size, there=spans[0].size)
            self._storages[key] = Storage(size, spans, device=device, is_big_endian=self._is_big)
        return self._storages[key]

    def _view(self, root: Storage, view: Any, dtype: str) -> Storage:
        """A storage that was a part of another one; where it lies is known once the pickle is read."""
        key, offset, count = view
        if not isinstance(key, (str, int)) or not is_size(offset) or not is_size(count):
            raise Damaged.of("storage", storage=key)
        if key not in self._storages:
            size = width(dtype)
            if (offset + count) * size > root.size:
                raise Damaged.of("storage", storage=key)
            self._storages[key] = Storage(count * size, device=root.device)
            self._views.append((self._storages[key], root, offset * size))
        return self._storages[key]

    def _nested(self, args: tuple[Any, ...]) -> object:
        data = args[0] if args else b""
        if isinstance(data, Span) and self._window:
            window = Window(self._window.stream, data.start, data.size, data.file)
        else:
            window = in_memory(data if isinstance(data, bytes) else b"")
        self._depth += 1
        if self._depth > _NESTED:
            raise Damaged.of("nested")
        inner = Torch(self.told)
        inner._depth, inner.left, inner.text = self._depth, self.left, self.text
        try:
            return inner.read(window)
        except Damaged:
            return None
        finally:
            self.left, self.text = inner.left, inner.text
            self._depth -= 1

    _root, _is_big = "", False

    def _zip(self, archive: Archive) -> object:
        names = [name for name in archive.members if name == "data.pkl" or name.endswith("/data.pkl")]
        if not names:
            raise Damaged.of("no-pickle")
        self._archive, self._root = archive, names[0].removesuffix("data.pkl")
        self.kind = "torch"
        if f"{self._root}constants.pkl" in archive.members:
            self.kind = "torchscript"
        order = f"{self._root}byteorder"
        self._is_big = order in archive.members and archive.window(order).read(8) == b"big"
        return Machine(self, archive.window(names[0])).run()

    def _stream(self, window: Window) -> object:
        self._views: list[tuple[Storage, Storage, int]] = []
        first = Machine(self, window).run()
        self.kind = "pickle"
        if first != MAGIC:
            return first
        self.kind = "torch-stream"
        Machine(self, window).run()  # version
        about = Machine(self, window).run()
        self._is_big = isinstance(about, dict) and about.get("little_endian") is False
        found = Machine(self, window).run()
        keys = Machine(self, window).run()
        for key in keys if isinstance(keys, list) else ():
            storage = self._storages.get(key) if isinstance(key, (str, int)) else None
            if storage is None:
                raise Damaged.of("storage", storage=key)
            self._raw(window, storage, key)
        for view, root, offset in self._views:
            start = root.spans[0].start + offset if root.spans else 0
            view.spans, view.is_big_endian = (Span(window.file, start, view.size),), root.is_big_endian
        return found

    def _raw(self, window: Window, storage: Storage, key: object) -> None:
        """The count of elements, and the elements."""
        count = int.from_bytes(window.exactly(8), "big" if self._is_big else "little")
        if storage.size and count > storage.size or storage.size and storage.size % max(count, 1):
            raise Damaged.of("short", storage=key, size=storage.size, there=count)
        data = window.take(storage.size)
        storage.is_big_endian = self._is_big
        if isinstance(data, Span):
            storage.spans = (data,)
        else:
            storage.data = data

    def _tar(self, window: Window) -> object:
        self.kind = "torch-tar"
        self._views = []
        window.seek(0)
        try:
            with tarfile.open(fileobj=window, mode="r:") as archive:
                places = {member.name: (member.offset_data, member.size) for member in archive if member.isreg()}
        except tarfile.TarError as error:
            raise Damaged.of("damaged", why=error) from None
        if missing := {"pickle", "storages", "tensors"} - places.keys():
            raise Damaged.of("absent", name=min(missing))
        self._tar_storages(window.part(*places["storages"]))
        self._tar_tensors(window.part(*places["tensors"]))
        return Machine(self, window.part(*places["pickle"])).run()

    def _tar_storages(self, window: Window) -> None:
        for _ in range(_number(Machine(self, window).run())):
            key, device, kind = _items(Machine(self, window).run(), 3)
            dtype = storage_dtype(kind) or "uint8"
            count = int.from_bytes(window.exactly(8), "little")
            storage = Storage(count * width(dtype), device=brief(device))
            data = window.take(storage.size)
            storage.spans = (data,) if isinstance(data, Span) else ()
            self._objects[_number(key)] = Typed(storage, dtype)
        for row in _items(Machine(self, window).run()):
            target, root, offset, count = map(_number, _items(row, 4))
            typed = self._objects.get(root)
            if not isinstance(typed, Typed) or not typed.storage or not typed.storage.spans:
                raise Damaged.of("storage", storage=root)
            size, span = width(typed.dtype), typed.storage.spans[0]
            part = Span(span.file, span.start + offset * size, count * size)
            if (offset + count) * size > span.size:
                raise Damaged.of("storage", storage=target)
            self._objects[target] = Typed(Storage(part.size, (part,), device=typed.storage.device), typed.dtype)

    def _tar_tensors(self, window: Window) -> None:
        for _ in range(_number(Machine(self, window).run())):
            key, storage, _kind = _items(Machine(self, window).run(), 3)
            typed = self._objects.get(_number(storage))
            if not isinstance(typed, Typed):
                raise Damaged.of("storage", storage=storage)
            count = struct.unpack("<i", window.exactly(8)[:4])[0]
            if not 0 <= count <= 64:
                raise Damaged.of("shape", shape=count)
            numbers = struct.unpack(f"<{2 * count + 1}q", window.exactly(16 * count + 8))
            tensor = Tensor(typed.dtype, numbers[:count], typed.storage, numbers[count:-1], numbers[-1])
            self._objects[_number(key)] = checked(tensor)


def _id(value: object) -> int:
    return int(value) if isinstance(value, str) and value.isdecimal() else value if type(value) is int else -1


def _number(value: object) -> int:
    if type(value) is not int or not is_size(value):
        raise Damaged.of("damaged", why="a count that is none")
    return value


def _items(value: object, count: int | None = None) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)) or (count is not None and len(value) != count):
        raise Damaged.of("damaged", why="a row of another length")
    return tuple(value)
