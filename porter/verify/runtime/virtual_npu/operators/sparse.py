"""The one kernel for sparse tensors that torch_npu has of its own; products of them it has none, and so they raise."""

import torch

from virtual_npu import native

_LIBRARY = torch.library.Library("aten", "IMPL")


def _coalesce(x):
    device, parts = x.device, (x._indices(), x._values())
    on_cpu = torch.sparse_coo_tensor(*map(native.as_cpu, parts), x.shape).coalesce()
    indices, values = (native.as_npu(part.contiguous(), device) for part in (on_cpu.indices(), on_cpu.values()))
    return torch.sparse_coo_tensor(indices, values, x.shape, is_coalesced=True)


_LIBRARY.impl("_coalesce", _coalesce, "SparsePrivateUse1", allow_override=True)
