// What the documents of a target say of its arithmetic, as switches: each changes what goes into an operator, or what comes
// out of it. A changed operator is computed twice, as it was and as it is, so that it is known how far its result moved.
#pragma once
#include <ATen/ATen.h>
#include <ATen/core/stack.h>

#include <atomic>

#include "trace.h"

namespace virtual_npu {

using c10::IValue;
using c10::OperatorHandle;
using torch::jit::Stack;

enum Difference { hf32_conv, hf32_matmul, fp16_products, tanh_gelu, saturation, no_bfloat16, float32_casts, kNone };
inline const char* const kDifferenceNames[] = {
    "hf32-conv", "hf32-matmul", "fp16-products", "tanh-gelu", "saturation", "no-bfloat16", "float32-casts"};

enum class Family { other, product, convolution, attention, gelu, unscale, moves };

// What a family changes, of one operator.
struct Role {
  Family family = Family::other;
  int first = 0, factors = 2;  // positions of what is multiplied
  int approximate = -1;
  std::vector<int> types;  // positions of arguments that are a type
};

struct Moved {
  int64_t calls = 0, changed = 0;
  double furthest = 0;  // largest difference of an element, as a part of the largest element
};

class Differences {
 public:
  enum State { off, watched, on };
  static Differences& get() {
    static auto* all = new Differences;
    return *all;
  }
  bool any = false;  // what every operator asks first
  State states[kNone] = {};
  bool allowed[kNone] = {true, true, true, true, true, true, true};  // by the program's own settings
  std::atomic<bool> overflowed{false};  // the flag of the hardware, which a loss scaler reads
  std::map<std::string, Moved> moved;

  static Difference named(const std::string& name) {
    for (int d = 0; d < kNone; d++)
      if (name == kDifferenceNames[d]) return static_cast<Difference>(d);
    TORCH_CHECK(false, "virtual NPU: no difference is called ", name);
  }
  State state(Difference d) const { return allowed[d] ? states[d] : off; }
  bool is_on(Difference d) const { return any && state(d) == on; }

  void note(Difference d, const std::string& op, bool changed, double furthest) {
    pybind11::gil_scoped_acquire gil;  // guards the members as well
    auto& entry = moved[std::string(kDifferenceNames[d]) + "\n" + op + "\n" + Trace::get().place()];
    entry.calls++;
    entry.changed += changed;
    entry.furthest = std::max(entry.furthest, furthest);
  }
};

inline bool is_float(const IValue& value) {
  return value.isTensor() && value.toTensor().defined() && value.toTensor().scalar_type() == at::kFloat;
}

// 11 bits of mantissa are documented (float32 has 23), and rounding to the nearest; that ties go to even is assumed.
inline Tensor as_hf32(const Tensor& t) {
  constexpr int dropped = 12;
  auto bits = t.view(at::kInt);
  auto odd = at::bitwise_and(at::bitwise_right_shift(bits, at::Scalar(dropped)), at::Scalar(1));
  auto rounded = at::bitwise_and(bits.add(odd).add((1 << (dropped - 1)) - 1), at::Scalar(-(1 << dropped)));
  return at::where(at::isfinite(t), rounded.view(at::kFloat), t);
}

inline bool is_finite(const IValue& value) {
  if (value.isTensor()) {
    const auto& t = value.toTensor();
    return !t.defined() || !t.is_floating_point() || at::isfinite(t).all().item<bool>();
  }
  if (value.isTensorList()) {
    for (const Tensor& t : value.toTensorVector())
      if (!is_finite(IValue(t))) return false;
  }
  return !value.isDouble() || std::isfinite(value.toDouble());
}

inline Tensor as_fp16(const Tensor& t) {
  auto half = t.to(at::kHalf);
  if (Differences::get().is_on(saturation) && !is_finite(half)) {
    if (is_finite(t)) Differences::get().overflowed = true;
    half.nan_to_num_(0.0);
  }
  return half.to(at::kFloat);
}

// How far `now` is from `then`, as a part of the largest element; 0 where every bit is the same.
inline double distance(const Tensor& then, const Tensor& now) {
  if (!then.defined() || !then.numel() || !then.is_floating_point()) return 0;
  auto same = then.eq(now).logical_or_(then.ne(then).logical_and_(now.ne(now)));
  if (same.all().item<bool>()) return 0;
  auto apart = at::sub(now, then).abs_().masked_fill_(same, 0).max().item<double>();
  auto largest = at::nan_to_num(then, 0.0, 0.0, 0.0).abs().max().item<double>();
  return std::isfinite(apart) && largest > 0 ? apart / largest : std::numeric_limits<double>::infinity();
}

// One call of an operator whose arguments, on the CPU, lie on the stack.
class Computation {
 public:
  Computation(const OperatorHandle& op, const std::string& name, const Role& role, Stack* stack)
      : op_(op), name_(name), role_(role), stack_(stack), arguments_(op.schema().arguments()),
        base_(stack->size() - arguments_.size()) {}

