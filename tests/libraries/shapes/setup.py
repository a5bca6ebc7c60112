from glob import glob

from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension


def make(name, module, sources):
    return CUDAExtension(f"{module}.{name}", sources)


setup(
    name="shapes",
    ext_modules=[
        make(name="_C", module="shapes", sources=glob("csrc/*.cpp") + glob("csrc/*.cu")),
        make(name="grid_cuda", module="shapes.grids", sources=["grids/bind.cpp"]),
        CUDAExtension("voxels_gpu", []),
    ],
)
