from . import CountBuilder, FoldBuilder, WarpBuilder

lazy = None


class Warp:
    def __init__(self):
        self.kernel = WarpBuilder().load().bend


def bend(x):
    global lazy
    if lazy is None:
        lazy = WarpBuilder().load()
    return lazy.bend(x)


def straight(x):
    """Only a kernel is missed."""
    return lazy.straight(x)


def fold(x):
    """NPUs have a builder of this name."""
    return FoldBuilder().load().fold(x)


def counted(x):
    """No source for a GPU."""
    return CountBuilder().load().count(x)
