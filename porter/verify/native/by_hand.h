// Kernels that the common one cannot be: copies between devices, and what torch_npu computes in its own autograd nodes.
#pragma once
#include <torch/csrc/jit/frontend/tracer.h>

#include "kernel.h"

namespace virtual_npu {

// A conversion is a computation: what the type cannot hold saturates.
inline void saturate_cast(const Tensor& from, const Tensor& to) {
  auto& all = Differences::get();
  if (!all.any || all.state(saturation) == Differences::off || is_finite(to)) return;
  bool changes = all.is_on(saturation);
  if (changes) {
    if (is_finite(from)) all.overflowed = true;
    to.nan_to_num_(0.0);
  }
  all.note(saturation, "aten::copy_", changes, changes ? std::numeric_limits<double>::infinity() : 0);
}
inline Tensor& copy_(Tensor& self, const Tensor& source, bool non_blocking) {
  Pairs pairs;
  auto to = is_npu(self) ? as_cpu(self, pairs) : self;
  auto from = is_npu(source) ? as_cpu(source, pairs) : source;
  if (Trace::get().on) {
    const IValue given[] = {self, source};
    Trace::get().note("aten::copy_", Class::native, is_npu(source) && !is_npu(self) && !non_blocking, given);
  }
  at::AutoDispatchBelowADInplaceOrView below;
  to.copy_(from, false);
  if (from.scalar_type() != to.scalar_type() && is_npu(self) && is_npu(source)) saturate_cast(from, to);
  if (Events::get().is_on()) {
    Digest given, results;
    given.mix(is_npu(self) ? self.device().index() : -1);
    results.tensor(self);
    Events::get().tell("aten::copy_", given, results);
  }
  return self;
}
inline Tensor copy_from(const Tensor& self, const Tensor& to, bool non_blocking) {
  Tensor target = to;
  copy_(target, self, non_blocking);
  return to;
}
inline Tensor copy_from_and_resize(const Tensor& self, const Tensor& to) {
  to.resize_(self.sizes());
  return copy_from(self, to, false);
}
inline Tensor zero_tensor(
    at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
    std::optional<Device> device, std::optional<bool> pinned) {
  return at::zeros(size, dtype, layout, device, pinned);
}

// The CPU's has no generator argument: it would draw from the CPU's stream.
inline std::tuple<Tensor, Tensor> native_dropout(const Tensor& x, double p, std::optional<bool> train) {
  auto mask_options = x.options().dtype(at::kBool);
  if (x.numel() == 0 || (train && !*train) || p == 0) return {x.clone(), at::ones(x.sizes(), mask_options)};
  if (p == 1) return {at::zeros_like(x), at::zeros(x.sizes(), mask_options)};
  auto mask = at::empty(x.sizes(), mask_options);
  mask.bernoulli_(1 - p);
  return {x.mul(mask).mul_(1. / (1. - p)), mask};
}

// A CPU tensor of the same form and without memory: what torch.compile looks ahead with has none, either.
inline Tensor outline(const Tensor& t) {
  auto made = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(c10::Storage::use_byte_size_t(), 0, c10::GetCPUAllocator(), /*resizable=*/false),
      DispatchKeySet(DispatchKey::CPU), t.dtype());
  made.unsafeGetTensorImpl()->set_sizes_and_strides(
      C10_AS_INTARRAYREF_SLOW_ALLOC(t.sym_sizes()), C10_AS_INTARRAYREF_SLOW_ALLOC(t.sym_strides()));
  if (t.requires_grad() && at::GradMode::is_enabled()) made.set_requires_grad(true);
  return made;
}
// The kernel that would be chosen for CPU tensors. Modes of Python must not meet the outlines.
inline int64_t choice_of_attention(
    const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask, double p, bool causal,
    std::optional<double> scale, bool grouped) {
  c10::impl::ExcludeDispatchKeyGuard no_modes(DispatchKeySet({DispatchKey::Python, DispatchKey::PythonTLSSnapshot}));
  std::optional<Tensor> seen;
  if (mask && mask->defined()) seen = outline(*mask);
  return at::_fused_sdp_choice(outline(q), outline(k), outline(v), seen, p, causal, scale, grouped);
}
// The choice of kernel and the kernels of a CPU tensor, so that results have the same bits.
inline Tensor attention(
    const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask, double p, bool causal,
    std::optional<double> scale, bool grouped) {
  if (Trace::get().on && !inside_native) {
    const IValue given[] = {q, k, v};
    Trace::get().note("aten::scaled_dot_product_attention", Class::native, false, given);
  }
  InsideNative inside;
  auto added = mask;
  bool masked = mask && mask->defined();
  int64_t choice = 0;
  if (is_npu(q) && is_npu(k) && is_npu(v) && (!masked || is_npu(*mask)))
    choice = choice_of_attention(q, k, v, mask, p, causal, scale, grouped);
  if (masked && mask->scalar_type() == at::kBool)
    added = at::zeros_like(*mask, q.options())
                .masked_fill_(mask->logical_not(), -std::numeric_limits<double>::infinity());
  constexpr int64_t kFlash = 1;
  // by its formula, so that both of its products are rounded
  auto& all = Differences::get();
  if (q.scalar_type() == at::kFloat && (all.is_on(hf32_matmul) || all.is_on(fp16_products))) choice = 0;
  auto result = choice == kFlash
      ? std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, p, causal, added, scale))
      : std::get<0>(at::_scaled_dot_product_attention_math(q, k, v, added, p, causal, std::nullopt, scale, grouped));
  if (Events::get().is_on()) {
    Digest given, results;
    given.mix(causal);
    given.setting(scale ? c10::IValue(*scale) : c10::IValue());
    given.setting(p);
    results.tensor(result);
    Events::get().tell("aten::scaled_dot_product_attention", given, results);
  }
  return result;
}

