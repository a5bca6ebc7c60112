// Puts kernels in place of those that torch_npu registered; its schemas, checks, autograd nodes and autocast lists stay.
#pragma once
#include <unordered_set>

#include "by_hand.h"

namespace virtual_npu {

using Names = std::unordered_set<std::string>;

// torch_npu's own kernels that stay: allocation, storage surgery, pinning, streams; the conversions whose checks users
// meet (channels_last is refused, float64 becomes float32 on the device); and what only changes metadata. They end in
// kernels that are replaced.
inline const Names& kept() {
  static const Names names{
      "empty.memory_format", "empty_strided", "empty_like", "new_empty_strided", "set_", "set_.source_Storage",
      "set_.source_Storage_storage_offset", "set_.source_Tensor", "is_set_to", "is_pinned", "_pin_memory",
      "pin_memory", "record_stream", "_has_compatible_shallow_copy_type", "to.device", "to.dtype", "to.other",
      "to.dtype_layout", "_to_copy", "contiguous", "as_strided", "view", "_reshape_alias"};
  return names;
}
inline const Names& of_several_devices() {
  static const Names names{
      "aten::copy_", "aten::_copy_from", "aten::_copy_from_and_resize", "aten::index", "aten::index_put",
      "aten::index_put_", "aten::_index_put_impl_", "aten::_foreach_copy_", "aten::_unsafe_index",
      "aten::_unsafe_index_put", "aten::_amp_update_scale_", "aten::_pack_padded_sequence"};
  return names;
}
// The host waits for the device: it wants a value, or the size of a result.
inline const Names& synchronising() {
  static const Names names{
      "aten::_local_scalar_dense", "aten::equal", "aten::is_nonzero", "aten::nonzero", "aten::masked_select",
      "aten::_unique", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive", "aten::bincount",
      "aten::repeat_interleave", "aten::count_nonzero"};
  return names;
}

// Derivatives of what runs in place of a kernel of torch_npu's: the real one has a derivative of its own.
inline const Names& behind_native() {
  static const Names names{
      "aten::_scaled_dot_product_flash_attention_for_cpu_backward", "aten::_weight_norm_interface_backward",
      "aten::_pdist_backward", "aten::multilabel_margin_loss_backward"};
  return names;
}

// Operators whose derivative is torch_npu's own: here it is torch's formula, on a real NPU other operators.
inline Names& own_derivatives() {
  static auto* names = new Names;
  return *names;
}

struct Quiet : c10::WarningHandler {  // "Overriding a previously registered kernel", 1,500 times
  void process(const c10::Warning&) override {}
};

class Installer {
 public:
  Installer()
      : kernels_(*library(DispatchKey::PrivateUse1)), autograd_(*library(DispatchKey::AutogradPrivateUse1)) {}

  std::map<std::string, int> run() {
    Quiet quiet;
    c10::WarningUtils::WarningHandlerGuard guard(&quiet);
    static auto* allocator = new EitherAllocator;
    c10::SetCPUAllocator(allocator, 255);
    auto& dispatcher = c10::Dispatcher::singleton();
    // LAPACK is told which columns are to come first, and torch leaves that to chance
    on_zeroes(dispatcher.findOp({"aten::linalg_lstsq", "out"}), "linalg_lstsq.out");
    for (const auto& name : dispatcher.getAllOpNames()) {
      if (name.name.rfind("aten::", 0) != 0) continue;
      auto op = dispatcher.findOp(name);
      if (!op || !op->hasSchema()) continue;
      overloads_[name.name].push_back(*op);
      if (op->hasKernelForDispatchKey(DispatchKey::PrivateUse1)) native_.insert(c10::toString(name));
      if (op->hasKernelForDispatchKey(DispatchKey::AutogradPrivateUse1)) own_derivatives().insert(name.name);
    }
    by_hand(kernels_, "copy_", copy_);
    by_hand(kernels_, "_copy_from", copy_from);
    by_hand(kernels_, "_copy_from_and_resize", copy_from_and_resize);
    by_hand(kernels_, "_efficientzerotensor", zero_tensor);
    for (auto* library : {&autograd_, &kernels_}) {  // in inference mode nothing passes through autograd
      by_hand(*library, "_thnn_fused_lstm_cell", lstm_cell);
      by_hand(*library, "_thnn_fused_gru_cell", gru_cell);
      by_hand(*library, "scaled_dot_product_attention", attention);
    }
    if (!cpu_random) by_hand(kernels_, "native_dropout", native_dropout);
    for (const auto& name : dispatcher.getAllOpNames()) {
      if (name.name.rfind("aten::", 0) != 0) continue;
      auto op = dispatcher.findOp(name);
      // torch_npu registers kernels under aten:: for names that have no schema: they are no operators
      if (op && op->hasSchema()) install(*op, name);
    }
    return counts_;
  }

 private:
  torch::Library &kernels_, &autograd_;
  Names mine_, native_;  // native_: before anything is replaced
  std::unordered_map<std::string, std::vector<OperatorHandle>> overloads_;
  std::map<std::string, int> counts_;

