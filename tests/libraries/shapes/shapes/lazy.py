def voxelise(points):
    from .voxels import voxelise as inner

    return inner(points)


try:
    from . import voxels
except ImportError:
    voxels = None
