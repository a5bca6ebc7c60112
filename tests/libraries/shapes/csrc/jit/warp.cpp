void straight(at::Tensor a) { a.zero_(); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("bend", &bend);
  m.def("straight", &straight);
}
