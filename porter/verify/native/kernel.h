// The one kernel behind nearly all operators: see the NPU tensors as CPU tensors, run the CPU kernel, hand the results back.
#pragma once
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "events.h"
#include "roles.h"

namespace virtual_npu {

struct Kind {
  Class kind = Class::native;
  bool other_devices = false;  // takes tensors of other devices, as the real kernels do
  bool synchronises = false;
  int generator = -1, memory_format = -1;  // positions of such arguments
  std::string name;
  Role role;
  std::string falls_back_as;  // with its overload: the operator that torch_npu has no kernel for
};

// The state of record is torch_npu's generator (seed, offset); each random kernel draws from a CPU generator derived from
// it. With `cpu_random` it draws from the CPU's default generator, to compare with a run on the plain CPU.
inline bool cpu_random = false;

inline uint64_t mixed(uint64_t z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

inline at::Generator derived(const std::optional<at::Generator>& given, Device device) {
  at::Generator source = given && given->defined() ? *given : at::globalContext().defaultGenerator(device);
  uint64_t seed, offset;
  {
    std::lock_guard<std::mutex> lock(source.mutex());
    seed = source.current_seed();
    offset = source.get_offset();
    source.set_offset(offset + 4);
  }
  return at::make_generator<at::CPUGeneratorImpl>(mixed(seed ^ mixed(offset)));
}

// What the real fallback says and does: once for every operator, and past Python's warnings.
inline void fall_back(const std::string& name) {
  static auto* warned = new std::unordered_set<std::string>;
  static std::mutex mutex;
  static const bool forbidden = [] {
    const char* text = std::getenv("TORCH_NPU_FALLBACK_CPU_DISABLE");
    return text && std::string(text) == "1";
  }();
  TORCH_CHECK(
      !forbidden, "The operator '", name,
      "' would execute its main computation on CPU through dispatcher backend fallback because no kernel is registered "
      "for the NPU PrivateUse1 backend, but CPU fallback is disabled by TORCH_NPU_FALLBACK_CPU_DISABLE=1.");
  std::lock_guard<std::mutex> lock(mutex);
  if (!warned->insert(name).second) return;
  c10::WarningHandler to_the_log;
  c10::WarningUtils::WarningHandlerGuard guard(&to_the_log);
  TORCH_WARN(
      "CAUTION: The operator '", name,
      "' is not currently supported on the NPU backend and will fall back to run on the CPU. This may have "
      "performance implications.");
}

// While a formula or a composite of the CPU runs in place of one kernel of torch_npu's, what it is made of does not run on
// a real NPU: it is neither noted nor a fallback.
inline thread_local int inside_native = 0;
struct InsideNative {
  InsideNative() { inside_native++; }
  ~InsideNative() { inside_native--; }
};

class Call {
 public:
  Call(const Kind& kind, const OperatorHandle& op, Stack* stack)
      : kind_(kind), op_(op), stack_(stack), count_(op.schema().arguments().size()), base_(stack->size() - count_) {}

  void run() {
    for (size_t k = 0; k < count_; k++) {
      given_.push_back((*stack_)[base_ + k]);
      translate((*stack_)[base_ + k]);
    }
    if (device_.index() < 0) device_ = Device(kNpu, current_device());
    if (cpu_seen_ && have_device_ && !device_argument_ && !kind_.other_devices) refuse(Device(c10::DeviceType::CPU));
    ignore_memory_format();
    derive_generator();
    if (Differences::get().is_on(no_bfloat16)) without_bfloat16(kind_.name, kind_.role, &(*stack_)[base_]);
    if (kind_.kind == Class::fallback && !inside_native) fall_back(kind_.falls_back_as);
    bool waits = kind_.synchronises || (Trace::get().on && masks());
    if (Trace::get().on && (waits || !inside_native))
      Trace::get().note(kind_.name.c_str(), inside_native ? Class::native : kind_.kind, waits,
                        c10::ArrayRef<IValue>(given_.data(), given_.size()));
    {
      c10::OptionalDeviceGuard guard;
      if (device_.index() != current_device()) guard.reset_device(device_);
      at::AutoDispatchBelowADInplaceOrView below;
      c10::impl::ExcludeDispatchKeyGuard no_autocast(DispatchKeySet({DispatchKey::AutocastCPU}));
      AllocatesNpu npu_memory(!to_host_);
      if (Differences::get().any) Computation(op_, kind_.name, kind_.role, stack_).run();
      else op_.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), stack_);
    }
    adopt_resized();
    hand_back();
    if (Events::get().is_on() && is_filled(kind_.name)) tell();
  }

