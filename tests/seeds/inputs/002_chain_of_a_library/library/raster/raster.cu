#include <torch/extension.h>
__global__ void draw_kernel(const float* p, float* out, int n) { out[threadIdx.x] = p[threadIdx.x] * n; }
torch::Tensor draw_cuda(torch::Tensor points, int n) {
  auto out = torch::empty_like(points);
  draw_kernel<<<1, 32>>>(points.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}
