import voxel_cuda


def voxelise(points):
    return voxel_cuda.hard(points)
