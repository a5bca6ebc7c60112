import torch


class ColumnLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight):
        ctx.save_for_backward(input, weight)
        return torch.matmul(input, weight.t())

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        grad_output = grad_output.view(-1, grad_output.shape[-1])
        input = input.view(-1, input.shape[-1])
        grad_weight = torch.matmul(grad_output.transpose(0, 1).contiguous(), input)
        return grad_output @ weight, grad_weight


def step(x, w):
    ColumnLinear.apply(x.cuda(), w).sum().backward()
