__global__ void overlap_kernel(const float* a, float* out) { out[0] = a[0]; }
at::Tensor overlap_cuda(at::Tensor a) { overlap_kernel<<<1, 1>>>(a.data_ptr<float>(), a.data_ptr<float>()); return a; }
at::Tensor pool_cuda(at::Tensor a) { return a; }
