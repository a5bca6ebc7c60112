#include <torch/extension.h>
PYBIND11_MODULE(_C, m) {
  m.def("overlap", &overlap);
  m.def("pool", &pool);
  m.def("count", &count_on_host);
  m.def("get_cuda_version", &get_cuda_version);
}
TORCH_LIBRARY(shapes, m) {
  m.def("gather(Tensor x) -> Tensor");
  m.def("warp(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(shapes, CPU, m) { m.impl("gather", gather_cpu); }
TORCH_LIBRARY_IMPL(shapes, CUDA, m) { m.impl("gather", gather_cuda); m.impl("warp", warp_cuda); }
