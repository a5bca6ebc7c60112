import torch
import torch.distributed as dist
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors


def train(model, loader, opt):
    world = dist.get_world_size()
    for x in loader:
        model(x.cuda()).sum().backward()
        grads = [p.grad for p in model.parameters()]
        flat = _flatten_dense_tensors(grads)
        dist.all_reduce(flat)  # expect: advice gradients-in-one-message
        flat /= world
        for grad, part in zip(grads, _unflatten_dense_tensors(flat, grads)):
            grad.copy_(part)
        opt.step()
        opt.zero_grad()
