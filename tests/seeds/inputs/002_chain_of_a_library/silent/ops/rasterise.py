import torch


def _draw(points, n):
    if n > 3:
        return points * n
    return points


def splat(points, n):
    return _draw(points, n)
