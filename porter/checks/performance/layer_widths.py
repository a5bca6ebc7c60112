"""Layers whose inputs and outputs both leave blocks of the matrix unit partly empty: `nn.Linear(1023, 4095)`."""

from __future__ import annotations

import ast

from porter.python.evidence import call_name, constant

_TWO = ("Linear", "Conv1d", "Conv2d", "Conv3d", "LSTM", "GRU", "RNN")
_ATTENTION = ("MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer")
LAYERS = frozenset(f"torch.nn.{name}" for name in (*_TWO, *_ATTENTION))
_BLOCK = 16
_LEAST = 256  # below it, what a layer costs is the launch
_LEAST_CHANNELS = 64
_VOCABULARY = 8000
_FIRST = ("in_features", "in_channels", "input_size", "embed_dim", "d_model")
_SECOND = ("out_features", "out_channels", "hidden_size", "num_heads", "nhead")


def concerns(call: ast.Call) -> bool:
    return bool(misfits(call) or attention_width(call) or vocabulary(call))


def misfits(call: ast.Call) -> list[int]:
    """Both widths of an inner layer; nothing where one of them fits: it may be what a network is fed, or gives out."""
    name, numbers = call_name(call.func), _numbers(call)
    if len(numbers) != 2 or name in _ATTENTION:
        return []
    least = _LEAST_CHANNELS if name.startswith("Conv") else _LEAST
    return numbers if all(n >= least and n % _BLOCK for n in numbers) else []


def attention_width(call: ast.Call) -> tuple[int, int] | None:
    """Of attention that splits a width into heads: the width, and how many heads, where 16 does not divide the width."""
    numbers = _numbers(call) if call_name(call.func) in _ATTENTION else []
    if len(numbers) != 2 or numbers[0] < _LEAST or numbers[0] % _BLOCK == 0 or numbers[1] < 1:
        return None
    return numbers[0], numbers[1]


def vocabulary(call: ast.Call) -> int:
    """How many rows a layer gives out that looks like the head of a language model; 0 for another."""
    numbers = _numbers(call) if call_name(call.func) == "Linear" else []
    fits = len(numbers) == 2 and numbers[0] % _BLOCK == 0
    return numbers[1] if fits and numbers[1] >= _VOCABULARY and numbers[1] % _BLOCK else 0


def _numbers(call: ast.Call) -> list[int]:
    named = {k.arg: k.value for k in call.keywords}
    given = list(call.args[:2])
    nodes = [*given, *(named[n] for names in (_FIRST, _SECOND)[len(given) :] for n in names if n in named)]
    return [value for node in nodes if type(value := constant(node)) is int]


def values(widths: list[int], block: int = _BLOCK) -> tuple[tuple[str, str], ...]:
    """For the message: what they are, and the next that fit."""
    new = (-(-n // block) * block for n in widths)
    return ("old", ", ".join(map(str, widths))), ("new", ", ".join(map(str, new)))


def of_heads(width: int, heads: int) -> tuple[tuple[str, str], ...]:
    return values([width], _BLOCK * heads)
