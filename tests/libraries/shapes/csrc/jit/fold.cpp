PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("fold", &bend); }
