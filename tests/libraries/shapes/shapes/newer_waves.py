try:
    from torch import rfft
except ImportError:
    rfft = None


def wave(x):
    return x if rfft is None else rfft(x, 1)
