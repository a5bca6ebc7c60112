"""What other packages have, and NPUs have not."""

import torch
from mmcv.ops import min_area_polygons


class Parallel(torch.nn.DataParallel):
    """Named, and not made."""


def handed_on():
    return [torch.nn.DataParallel]


def spread(model):
    return torch.nn.DataParallel(model)


def polygons(points):
    return min_area_polygons(points)
