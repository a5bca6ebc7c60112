__global__ void overlap_kernel(const float* a, float* out) { out[0] = a[0]; }
at::Tensor overlap_cuda(at::Tensor a) { overlap_kernel<<<1, 1>>>(a.data_ptr<float>(), a.data_ptr<float>()); return a; }
at::Tensor pool_cuda(at::Tensor a) { overlap_kernel<<<1, 1>>>(a.data_ptr<float>(), a.data_ptr<float>()); return a; }
REGISTER_DEVICE_IMPL(pool_impl, CUDA, pool_cuda)

namespace functor {
template <>
struct Blur<GPU> {
  at::Tensor operator()(at::Tensor a) { return overlap_cuda(a); }
};
}  // namespace functor
