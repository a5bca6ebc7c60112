"""Checkpoints written byte by byte, as the formats are specified: no library that reads or writes them is needed."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
TYPES = {"float32": ("Float", 4), "float16": ("Half", 2), "bfloat16": ("BFloat16", 2), "int64": ("Long", 8),
         "quint4x2": ("QUInt4x2", 1), "quint2x4": ("QUInt2x4", 1)}  # fmt: skip


@dataclass(frozen=True)
class G:
    """A global, as a pickle names it."""

    module: str
    name: str


@dataclass(frozen=True)
class R:
    """A call."""

    function: object
    args: tuple


@dataclass(frozen=True)
class B:
    """What a state is put into."""

    target: object
    state: object


@dataclass(frozen=True)
class P:
    """A persistent id."""

    id: object


@dataclass(frozen=True)
class W:
    """A tensor to be: its values, as bytes."""

    data: bytes
    shape: tuple
    dtype: str = "float32"
    device: str = "cpu"
    strides: tuple | None = None
    key: str = ""  # of a storage that several share
    frozen: bool | None = None


def numpy() -> ModuleType:
    """What values are compared with; where it is not, the test that asks for it is skipped."""
    import pytest  # a benchmark imports this module, too

    return pytest.importorskip("numpy", reason="numpy is not installed: it is in the `compare` extra")


def opcodes(value: object) -> bytes:
    """Of protocol 2."""
    if value is None or isinstance(value, bool):
        return {None: b"N", True: b"\x88", False: b"\x89"}[value]
    if isinstance(value, int):
        data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        return b"J" + struct.pack("<i", value) if -(1 << 31) <= value < 1 << 31 else b"\x8a" + bytes([len(data)]) + data
    if isinstance(value, float):
        return b"G" + struct.pack(">d", value)
    if isinstance(value, str):
        data = value.encode()
        return b"X" + struct.pack("<I", len(data)) + data
    if isinstance(value, bytes):
        return b"B" + struct.pack("<I", len(value)) + value
    if isinstance(value, tuple):
        return b"(" + b"".join(map(opcodes, value)) + b"t"
    if isinstance(value, list):
        return b"](" + b"".join(map(opcodes, value)) + b"e"
    if isinstance(value, dict):
        return b"}(" + b"".join(opcodes(k) + opcodes(v) for k, v in value.items()) + b"u"
    if isinstance(value, G):
        return f"c{value.module}\n{value.name}\n".encode()
    if isinstance(value, R):
        return opcodes(value.function) + opcodes(value.args) + b"R"
    if isinstance(value, B):
        return opcodes(value.target) + opcodes(value.state) + b"b"
    return opcodes(value.id) + b"Q"


def pickled(value: object) -> bytes:
    return b"\x80\x02" + opcodes(value) + b"."


def f4(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def strides_of(shape: tuple) -> tuple:
    found, step = [], 1
    for length in reversed(shape):
        found.append(step)
        step *= max(length, 1)
    return tuple(reversed(found))


class Storages:
    """Tensors of a tree as torch's pickles write them; what they are views of is kept aside."""

    def __init__(self, is_old: bool = False):
        self.data: dict[str, tuple[bytes, int]] = {}
        self.is_old = is_old

    def of(self, value: object) -> object:
        if isinstance(value, dict):
            return {key: self.of(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.of(item) for item in value]
        if not isinstance(value, W):
            return value
        kind, width = TYPES[value.dtype]
        key = value.key or str(len(self.data))
        self.data.setdefault(key, (value.data, width))
        id = ("storage", G("torch", f"{kind}Storage"), key, value.device, len(value.data) // width)
        tensor = R(
            G("torch._utils", "_rebuild_tensor_v2"),
            (
                P((*id, None) if self.is_old else id),
                0,
                value.shape,
                value.strides or strides_of(value.shape),
                False,
                R(G("collections", "OrderedDict"), ()),
            ),
        )
        if value.frozen is None:
            return tensor
        return R(
            G("torch._utils", "_rebuild_parameter"),
            (tensor, not value.frozen, R(G("collections", "OrderedDict"), ())),
        )


def zipped(tree: object, compression: int = zipfile.ZIP_STORED, root: str = "archive") -> bytes:
    """What torch.save writes since 1.6."""
    storages = Storages()
    data = pickled(storages.of(tree))
    return archive({f"{root}/data.pkl": data, f"{root}/byteorder": b"little"}
                   | {f"{root}/data/{key}": raw for key, (raw, _) in storages.data.items()}, compression)  # fmt: skip


def archive(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return stream.getvalue()


def streamed(tree: object) -> bytes:
    """What torch.save wrote from 0.2 to 1.5."""
    storages = Storages(is_old=True)
    about = {"protocol_version": PROTOCOL, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    body = [pickled(value) for value in (MAGIC, PROTOCOL, about, storages.of(tree), list(storages.data))]
    return b"".join(body) + b"".join(
        struct.pack("<q", len(raw) // width) + raw for raw, width in storages.data.values()
    )


def tarred(tensors: dict[str, W]) -> bytes:
    """What torch.save wrote before 0.2: four files in a tar file."""
    storages, views, names = pickled(len(tensors)), pickled(len(tensors)), {}
    for n, (name, tensor) in enumerate(tensors.items()):
        kind, width = TYPES[tensor.dtype]
        storages += pickled((100 + n, tensor.device, G("torch", f"{kind}Storage")))
        storages += struct.pack("<q", len(tensor.data) // width) + tensor.data
        numbers = (*tensor.shape, *strides_of(tensor.shape), 0)
        views += pickled((n, 100 + n, G("torch", f"{kind}Tensor")))
        views += struct.pack("<ii", len(tensor.shape), 0) + struct.pack(f"<{len(numbers)}q", *numbers)
        names[name] = P(str(n))
    parts = {"sys_info": pickled({}), "pickle": pickled(names), "storages": storages + pickled([]), "tensors": views}
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as file:
        for name, data in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def safetensors(tensors: dict[str, tuple[str, tuple, bytes]], metadata: dict | None = None) -> bytes:
    header: dict = {"__metadata__": metadata} if metadata else {}
    at = 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values())


def varint(value: int) -> bytes:
    found = b""
    while value >= 128:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def mindspore(tensors: list[tuple[str, str, tuple, bytes]], crc: bool = False) -> bytes:
    """A name that comes again is a further slice."""
    found = b""
    for name, dtype, shape, data in tensors:
        dims = b"".join(varint(1 << 3) + varint(n) for n in shape)
        tensor = dims + field(2, dtype.encode()) + field(3, data)
        found += field(1, field(1, name.encode()) + field(2, tensor))
    return found + (b"crc_num" + bytes(10) if crc else b"")


def npy(descr: str, shape: tuple, data: bytes, fortran: bool = False) -> bytes:
    header = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape!r}, }}"
    header = header.ljust(-(-(len(header) + 11) // 64) * 64 - 11) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data


def distributed(folder: Path, tensors: dict[str, tuple[tuple, list[tuple[tuple, tuple, bytes]]]]) -> Path:
    """`{name: (shape, [(where a piece begins, its shape, its bytes)])}` as torch.distributed.checkpoint writes them."""
    folder.mkdir(parents=True)
    module, size = "torch.distributed.checkpoint.metadata", G("torch", "Size")
    states, places, body = {}, [], b""

    def made(name: str, fields: dict, of: str = module) -> B:
        return B(R(G("copyreg", "_reconstructor"), (G(of, name), G("builtins", "object"), None)), fields)

    for name, (shape, pieces) in tensors.items():
        chunks = []
        for begin, part, data in pieces:
            written = zipped(W(data, part))
            chunks.append(made("ChunkStorageMetadata", {"offsets": R(size, (begin,)), "sizes": R(size, (part,))}))
            index = made("MetadataIndex", {"fqn": name, "offset": R(size, (begin,)), "index": 0})
            info = {"relative_path": "__0_0.distcp", "offset": len(body), "length": len(written)}
            places.append((index, made("_StorageInfo", info, "torch.distributed.checkpoint.filesystem")))
            body += written
        properties = made("TensorProperties", (G("torch", "float32"), None, False, None, False))
        fields = {"properties": properties, "size": R(size, (shape,)), "chunks": chunks}
        states[name] = made("TensorStorageMetadata", fields)
    rows = b"}(" + b"".join(opcodes(key) + opcodes(value) for key, value in places) + b"u"
    whole = opcodes(R(G("copyreg", "_reconstructor"), (G(module, "Metadata"), G("builtins", "object"), None)))
    keys = opcodes("state_dict_metadata") + opcodes(states) + opcodes("storage_data") + rows
    (folder / ".metadata").write_bytes(b"\x80\x02" + whole + b"}(" + keys + b"ub.")
    (folder / "__0_0.distcp").write_bytes(body)
    return folder
