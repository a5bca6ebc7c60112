import voxels_gpu


def voxelise(points):
    return voxels_gpu.hard(points)
