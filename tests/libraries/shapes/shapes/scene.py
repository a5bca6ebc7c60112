from .voxels import voxelise


def version():
    from . import _C

    return _C.get_cuda_version()
