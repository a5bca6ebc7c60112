"""What the calls in pickles of torch and numpy stand for: tensors that are views of storages, and plain containers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from porter.checkpoint.machine import Global, Made, key_of
from porter.checkpoint.model import BITS, MOST_DIMENSIONS, UNKNOWN, Span, Storage, Tensor, array, checked

if TYPE_CHECKING:
    from typing import TypeGuard

NUMPY = {
    **{
        f"{kind}{bits // 8}": f"{name}{bits}"
        for kind, name in (("i", "int"), ("u", "uint"))
        for bits in (8, 16, 32, 64)
    },
    **{"f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128", "b1": "bool"},
    **{"V2": "bfloat16"},  # as ml_dtypes writes it
}
_STORAGES = {"Float": "float32", "Double": "float64", "Half": "float16", "Long": "int64", "Int": "int32", "Short": "int16",
             "Char": "int8", "Byte": "uint8", "Bool": "bool", "BFloat16": "bfloat16", "ComplexFloat": "complex64",
             "ComplexDouble": "complex128", "QInt8": "qint8", "QUInt8": "quint8", "QInt32": "qint32",
             "QUInt4x2": "quint4x2", "QUInt2x4": "quint2x4", "Untyped": "uint8"}  # fmt: skip
_ALIASES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
}


class Typed(NamedTuple):
    """A storage with the type of its elements."""

    storage: Storage | None
    dtype: str


def dtype_of(value: object) -> str:
    """Of torch.float32, as it stands in a pickle."""
    if isinstance(value, Global) and value.module == "torch":
        name = _ALIASES.get(value.name, value.name)
        return name if name in BITS else UNKNOWN
    return UNKNOWN


def storage_dtype(kind: object) -> str | None:
    """Of torch.FloatStorage, torch.cuda.FloatStorage, torch.storage.UntypedStorage."""
    if isinstance(kind, Global) and kind.module.split(".")[0] == "torch" and kind.name.endswith("Storage"):
        return _STORAGES.get(kind.name.removesuffix("Storage"))
    return None


def numpy_dtype(value: object) -> tuple[str, bool]:
    """What an object of numpy.dtype says, and whether it is big-endian."""
    if not isinstance(value, Made) or not isinstance(value.args, tuple) or not value.args:
        return UNKNOWN, False
    code, state = value.args[0], value.state
    order = state[1] if isinstance(state, tuple) and len(state) > 1 else "<"
    return NUMPY.get(code, UNKNOWN) if isinstance(code, str) else UNKNOWN, order == ">"


def is_shape(value: object) -> TypeGuard[tuple[int, ...]]:
    return isinstance(value, tuple) and len(value) <= MOST_DIMENSIONS and all(type(n) is int for n in value)


def raw_storage(raw: object, is_big_endian: bool) -> Storage | None:
    """Of the bytes of a numpy array, wherever they lie."""
    if isinstance(raw, str):
        raw = raw.encode("latin-1")
    if isinstance(raw, bytes):
        return Storage(len(raw), data=raw, is_big_endian=is_big_endian)
    # what was written as UTF-8 is shorter than it looks by a byte for each that is no ASCII
    return Storage(raw.size, (raw,), is_big_endian=is_big_endian) if isinstance(raw, Span) else None


def _tensor(typed: Typed, offset: Any, shape: Any, strides: Any, grad: object = None, dtype: str = "") -> Tensor | None:
    if not is_shape(shape) or not is_shape(strides) or len(shape) != len(strides):
        return None
    grad = grad if isinstance(grad, bool) and grad else None  # False of a tensor says nothing of the parameter
    return checked(Tensor(dtype or typed.dtype, tuple(shape), typed.storage, tuple(strides), offset, grad))


def _rebuild(args: tuple[Any, ...]) -> Tensor | None:
    grad = args[4] if len(args) > 4 else None
    return _tensor(args[0], args[1], args[2], args[3], grad) if isinstance(args[0], Typed) else None


def _rebuild_typed(args: tuple[Any, ...]) -> Tensor | None:
    tensor = args[0], args[1], args[2], args[3], args[4], dtype_of(args[6])
    return _tensor(*tensor) if isinstance(args[0], Typed) else None


def _parameter(args: tuple[Any, ...]) -> object:
    if isinstance(args[0], Tensor) and isinstance(args[1], bool):
        args[0].requires_grad = args[1]
    return args[0]


def _quantised(args: tuple[Any, ...]) -> Tensor | None:
    return _rebuild(args[:4])


def _meta(args: tuple[Any, ...]) -> Tensor | None:
    return (
        None
        if dtype_of(args[0]) not in BITS
        else checked(Tensor(dtype_of(args[0]), tuple(args[1]), None, tuple(args[2]), layout="meta"))
    )


def _sparse(args: tuple[Any, ...]) -> dict[object, object]:
    """What it is made of: places, and values."""
    parts = [part for part in args[1] if isinstance(part, Tensor)]
    return {f"sparse_{n}": part for n, part in enumerate(parts)}


def _from_array(args: tuple[Any, ...]) -> Tensor | None:
    if not isinstance(args[0], Tensor):
        return None
    if args[0].storage and isinstance(args[2], str):
        args[0].storage.device = args[2]
    args[0].requires_grad = args[3] if isinstance(args[3], bool) and args[3] else None
    return args[0]


def _from_buffer(args: tuple[Any, ...]) -> Tensor | None:
    dtype, is_big = numpy_dtype(args[1])
    return _array(args[2], dtype, args[3] == "F", raw_storage(args[0], is_big)) if is_shape(args[2]) else None


def _array(shape: Any, dtype: str, is_fortran: object, storage: Storage | None) -> Tensor:
    tensor = array(dtype, tuple(shape[::-1] if is_fortran is True else shape), storage)
    if is_fortran is True:
        tensor.shape, tensor.strides = tensor.shape[::-1], tensor.strides[::-1]
    return tensor


def fill(target: Tensor, state: object) -> None:
    """What numpy puts into an array: version, shape, type, whether by columns, bytes."""
    if isinstance(state, tuple) and len(state) == 5 and is_shape(state[1]):
        dtype, is_big = numpy_dtype(state[2])
        storage = raw_storage(state[4], is_big)
        if storage is None:  # a list of objects
            target.shape = tuple(state[1])
            checked(target)
            return
        made = _array(state[1], dtype, state[3], storage)
        target.dtype, target.shape, target.strides, target.storage = made.dtype, made.shape, made.strides, made.storage


def _bytes(args: tuple[Any, ...]) -> object:
    if isinstance(args[0], str):
        return args[0].encode("latin-1")
    return args[0]


def _first(kind: type) -> Callable[[tuple[Any, ...]], object]:
    return lambda args: kind(args[0]) if args and isinstance(args[0], (list, tuple, dict)) else kind()


def _dictionary(args: tuple[Any, ...]) -> dict[object, object]:
    if args and isinstance(args[0], dict):
        return dict(args[0])
    pairs = args[0] if args and isinstance(args[0], (list, tuple)) else ()
    return {key_of(pair[0]): pair[1] for pair in pairs if isinstance(pair, (list, tuple)) and len(pair) == 2}


_OF_TORCH: dict[str, Callable[[tuple[Any, ...]], object]] = {
    "_rebuild_tensor": _rebuild, "_rebuild_tensor_v2": _rebuild, "_rebuild_tensor_v3": _rebuild_typed,
    "_rebuild_parameter": _parameter, "_rebuild_parameter_with_state": _parameter, "_rebuild_qtensor": _quantised,
    "_rebuild_meta_tensor_no_storage": _meta, "_rebuild_sparse_tensor": _sparse,
    "_rebuild_device_tensor_from_numpy": _from_array, "_rebuild_device_tensor_from_cpu_tensor": _from_array,
}  # fmt: skip
MAKERS: dict[str, Callable[[tuple[Any, ...]], object]] = {
    **{f"torch._utils.{name}": maker for name, maker in _OF_TORCH.items()},
    **{f"{module}._rebuild_npu_tensor": _rebuild for module in ("torch_npu.utils.storage", "torch_npu.utils.serialization")},
    **{f"numpy.{core}.numeric._frombuffer": _from_buffer for core in ("core", "_core")},
    **{f"numpy.{core}.multiarray._reconstruct": lambda args: Tensor(UNKNOWN, ()) for core in ("core", "_core")},
    **{f"collections.{name}": _dictionary for name in ("OrderedDict", "defaultdict", "Counter")},
    **{"torch.Size": _first(tuple), "builtins.set": _first(list), "builtins.frozenset": _first(list), "builtins.list": _first(list)},
    "copyreg._reconstructor": lambda args: Made(args[0]),
    **{"builtins.bytearray": lambda args: args[0] if args else b"", "_codecs.encode": _bytes},
}  # fmt: skip
NESTED = ("pickle.loads", "_pickle.loads", "pickle._loads", "torch.storage._load_from_bytes")
SUBCLASSES = ("torch._tensor._rebuild_from_type_v2", "torch._tensor._rebuild_from_type")
