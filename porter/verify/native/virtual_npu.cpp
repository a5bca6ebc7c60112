// The virtual NPU: computes on the device of the real torch_npu, loaded on stand-ins for CANN whose device memory is host
// memory. torch_npu keeps its allocator, streams, events, generators, autocast lists, schemas and Python layer; the
// kernels it registered are replaced by the CPU's. Links against torch alone.
#include <torch/extension.h>

#include "hccl.h"
#include "install.h"

namespace py = pybind11;
using namespace virtual_npu;

namespace {

py::list seen() {
  py::list rows;
  for (auto& [key, entry] : Trace::get().seen) {
    auto split = key.find('\n');
    py::dict shapes;
    for (auto& [shape, step] : entry.shapes) shapes[py::str(shape)] = step;
    rows.append(py::make_tuple(
        key.substr(0, split), key.substr(split + 1), name_of(entry.kind), entry.synchronises, entry.calls,
        entry.in_steps, entry.dtype, shapes));
  }
  return rows;
}

py::list moved() {
  py::list rows;
  for (auto& [key, entry] : Differences::get().moved) {
    auto first = key.find('\n'), second = key.find('\n', first + 1);
    rows.append(py::make_tuple(
        key.substr(0, first), key.substr(first + 1, second - first - 1), key.substr(second + 1), entry.calls,
        entry.changed, entry.furthest));
  }
  return rows;
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("install", [](bool from_cpu) {
    cpu_random = from_cpu;
    return Installer().run();
  });
  m.def("as_cpu", [](const Tensor& t) {
    Pairs pairs;
    return is_npu(t) ? as_cpu(t, pairs) : t;
  });
  m.def("as_npu", [](const Tensor& t, Device device) {
    Pairs pairs;
    Tensor own = t;
    return as_npu(std::move(own), device, pairs);
  });
  m.def("differ", [](const std::string& name, bool changes) {
    auto& all = Differences::get();
    all.any = true;
    all.states[Differences::named(name)] = changes ? Differences::on : Differences::watched;
  });
  m.def("allow", [](const std::string& name, bool allowed) {
    Differences::get().allowed[Differences::named(name)] = allowed;
  });
  m.def("overflowed", [](bool clear) {
    auto& flag = Differences::get().overflowed;
    return clear ? flag.exchange(false) : flag.load();
  });
  m.def("moved", &moved);
  m.def("trace", [](bool on, const std::string& root, bool shapes) {
    Trace::get().on = on;
    Trace::get().root = root;
    Trace::get().shapes = shapes;
    Trace::get().seen.clear();
  });
  m.def("pause", [](bool on) {
    bool before = Trace::get().on;
    Trace::get().on = on;
    return before;
  });
  m.def("profiled", [](bool on) {
    bool before = at::isRecordFunctionEnabled();
    at::enableRecordFunction(on);
    return before;
  });
  m.def("step", [](int64_t number) { Trace::get().step = number; });
  m.def("note", [](const std::string& op, bool fallback, std::vector<Tensor> tensors) {
    if (!Trace::get().on) return;
    std::vector<c10::IValue> given(tensors.begin(), tensors.end());
    Trace::get().note(op.c_str(), fallback ? Class::fallback : Class::native, false, given);
  });
  m.def("events", [](const std::string& prefix) { Events::get().begin(prefix); });
  m.def("event", [](const std::string& name, const std::string& content) { Events::get().tell(name, content); });
  m.def("computed", [](const std::string& name, const std::string& settings, std::vector<Tensor> results) {
    if (!Events::get().is_on()) return;
    Digest given, digest;
    given.bytes(settings.data(), settings.size());
    for (auto& t : results) digest.tensor(t);
    Events::get().tell(name, given, digest);
  });
  m.def("flush", [] { Events::get().flush(); });
  m.def("seen", &seen);
  m.def("own_derivatives", [] { return std::vector<std::string>(own_derivatives().begin(), own_derivatives().end()); });
  py::class_<HcclOnGloo, c10d::Backend, c10::intrusive_ptr<HcclOnGloo>>(m, "HcclOnGloo")
      .def(py::init<c10::intrusive_ptr<c10d::Backend>, c10::intrusive_ptr<c10d::Store>>())
      .def(
          "batch_isend_irecv",
          [](HcclOnGloo& backend, std::vector<std::string> kinds, std::vector<Tensor> tensors, std::vector<int> ranks) {
            return backend.batch_isend_irecv(kinds, std::move(tensors), ranks);
          });
}
