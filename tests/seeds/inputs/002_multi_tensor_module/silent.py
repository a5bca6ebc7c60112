import torch


def clip(parameters, max_norm):
    grads = [p.grad for p in parameters if p.grad is not None]
    norms = torch._foreach_norm(grads)
    norm = torch.linalg.vector_norm(torch.stack(norms))
    coefficient = max_norm / (norm.item() + 1e-6)
    if coefficient < 1.0:
        torch._foreach_mul_(grads, coefficient)
