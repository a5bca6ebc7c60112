#include <torch/extension.h>
torch::Tensor draw_cuda(torch::Tensor points, int n);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("draw", &draw_cuda, "draw (CUDA)"); }