 private:
  const Kind& kind_;
  const OperatorHandle& op_;
  Stack* stack_;
  size_t count_, base_;
  Pairs pairs_;
  Device device_{kNpu, -1};
  bool have_device_ = false, device_argument_ = false, to_host_ = false, cpu_seen_ = false;
  c10::SmallVector<IValue, 8> given_;

  void tell() {
    Digest given, results;
    given.mix(device_.index());
    const auto& arguments = op_.schema().arguments();
    for (size_t k = 0; k < count_; k++) {
      given.setting(given_[k]);
      if (arguments[k].alias_info() && arguments[k].alias_info()->isWrite()) results.results(given_[k]);
    }
    for (size_t r = stack_->size() - op_.schema().returns().size(); r < stack_->size(); r++)
      results.results((*stack_)[r]);
    Events::get().tell(kind_.name, given, results);
  }
  [[noreturn]] void refuse(Device other) {
    TORCH_CHECK(
        false, "Expected all tensors to be on the same device, but found at least two devices, ", device_, " and ",
        other, "! (when running ", op_.schema().name(), ")");
  }
  Tensor seen_on_cpu(const Tensor& t) {
    if (!t.defined()) return t;
    if (t.device().type() != kNpu) {
      cpu_seen_ |= t.dim() > 0;
      return t;
    }
    TORCH_CHECK(
        t.layout() == at::kStrided, "virtual NPU: only dense tensors are simulated (", op_.schema().name(), ")");
    if (have_device_ && t.device() != device_ && t.dim() > 0 && !kind_.other_devices) refuse(t.device());
    if (!have_device_ || t.dim() > 0) {
      device_ = t.device();
      have_device_ = true;
    }
    return as_cpu(t, pairs_);
  }
  void translate(IValue& value) {
    if (value.isTensor()) {
      value = seen_on_cpu(value.toTensor());
    } else if (value.isTensorList()) {
      std::vector<Tensor> list;
      for (const Tensor& t : value.toTensorVector()) list.push_back(seen_on_cpu(t));
      value = list;
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<Tensor>> list;
      for (const auto& entry : value.toOptionalTensorList()) {
        std::optional<Tensor> t = entry;
        list.push_back(t ? std::optional<Tensor>(seen_on_cpu(*t)) : std::nullopt);
      }
      value = list;
    } else if (value.isDevice()) {
      auto asked = value.toDevice();
      device_argument_ = true;
      if (asked.type() == kNpu) {
        device_ = asked.index() < 0 ? Device(kNpu, current_device()) : asked;
        have_device_ = true;
        value = Device(c10::DeviceType::CPU);
      } else {
        to_host_ = true;
      }
    }
  }
  // An index by a mask asks the device how many there are.
  bool masks() const {
    if (kind_.name != "aten::index" && kind_.name != "aten::index_put_" && kind_.name != "aten::_index_put_impl_")
      return false;
    for (const auto& entry : given_[1].toOptionalTensorList()) {
      std::optional<Tensor> t = entry;
      if (t && t->defined() && t->scalar_type() == at::kBool) return true;
    }
    return false;
  }
  // torch_npu silently ignores channels_last in these; where it refuses it, its own check has done so before.
  void ignore_memory_format() {
    if (kind_.memory_format < 0) return;
    auto& value = (*stack_)[base_ + kind_.memory_format];
    if (value.isNone()) return;
    auto format = value.toMemoryFormat();
    if (format == at::MemoryFormat::ChannelsLast || format == at::MemoryFormat::ChannelsLast3d)
      value = at::MemoryFormat::Contiguous;
  }
  void derive_generator() {
    if (kind_.generator < 0) return;
    auto& value = (*stack_)[base_ + kind_.generator];
    std::optional<at::Generator> asked;
    if (value.isGenerator()) asked = value.toGenerator();
    TORCH_CHECK(
        !(asked && asked->defined() && asked->device().is_cpu()),
        "Expected a 'npu' device type for generator but found 'cpu'");
    value = cpu_random ? IValue() : IValue(derived(asked, device_));
  }
  // A kernel that resized its tensor made new memory: the NPU storage takes it over.
  void adopt_resized() {
    for (auto& [npu, cpu] : pairs_.npu_and_cpu) {
      if (cpu.data() == npu.data()) continue;
      auto size = cpu.nbytes();
      auto* impl = cpu.unsafeGetStorageImpl();
      Device host(c10::DeviceType::CPU);
      c10::Storage made(
          c10::Storage::use_byte_size_t(), size, impl->set_data_ptr(c10::DataPtr(const_cast<void*>(cpu.data()), host)),
          nullptr, /*resizable=*/false);
      npu.unsafeGetStorageImpl()->set_data_ptr_noswap(take(made, npu.device()));
      npu.unsafeGetStorageImpl()->set_nbytes(size);
    }
  }
  // A result that the schema says is an argument written to is that argument; everything else becomes an NPU tensor.
  void hand_back() {
    const auto& returns = op_.schema().returns();
    const auto first = stack_->size() - returns.size();
    uint64_t used = 0;
    for (size_t r = 0; r < returns.size(); r++) {
      auto& value = (*stack_)[first + r];
      if (is_argument(returns[r].alias_info(), value, used)) continue;
      if (value.isTensor()) {
        if (!to_host_) value = as_npu(std::move(value).toTensor(), device_, pairs_);
      } else if (value.isTensorList()) {
        std::vector<Tensor> list;
        for (Tensor t : value.toTensorVector()) list.push_back(as_npu(std::move(t), device_, pairs_));
        value = list;
      }
    }
  }
  bool is_argument(const c10::AliasInfo* alias, IValue& value, uint64_t& used) {
    if (!alias || !alias->isWrite()) return false;
    const auto& arguments = op_.schema().arguments();
    for (size_t k = 0; k < count_; k++) {
      const auto* other = arguments[k].alias_info();
      if (!other || !other->isWrite() || (used >> k & 1) || !(*other == *alias)) continue;
      used |= 1ull << k;
      if (given_[k].isTensor() && is_npu(given_[k].toTensor()) && value.isTensor())
        follow_shape(given_[k].toTensor(), value.toTensor());
      value = given_[k];
      return true;
    }
    return false;
  }
  static void follow_shape(const Tensor& npu, const Tensor& cpu) {
    if (cpu.sizes() == npu.sizes() && cpu.strides() == npu.strides() && cpu.storage_offset() == npu.storage_offset())
      return;
    npu.unsafeGetTensorImpl()->set_sizes_and_strides(cpu.sizes(), cpu.strides(), cpu.storage_offset());
    describe(npu.storage().unsafeGetStorageImpl(), cpu);
  }
};