// torch.jit.trace does not record a convolution: it records the `_convolution` that torch's own kernel calls next.
struct Convolution final : c10::OperatorKernel {
  CpuKernel untraced;
  explicit Convolution(Kind kind) : untraced(std::move(kind)) {}
  void operator()(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
    if (!torch::jit::tracer::isTracing()) return untraced(op, keys, stack);
    static auto recorded = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_convolution", "");
    auto& context = at::globalContext();
    torch::jit::push(
        *stack, context.benchmarkCuDNN(), context.deterministicCuDNN(), context.userEnabledCuDNN(),
        context.allowTF32CuDNN());
    recorded.callBoxed(stack);
  }
};

inline Tensor plus(const Tensor& t, const std::optional<Tensor>& bias) {
  return bias && bias->defined() ? t + *bias : t;
}
inline std::tuple<Tensor, Tensor, Tensor> lstm_cell(
    const Tensor& input, const Tensor& hidden, const Tensor& cell, const std::optional<Tensor>& input_bias,
    const std::optional<Tensor>& hidden_bias) {
  auto gates = plus(plus(input + hidden, input_bias), hidden_bias).unsafe_chunk(4, 1);
  auto next = gates[1].sigmoid() * cell + gates[0].sigmoid() * gates[2].tanh();
  return {gates[3].sigmoid() * next.tanh(), next, at::empty({0}, input.options())};
}
inline std::tuple<Tensor, Tensor> gru_cell(
    const Tensor& input, const Tensor& hidden, const Tensor& state, const std::optional<Tensor>& input_bias,
    const std::optional<Tensor>& hidden_bias) {
  auto i = plus(input, input_bias).unsafe_chunk(3, 1), h = plus(hidden, hidden_bias).unsafe_chunk(3, 1);
  auto reset = (i[0] + h[0]).sigmoid(), update = (i[1] + h[1]).sigmoid();
  auto fresh = (i[2] + reset * h[2]).tanh();
  return {(state - fresh) * update + fresh, at::empty({0}, input.options())};
}

}  // namespace virtual_npu
