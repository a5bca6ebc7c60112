// While a CPU kernel runs for the NPU its allocations come from torch_npu's caching allocator: results can be handed over
// without a copy, and torch.npu.memory_allocated() and its kin stay true.
#pragma once
#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>

#include <cstring>
#include <mutex>
#include <unordered_set>

namespace virtual_npu {

constexpr auto kNpu = c10::DeviceType::PrivateUse1;

inline thread_local bool allocates_npu = false;

struct AllocatesNpu {
  bool before;
  explicit AllocatesNpu(bool on) : before(allocates_npu) { allocates_npu = on; }
  ~AllocatesNpu() { allocates_npu = before; }
};

// What a CPU kernel allocates meanwhile is zero: where it reads what nobody wrote, all runs read the same.
inline thread_local bool allocates_zeroes = false;

struct AllocatesZeroes {
  bool before = allocates_zeroes;
  AllocatesZeroes() { allocates_zeroes = true; }
  ~AllocatesZeroes() { allocates_zeroes = before; }
};

// oneDNN frees by bare pointer, so the deleter must know whose block it is: those handed out are listed.
class Blocks {
 public:
  void add(void* p) {
    auto& shard = of(p);
    std::lock_guard<std::mutex> lock(shard.mutex);
    shard.blocks.insert(p);
  }
  bool remove(void* p) {
    auto& shard = of(p);
    std::lock_guard<std::mutex> lock(shard.mutex);
    return shard.blocks.erase(p);
  }

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_set<void*> blocks;
  };
  Shard shards_[64];
  Shard& of(void* p) { return shards_[(reinterpret_cast<uintptr_t>(p) >> 9) & 63]; }
};

inline Blocks& handed_out() {
  static auto* blocks = new Blocks;  // never destroyed: tensors outlive static objects at exit
  return *blocks;
}
inline c10::DeleterFnPtr npu_free = nullptr, cpu_free = nullptr;

inline void free_either(void* p) {
  if (handed_out().remove(p)) npu_free(p);
  else cpu_free(p);
}

class EitherAllocator final : public c10::Allocator {
 public:
  EitherAllocator() : cpu_(c10::GetCPUAllocator()), npu_(c10::GetAllocator(kNpu)) {
    cpu_free = cpu_->raw_deleter();
    npu_free = npu_->raw_deleter();
    TORCH_CHECK(cpu_free && npu_free, "virtual NPU: this torch_npu has another allocator than expected");
  }
  c10::DataPtr allocate(size_t size) override {
    auto made = allocates_npu && size ? of_npu(size) : cpu_->allocate(size);
    if (allocates_zeroes && size) std::memset(made.get(), 0, size);
    return made;
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_either; }
  void copy_data(void* to, const void* from, std::size_t size) const override { cpu_->copy_data(to, from, size); }

 private:
  c10::Allocator *cpu_, *npu_;

  c10::DataPtr of_npu(size_t size) {
    auto made = npu_->allocate(size);
    void* data = made.get();
    TORCH_CHECK(made.get_context() == data, "virtual NPU: this torch_npu has another allocator than expected");
    made.release_context();
    handed_out().add(data);
    return {data, data, &free_either, c10::Device(c10::DeviceType::CPU)};
  }
};

inline void drop_storage(void* storage) { delete static_cast<c10::Storage*>(storage); }

// The memory of a CPU result becomes NPU memory; the CPU storage, about to die, points at it without owning it.
inline c10::DataPtr take(const c10::Storage& cpu, c10::Device device) {
  void* data = const_cast<void*>(cpu.data());
  const auto& held = cpu.data_ptr();
  if (data && held.get_deleter() == &free_either && held.get_context() == data && handed_out().remove(data)) {
    cpu.unsafeGetStorageImpl()->set_data_ptr(c10::DataPtr(data, c10::Device(c10::DeviceType::CPU))).release_context();
    return c10::DataPtr(data, data, npu_free, device);
  }
  return c10::DataPtr(data, new c10::Storage(cpu), &drop_storage, device);
}

}  // namespace virtual_npu