struct CpuKernel final : c10::OperatorKernel {
  Kind kind;
  explicit CpuKernel(Kind k) : kind(std::move(k)) {}
  void operator()(const OperatorHandle& op, DispatchKeySet, Stack* stack) { Call(kind, op, stack).run(); }
};

// A CPU kernel that reads memory which nobody has written.
template <class Kernel>
struct OnZeroes final : c10::OperatorKernel {
  Kernel torchs;
  explicit OnZeroes(Kernel kernel) : torchs(std::move(kernel)) {}
  void operator()(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
    AllocatesZeroes zeroes;
    torchs.callBoxed(op, keys, stack);
  }
};

// What a CPU tensor would run at `key`, a composite or an autograd formula, on the NPU tensors themselves.
struct AsCpu final : c10::OperatorKernel {
  DispatchKey key;
  explicit AsCpu(DispatchKey k) : key(k) {}
  void operator()(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
    if (Trace::get().on && !inside_native) {
      auto count = op.schema().arguments().size();
      Trace::get().note(op.schema().name().c_str(), Class::native, false,
                        c10::ArrayRef<IValue>(stack->data() + stack->size() - count, count));
    }
    InsideNative inside;
    op.getComputedKernelForDispatchKey(key).callBoxed(op, keys, stack);
  }
};

template <class Functor>
torch::CppFunction boxed(Functor&& functor) {
  using F = std::decay_t<Functor>;
  return torch::CppFunction::makeFromBoxedKernel(
      c10::BoxedKernel::makeFromFunctor(std::make_unique<F>(std::forward<Functor>(functor))));
}

}  // namespace virtual_npu
