// NPU memory is host memory: an NPU tensor is seen as a CPU tensor, and a CPU result as an NPU one, without a copy.
#pragma once
#include <c10/core/StorageImpl.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "memory.h"
#include "torch_npu/csrc/core/NPUStorageImpl.h"

namespace virtual_npu {

using at::Tensor;
using c10::Device;
using c10::DispatchKey;
using c10::DispatchKeySet;

inline bool is_npu(const Tensor& t) { return t.defined() && t.device().type() == kNpu; }
inline c10::DeviceIndex current_device() { return c10::impl::VirtualGuardImpl(kNpu).getDevice().index(); }

// Storages that stand for each other during one call, so that tensors that shared memory still do.
struct Pairs {
  c10::SmallVector<std::pair<c10::Storage, c10::Storage>, 4> npu_and_cpu;
};

inline Tensor on_storage(const c10::Storage& storage, const Tensor& like, DispatchKey key) {
  auto made = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage), DispatchKeySet(key), like.dtype());
  auto* impl = made.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (like.is_conj()) made._set_conj(true);
  if (like.is_neg()) made._set_neg(true);
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  return made;
}

inline Tensor as_cpu(const Tensor& t, Pairs& pairs) {
  const auto& npu = t.storage();
  for (auto& [ours, cpu] : pairs.npu_and_cpu)
    if (ours.unsafeGetStorageImpl() == npu.unsafeGetStorageImpl()) return on_storage(cpu, t, DispatchKey::CPU);
  c10::DataPtr data(const_cast<void*>(npu.data()), new c10::Storage(npu), &drop_storage, Device(c10::DeviceType::CPU));
  c10::Storage cpu(
      c10::Storage::use_byte_size_t(), npu.nbytes(), std::move(data), c10::GetCPUAllocator(), /*resizable=*/true);
  pairs.npu_and_cpu.emplace_back(npu, cpu);
  return on_storage(cpu, t, DispatchKey::CPU);
}

// What torch_npu's own kernels expect to read in a storage.
inline void describe(c10::StorageImpl* storage, const Tensor& like) {
  auto& description = static_cast<torch_npu::NPUStorageImpl*>(storage)->npu_desc_;
  auto sizes = like.sizes();
  description.base_sizes_.assign(sizes.begin(), sizes.end());
  description.storage_sizes_ = description.base_sizes_;
  description.base_strides_.resize(sizes.size());
  int64_t count = 1;
  for (auto k = static_cast<int64_t>(sizes.size()) - 1; k >= 0; k--) {
    description.base_strides_[k] = count;
    count *= sizes[k];
  }
  auto format = sizes.size() == 4 ? ACL_FORMAT_NCHW : sizes.size() == 5 ? ACL_FORMAT_NCDHW : ACL_FORMAT_ND;
  description.npu_format_ = description.origin_format_ = format;
  description.data_type_ = like.dtype();
}

Tensor as_npu(Tensor&& t, Device device, Pairs& pairs);

// What is computed with it is up to torch_npu's own kernels for sparse tensors.
inline Tensor sparse_as_npu(const Tensor& t, Device device, Pairs& pairs) {
  auto indices = as_npu(t._indices(), device, pairs), values = as_npu(t._values(), device, pairs);
  return at::_sparse_coo_tensor_unsafe(indices, values, t.sizes(), values.options().layout(at::kSparse), t.is_coalesced());
}

// torch_npu casts every storage on its device to its own class, without a check: made through its public hook.
inline Tensor as_npu(Tensor&& t, Device device, Pairs& pairs) {
  if (!t.defined() || !t.device().is_cpu()) return std::move(t);
  if (t.layout() == at::kSparse) return sparse_as_npu(t, device, pairs);
  TORCH_CHECK(
      t.layout() == at::kStrided, "virtual NPU: tensors of this layout are not simulated, this result is ", t.layout());
  for (auto& [npu, cpu] : pairs.npu_and_cpu)
    if (cpu.unsafeGetStorageImpl() == t.storage().unsafeGetStorageImpl())
      return on_storage(npu, t, DispatchKey::PrivateUse1);
  static auto create = c10::GetStorageImplCreate(kNpu);
  static auto* allocator = c10::GetAllocator(kNpu);
  c10::Storage cpu = t.storage();
  auto size = cpu.nbytes();
  c10::Storage npu(create(c10::StorageImpl::use_byte_size_t(), size, take(cpu, device), allocator, /*resizable=*/true));
  describe(npu.unsafeGetStorageImpl(), t);
  auto made = on_storage(npu, t, DispatchKey::PrivateUse1);
  pairs.npu_and_cpu.emplace_back(std::move(npu), std::move(cpu));
  return made;
}

}  // namespace virtual_npu
