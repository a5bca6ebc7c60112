"""How DTensor may shard attention: torch_npu says it of its own operators, torch of those for GPUs, nobody of the CPU's."""

import torch


def register():
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    ways = (Replicate(), Shard(1), Shard(0))  # whole, by heads, by samples

    def strategies(outputs, inputs, mask):
        for way in ways:
            fits = mask is None or (way.is_shard() and mask.ndim == 4 and mask.shape[way.dim] > 1)
            yield [way] * outputs, [way] * inputs + ([] if mask is None else [way if fits else Replicate()])

    @register_sharding(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default)
    def attention(query, key, value, *rest, attn_mask=None, **more):
        return list(strategies(2, 3, attn_mask))

    @register_sharding(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default)
    def attention_backward(gradient, query, key, value, out, logsumexp, *rest, attn_mask=None, **more):
        return list(strategies(3, 6, attn_mask))
