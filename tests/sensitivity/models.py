"""Eight small models: their parameters and data, the same wherever they are trained."""

import torch

STEPS = 3
NAMES = ("mlp", "cnn", "transformer", "lstm", "vae", "scaled", "amp", "bfloat16")
_SHAPES = {
    "mlp": {"w1": (16, 12), "b1": (16,), "w2": (4, 16), "b2": (4,)},
    "cnn": {"k1": (6, 3, 3, 3), "b1": (6,), "k2": (8, 3, 3, 3), "b2": (8,), "w": (5, 72), "b": (5,)},
    "transformer": {
        "qkv": (24, 8), "qkv_b": (24,), "out": (8, 8), "out_b": (8,), "up": (16, 8), "up_b": (16,), "down": (8, 16),
        "down_b": (8,),
    },
    "lstm": {"table": (20, 8), "ih": (24, 8), "hh": (24, 6), "b_ih": (24,), "b_hh": (24,), "w": (3, 6), "b": (3,)},
    "vae": {"k1": (8, 1, 3, 3), "b1": (8,), "t1": (4, 1, 3, 3), "c1": (1,)},
    "scaled": {"w1": (16, 12), "b1": (16,), "w2": (4, 16), "b2": (4,)},
    "amp": {"w1": (16, 12), "b1": (16,), "w2": (4, 16), "b2": (4,)},
    "bfloat16": {"table": (20, 8), "w1": (12, 8), "b1": (12,), "w2": (3, 12), "b2": (3,)},
}  # fmt: skip
_INPUTS = {
    "mlp": ((32, 12), (32, 4)), "cnn": ((4, 3, 8, 8), (4, 5)), "transformer": ((2, 7, 8), (2, 7, 8)), "lstm": ((9, 4), (9, 4, 3)),
    "vae": ((4, 1, 7, 7), (4, 1, 7, 7)), "scaled": ((32, 12), (32, 4)),
    "amp": ((32, 12), (32, 4)), "bfloat16": ((24,), (24, 3)),
}  # fmt: skip


def parameters(name):
    source = torch.Generator().manual_seed(NAMES.index(name))
    return {
        key: torch.randn(shape, generator=source) * (0.1 if len(shape) == 1 else 0.4)
        for key, shape in _SHAPES[name].items()
    }


def batch(name, step):
    """What goes in, and what should come out."""
    source = torch.Generator().manual_seed(100 * NAMES.index(name) + step)
    given, wanted = _INPUTS[name]
    if name in ("lstm", "bfloat16"):
        return torch.randint(0, 20, given, generator=source), torch.randn(wanted, generator=source)
    return torch.randn(given, generator=source), torch.randn(wanted, generator=source)