  void run() {
    auto& all = Differences::get();
    if (role_.family == Family::unscale && all.is_on(saturation)) return unscale();
    bool saturates = all.is_on(saturation) && role_.family != Family::moves;
    bool watches = all.state(saturation) == Differences::watched && role_.family != Family::moves;
    std::vector<IValue> given;
    if (saturates) given.assign(stack_->begin() + base_, stack_->end());
    auto change = changed_by();
    if (change == kNone || all.state(change) == Differences::watched) {
      compute(stack_);
      if (change != kNone) all.note(change, name_, false, 0);
    } else {
      compute_twice(change);
    }
    if (watches && !results_are_finite()) all.note(saturation, name_, false, 0);
    if (saturates && !results_are_finite()) saturate(given);
  }

 private:
  const OperatorHandle& op_;
  const std::string& name_;
  const Role& role_;
  Stack* stack_;
  const std::vector<c10::Argument>& arguments_;
  size_t base_;

  IValue& argument(size_t k) { return (*stack_)[base_ + k]; }
  bool written(size_t k) const { return arguments_[k].alias_info() && arguments_[k].alias_info()->isWrite(); }
  void compute(Stack* stack) { op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack); }

  Difference changed_by() {
    auto& all = Differences::get();
    auto known = [&](Difference d) { return all.state(d) != Differences::off; };
    if (role_.family == Family::gelu)
      return known(tanh_gelu) && argument(role_.approximate).toStringRef() == "none" ? tanh_gelu : kNone;
    bool convolves = role_.family == Family::convolution;
    if (!convolves && role_.family != Family::product && role_.family != Family::attention) return kNone;
    for (int k = role_.first; k < role_.first + role_.factors; k++)
      if (!is_float(argument(k))) return kNone;
    if (known(fp16_products)) return fp16_products;
    auto hf32 = convolves ? hf32_conv : hf32_matmul;
    return known(hf32) ? hf32 : kNone;
  }
  void compute_twice(Difference change) {
    Stack plain;
    for (size_t k = 0; k < arguments_.size(); k++) {
      auto& value = argument(k);
      plain.push_back(written(k) && value.isTensor() ? IValue(value.toTensor().clone()) : value);
    }
    compute(&plain);
    if (change == tanh_gelu) argument(role_.approximate) = "tanh";
    else round(change == fp16_products);
    compute(stack_);
    const auto first = stack_->size() - plain.size();
    bool changed = false;
    double furthest = 0;
    for (size_t r = 0; r < plain.size(); r++) {
      auto& result = (*stack_)[first + r];
      if (!result.isTensor() || !result.toTensor().defined()) continue;
      auto now = result.toTensor();
      if (change == fp16_products && now.scalar_type() == at::kFloat) now.copy_(as_fp16(now));
      // the gradient of a bias is a sum, nothing is multiplied there
      if (change == hf32_conv && role_.factors == 3 && r == 2) now.copy_(plain[r].toTensor());
      auto far = distance(plain[r].toTensor(), now);
      changed |= far > 0;
      furthest = std::max(furthest, far);
    }
    Differences::get().note(change, name_, changed, furthest);
  }
  // HF32 is a type of the factors alone; an operator that runs in float16 takes and gives nothing else.
  void round(bool fp16) {
    for (size_t k = 0; k < arguments_.size(); k++) {
      auto& value = argument(k);
      bool factor = static_cast<int>(k) >= role_.first && static_cast<int>(k) < role_.first + role_.factors;
      if (!is_float(value) || arguments_[k].is_out() || !(fp16 || factor)) continue;
      auto rounded = fp16 ? as_fp16(value.toTensor()) : as_hf32(value.toTensor());
      if (written(k)) value.toTensor().copy_(rounded);
      else value = rounded;
    }
  }
  bool results_are_finite() {
    const auto count = op_.schema().returns().size();
    for (size_t r = stack_->size() - count; r < stack_->size(); r++)
      if (!is_finite((*stack_)[r])) return false;
    return true;
  }
  // inf becomes the largest number, nan becomes 0.
  void saturate(const std::vector<IValue>& given) {
    auto& all = Differences::get();
    bool begun = false;  // the program put inf or nan there itself
    for (size_t k = 0; k < given.size(); k++) begun |= !written(k) && !is_finite(given[k]);
    if (!begun) all.overflowed = true;
    const auto count = op_.schema().returns().size();
    for (size_t r = stack_->size() - count; r < stack_->size(); r++) {
      auto& value = (*stack_)[r];
      for (Tensor t : value.isTensor() ? std::vector<Tensor>{value.toTensor()} : tensors(value))
        if (t.defined() && t.is_floating_point()) t.nan_to_num_(0.0);
    }
    all.note(saturation, name_, true, std::numeric_limits<double>::infinity());
  }
  static std::vector<Tensor> tensors(const IValue& value) {
    return value.isTensorList() ? value.toTensorVector() : std::vector<Tensor>{};
  }
  // Saturated gradients are finite: torch_npu reads the flag, and clears it.
  void unscale() {
    auto inverse = argument(2).toTensor();
    if (Differences::get().overflowed.exchange(false)) argument(1).toTensor().fill_(1);
    else
      for (Tensor gradient : argument(0).toTensorVector()) gradient.mul_(inverse);
    torch::jit::drop(*stack_, arguments_.size());
  }
};

}  // namespace virtual_npu
