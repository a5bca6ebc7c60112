"""Mixture of experts: tokens to the order of their experts, and back."""

import torch

from virtual_npu.operators.register import Unsupported, derivatives, kernel


def _check(name, padded_mode, tokens):
    if padded_mode:
        raise Unsupported(name, "padded_mode=True")
    if tokens.dim() != 2:
        raise RuntimeError(f"The dims of input tokens should be 2 dimensional, but got {tokens.dim()}-dimensional.")


def _permute(tokens, indices, kept):
    order = torch.argsort(indices.reshape(-1), stable=True)
    copies = indices.shape[1] if indices.dim() == 2 else 1
    return tokens[order // copies][:kept], torch.argsort(order).int()


@kernel("npu_moe_token_permute")
def token_permute(tokens, indices, num_out_tokens=None, padded_mode=False):
    _check("npu_moe_token_permute", padded_mode, tokens)
    return _permute(tokens, indices, num_out_tokens or None)


@kernel("npu_moe_token_permute_grad")
def token_permute_grad(tokens, grad, indices, sorted_indices, padded_mode=False):
    return derivatives(lambda t: _permute(t, indices, grad.shape[0])[0], grad, tokens)[0]


def _unpermute(permuted, sorted_indices, probs):
    copies = 1 if probs is None else probs.shape[1]
    # what was dropped when the tokens were permuted counts as zero
    missing = sorted_indices.numel() - permuted.shape[0]
    whole = torch.cat([permuted, permuted.new_zeros(missing, permuted.shape[1])]) if missing > 0 else permuted
    rows = whole[sorted_indices.long()].reshape(-1, copies, permuted.shape[1])
    return (rows if probs is None else rows * probs.unsqueeze(-1)).sum(1).to(permuted.dtype)


@kernel("npu_moe_token_unpermute")
def token_unpermute(permuted, sorted_indices, probs=None, padded_mode=False, restore_shape=None):
    _check("npu_moe_token_unpermute", padded_mode, permuted)
    return _unpermute(permuted, sorted_indices, probs)


@kernel("_npu_moe_token_unpermute")
def token_unpermute_keeping(permuted, sorted_indices, probs=None, padded_mode=False, restore_shape=None):
    _check("npu_moe_token_unpermute", padded_mode, permuted)
    return _unpermute(permuted, sorted_indices, probs), permuted.clone()


@kernel("npu_moe_token_unpermute_grad")
def token_unpermute_grad(permuted, grad, sorted_indices, probs=None, padded_mode=False, restore_shape=None):
    dpermuted, _, dprobs = derivatives(_unpermute, grad, permuted, sorted_indices, probs)
    return dpermuted, dprobs


# the same, called with what is left of an argument that need not be kept
@kernel("npu_moe_token_permute_grad_v2")
def token_permute_grad_v2(grad, sorted_indices, tokens_size_0, tokens_dtype, num_topK, padded_mode=False):
    whole = torch.zeros(sorted_indices.numel(), grad.shape[1], dtype=grad.dtype)
    whole[: grad.shape[0]] = grad
    return whole[sorted_indices.long()].reshape(tokens_size_0, num_topK, -1).sum(1).to(tokens_dtype)


@kernel("npu_moe_token_unpermute_grad_v2")
def token_unpermute_grad_v2(
    grad, sorted_indices, size, dtype, probs=None, padded_mode=False, restore_shape=None, permuted_tokens=None
):
    permuted = torch.zeros(size, grad.shape[1], dtype=dtype) if permuted_tokens is None else permuted_tokens
    dpermuted, _, dprobs = derivatives(_unpermute, grad, permuted, sorted_indices, probs)
    return dpermuted, dprobs
