import torch
from raster import splat


def train(points, opt):
    for step in range(100):
        image = splat(points.cuda(), 5)  # expect: PRT705
        image.sum().backward()
        opt.step()
