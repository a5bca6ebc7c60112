__global__ void bend_kernel(float* a) { a[0] = 0; }
void bend(at::Tensor a) { bend_kernel<<<1, 1>>>(a.data_ptr<float>()); }
