import torch
from raster import points_of


def train(image, opt):
    for step in range(100):
        points = points_of(image.cuda())
        points.float().sum().backward()
        opt.step()
