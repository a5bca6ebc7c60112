"""torch.compile where no compiler for the device is: graphs are captured and differentiated as they would be, and run
operator by operator. A compiler that the program names itself is its own affair."""

import functools

import torch

_OF_THE_COMPILER = ("mode", "options")


def watch(record):
    """`record()` is called for each function that is compiled so."""
    compiles = torch.compile

    @functools.wraps(compiles)
    def compiled(model=None, **kwargs):
        if model is not None and kwargs.get("backend", "inductor") == "inductor" and not kwargs.get("disable"):
            record()
            kwargs = {key: value for key, value in kwargs.items() if key not in _OF_THE_COMPILER}
            kwargs["backend"] = "aot_eager"
        elif model is None:
            return functools.partial(compiled, **kwargs)
        return compiles(model, **kwargs)

    torch.compile = compiled
