// What ran, and where it was asked for: operators by line of the user's code, with class, shapes and host synchronisations.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/utils/pybind.h>

#include <map>
#include <string>
#include <unordered_map>

#include "alias.h"

namespace virtual_npu {

enum class Class { native, composite, fallback };
inline const char* name_of(Class c) {
  return c == Class::native ? "native" : c == Class::composite ? "composite" : "cpu_fallback";
}

struct Seen {
  Class kind = Class::native;
  bool synchronises = false;
  int64_t calls = 0, in_steps = 0;
  std::string dtype;
  std::map<std::string, int64_t> shapes;  // and the first step that met them
};

class Trace {
 public:
  static Trace& get() {
    static auto* trace = new Trace;
    return *trace;
  }
  bool on = false;
  bool shapes = true;
  int64_t step = 0;
  std::string root;  // files below it are the user's
  std::map<std::string, Seen> seen;

  void note(const char* op, Class kind, bool synchronises, c10::ArrayRef<c10::IValue> given) {
    pybind11::gil_scoped_acquire gil;  // guards the members as well
    auto& entry = seen[std::string(op) + "\n" + place()];
    entry.kind = kind;
    entry.synchronises |= synchronises;
    entry.calls++;
    entry.in_steps += step > 0;
    std::string text;
    for (auto& value : given) {
      if (value.isTensor() && value.toTensor().defined()) {
        const auto& t = value.toTensor();
        if (entry.dtype.empty()) entry.dtype = c10::toString(t.scalar_type());
        if (shapes) text += shape(t);
      } else if (shapes && value.isTensorList()) {
        for (const Tensor& t : value.toTensorVector()) text += shape(t);
      }
    }
    if (shapes && entry.shapes.size() < kShapes) entry.shapes.emplace(std::move(text), step);
  }

  // "file:line" of the innermost frame in the user's files; "" in a backward thread, which has no Python frames.
  std::string place() {
    PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame) {
      PyCodeObject* code = PyFrame_GetCode(frame);
      bool own = is_users(code);
      std::string found;
      if (own) {
        const char* file = PyUnicode_AsUTF8(code->co_filename);
        found = std::string(file + root.size()) + ":" + std::to_string(PyFrame_GetLineNumber(frame));
      }
      Py_DECREF(code);
      PyFrameObject* back = own ? nullptr : PyFrame_GetBack(frame);
      Py_DECREF(frame);
      if (own) return found;
      frame = back;
    }
    return "";
  }

 private:
  static constexpr size_t kShapes = 256;
  std::unordered_map<PyCodeObject*, bool> users_;  // the code objects are kept alive: an address is never used again

  static std::string shape(const Tensor& t) {
    std::string text = "[";
    for (auto size : t.sizes()) text += (text.size() > 1 ? "," : "") + std::to_string(size);
    return text + "]";
  }
  bool is_users(PyCodeObject* code) {
    auto found = users_.find(code);
    if (found != users_.end()) return found->second;
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    bool own = file && !root.empty() && std::string_view(file).substr(0, root.size()) == root &&
        std::string_view(file).find("site-packages") == std::string_view::npos;
    if (!file) PyErr_Clear();
    Py_INCREF(code);
    return users_[code] = own;
  }
};

}  // namespace virtual_npu
