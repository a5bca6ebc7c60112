import amp_C  # expect: PRT355
import torch
from apex.multi_tensor_apply import multi_tensor_applier  # expect: PRT355


def clip(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    overflow = torch.cuda.IntTensor([0])
    norm, _ = multi_tensor_applier(amp_C.multi_tensor_l2norm, overflow, [grads], False)  # expect: PRT354
    coefficient = max_norm / (norm.item() + 1e-6)
    if coefficient < 1.0:
        multi_tensor_applier(amp_C.multi_tensor_scale, overflow, [grads, grads], coefficient)  # expect: PRT354
