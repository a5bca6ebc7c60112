from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension

setup(name="shapes", ext_modules=[CUDAExtension("shapes._C", []), CUDAExtension("voxel_cuda", [])])
