// Which operators a difference of the target concerns, and the conversions that torch_npu's own kernels do.
#pragma once
#include "differences.h"

namespace virtual_npu {

inline Role role_of(const OperatorHandle& op, const std::string& name) {
  static const std::unordered_map<std::string, Role> known = [] {
    std::unordered_map<std::string, Role> roles;
    auto add = [&](Family family, int first, int factors, std::initializer_list<const char*> names) {
      for (auto* one : names) {
        roles[one].family = family;
        roles[one].first = first;
        roles[one].factors = factors;
      }
    };
    add(Family::product, 0, 2, {"mm", "bmm", "mv"});
    add(Family::product, 1, 2, {"addmm", "baddbmm", "addbmm", "addmv", "_addmm_activation"});
    add(Family::convolution, 0, 2, {"convolution", "_convolution", "convolution_overrideable", "conv_tbc"});
    add(Family::convolution, 0, 3,
        {"convolution_backward", "convolution_backward_overrideable", "conv_tbc_backward"});
    add(Family::attention, 0, 3, {"_scaled_dot_product_flash_attention_for_cpu"});
    add(Family::attention, 0, 4, {"_scaled_dot_product_flash_attention_for_cpu_backward"});
    add(Family::gelu, 0, 0, {"gelu", "gelu_backward"});
    add(Family::unscale, 0, 0, {"_amp_foreach_non_finite_check_and_unscale"});
    // they put inf where the program wants it, or carry it on
    add(Family::moves, 0, 0,
        {"fill", "masked_fill", "full", "full_like", "zero", "where", "cat", "stack", "clone", "index", "index_select",
         "gather", "index_put", "_index_put_impl", "index_fill", "scatter", "masked_scatter", "select_scatter",
         "slice_scatter", "masked_select", "repeat", "flip", "roll", "constant_pad_nd", "embedding", "tril", "triu",
         "nan_to_num", "resize", "resize_as", "_local_scalar_dense"});
    return roles;
  }();
  auto base = name.substr(name.rfind(':') + 1);
  if (base.back() == '_') base.pop_back();
  auto found = known.find(base);
  auto role = found == known.end() ? Role() : found->second;
  for (const auto& result : op.schema().returns())  // a view of what is there
    if (result.alias_info() && !result.alias_info()->isWrite()) role.family = Family::moves;
  const auto& arguments = op.schema().arguments();
  for (size_t k = 0; k < arguments.size(); k++) {
    auto type = arguments[k].real_type();
    if (auto inner = type->cast<c10::OptionalType>()) type = inner->getElementType();
    if (type->kind() == c10::TypeKind::ScalarTypeType && base != "view") role.types.push_back(k);
    if (role.family == Family::gelu && arguments[k].name() == "approximate") role.approximate = k;
  }
  return role;
}

inline bool is_type(const IValue& value, at::ScalarType type) {
  return value.isInt() && value.toInt() == static_cast<int64_t>(type);
}

// Where there is no bfloat16, what asks for it gets float16.
inline void without_bfloat16(const std::string& name, const Role& role, IValue* arguments) {
  for (auto k : role.types) {
    if (!is_type(arguments[k], at::kBFloat16)) continue;
    arguments[k] = static_cast<int64_t>(at::kHalf);
    Differences::get().note(no_bfloat16, name, true, 0);
  }
}

// One of torch_npu's own kernels that make a tensor of a type.
template <class Kernel>
struct Cast final : c10::OperatorKernel {
  Kernel torch_npus;
  std::string name;
  Role role;
  Cast(Kernel kernel, std::string n, Role r) : torch_npus(std::move(kernel)), name(std::move(n)), role(std::move(r)) {}
  void operator()(const OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
    auto& all = Differences::get();
    auto* arguments = stack->data() + stack->size() - op.schema().arguments().size();
    if (all.is_on(no_bfloat16)) without_bfloat16(name, role, arguments);
    if (name == "aten::_to_copy" && all.state(float32_casts) != Differences::off && loses(arguments)) {
      auto from = arguments[0].toTensor();
      all.note(float32_casts, name, all.is_on(float32_casts), 0);
      if (all.is_on(float32_casts)) return keep(op, from, stack);
    }
    torch_npus.callBoxed(op, keys, stack);
  }

 private:
  // torch_npu gives float32 where float64 alone is asked for.
  bool loses(const IValue* arguments) const {
    const auto& from = arguments[0].toTensor();
    return is_type(arguments[1], at::kDouble) && from.scalar_type() != at::kDouble && arguments[3].isNone();
  }
  static void keep(const OperatorHandle& op, const Tensor& from, Stack* stack) {
    auto made = at::empty_strided(from.sizes(), from.strides(), from.options().dtype(at::kDouble));
    made.copy_(from);
    torch::jit::drop(*stack, op.schema().arguments().size());
    torch::jit::push(*stack, made);
  }
};

}  // namespace virtual_npu