  // never destroyed: undoing 1,500 registrations at exit would meet a dispatcher that is half gone
  static torch::Library* library(DispatchKey key) {
    return new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  }
  template <class F>
  void by_hand(torch::Library& library, const char* name, F* kernel) {
    library.impl(name, kernel);
    mine_.insert(name);
  }
  void install(const OperatorHandle& op, const c10::OperatorName& full) {
    std::string name = full.name.substr(6) + (full.overload_name.empty() ? "" : "." + full.overload_name);
    if (kept().count(name)) {
      counts_["kept"]++;
      if (Differences::get().any && op.hasKernelForDispatchKey(DispatchKey::PrivateUse1)) watch(op, full, name);
      return;
    }
    if (mine_.count(name)) return;
    auto has = [&](DispatchKey key) { return op.hasKernelForDispatchKey(key); };
    bool npu = has(DispatchKey::PrivateUse1), implicit = has(DispatchKey::CompositeImplicitAutograd);
    bool composite = implicit || has(DispatchKey::CompositeExplicitAutograd) ||
        has(DispatchKey::CompositeExplicitAutogradNonFunctional);
    // also where a composite exists: the CPU's kernel and not the decomposition, so that results have the same bits
    // a composite with torch's own derivative would lose it to a kernel
    if (implicit && !npu) {
      counts_["composite"]++;
    } else if (has(DispatchKey::CPU) || name == "convolution" || name == "_convolution" || name == "convolution_backward") {
      Kind kind = kind_of(op, full, npu, composite);
      counts_[npu ? "replaced" : kind.kind == Class::fallback ? "fallback" : "pinned"]++;
      if (name == "convolution") kernels_.impl(name.c_str(), boxed(Convolution(std::move(kind))));
      else kernels_.impl(name.c_str(), boxed(CpuKernel(std::move(kind))));
    } else if (npu && composite) {
      kernels_.impl(name.c_str(), boxed(AsCpu(DispatchKey::CPU)));
      counts_["composite restored"]++;
    } else if (npu) {
      counts_["npu only"]++;
    }
    if (has(DispatchKey::AutogradPrivateUse1)) {
      if (implicit || has(DispatchKey::Autograd) || has(DispatchKey::AutogradCPU))
        autograd_.impl(name.c_str(), boxed(AsCpu(DispatchKey::AutogradCPU)));
      else
        autograd_.impl(name.c_str(), torch::CppFunction::makeFallthrough());
      counts_["autograd restored"]++;
    }
  }
  static void on_zeroes(const std::optional<OperatorHandle>& op, const char* name) {
    if (!op || !op->hasKernelForDispatchKey(DispatchKey::CPU)) return;
    auto its = op->getComputedKernelForDispatchKey(DispatchKey::CPU);
    library(DispatchKey::CPU)->impl(name, boxed(OnZeroes<decltype(its)>(std::move(its))));
  }
  void watch(const OperatorHandle& op, const c10::OperatorName& full, const std::string& name) {
    auto role = role_of(op, full.name);
    if (role.types.empty()) return;
    auto its = op.getComputedKernelForDispatchKey(DispatchKey::PrivateUse1);
    kernels_.impl(name.c_str(), boxed(Cast<decltype(its)>(std::move(its), full.name, std::move(role))));
  }
  // A structured operator is a composite that calls its out variant: that one has a kernel or falls back.
  const OperatorHandle* out_variant(const OperatorHandle& op, std::string name) const {
    if (!op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional)) return nullptr;
    if (name.back() == '_') name.pop_back();
    auto found = overloads_.find(name);
    if (found == overloads_.end()) return nullptr;
    const auto& own = op.schema().arguments();
    for (const auto& other : found->second) {
      const auto& arguments = other.schema().arguments();
      bool out = arguments.size() == own.size() + op.schema().returns().size() && arguments.back().is_out();
      for (size_t k = 0; out && k < own.size(); k++)
        out = own[k].name() == arguments[k].name() && *own[k].type() == *arguments[k].type();
      if (out) return &other;
    }
    return nullptr;
  }
  Kind kind_of(const OperatorHandle& op, const c10::OperatorName& full, bool npu, bool composite) const {
    const std::string& name = full.name;
    Kind kind;
    kind.name = name;
    kind.kind = npu ? Class::native : composite ? Class::composite : Class::fallback;
    const auto* behind = composite && !npu ? out_variant(op, name) : nullptr;
    if (behind && behind->hasKernelForDispatchKey(DispatchKey::CPU))
      kind.kind = native_.count(c10::toString(behind->operator_name())) ? Class::native : Class::fallback;
    if (kind.kind == Class::fallback && behind_native().count(name)) kind.kind = Class::native;
    kind.falls_back_as = c10::toString(behind ? behind->operator_name() : full);
    kind.other_devices = of_several_devices().count(name);
    kind.synchronises = synchronising().count(name);
    kind.role = role_of(op, name);
    const auto& arguments = op.schema().arguments();
    for (size_t k = 0; k < arguments.size(); k++) {
      auto type = arguments[k].type()->str();
      if (type == "Generator?" || type == "Generator") kind.generator = k;
      if (npu && arguments[k].name() == "memory_format" && name != "aten::to_mkldnn") kind.memory_format = k;
    }
    return kind;
  }
};

}  // namespace virtual_npu
