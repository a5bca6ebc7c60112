"""A decoder-only transformer in the style of the small GPTs: SDPA with a mask, weight decay groups, warm-up."""

import math
from contextlib import nullcontext

import torch

from model import GPT, Config

batch_size, block_size, max_iters, warmup = 4, 16, 8, 2
device = "cuda"
dtype = "bfloat16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "float16"

torch.manual_seed(1337)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
device_type = "cuda" if "cuda" in device else "cpu"
ptdtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[dtype]
ctx = nullcontext() if device_type == "cpu" else torch.amp.autocast(device_type=device_type, dtype=ptdtype)
scaler = torch.cuda.amp.GradScaler(enabled=(dtype == "float16"))

text = "the quick brown fox jumps over the lazy dog; " * 40
symbols = sorted(set(text))
data = torch.tensor([symbols.index(c) for c in text])


def get_batch():
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
    if device_type == "cuda":
        x, y = x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
    else:
        x, y = x.to(device), y.to(device)
    return x, y


def lr_at(it):
    if it < warmup:
        return 1e-2 * (it + 1) / warmup
    return 1e-3 + 0.5 * (1 + math.cos(math.pi * (it - warmup) / (max_iters - warmup))) * 9e-3


model = GPT(Config(vocab_size=len(symbols), block_size=block_size))
model.to(device)
optimizer = model.configure_optimizers(weight_decay=0.1, lr=1e-2, betas=(0.9, 0.95), device_type=device_type)
for it in range(max_iters):
    for group in optimizer.param_groups:
        group["lr"] = lr_at(it)
    x, y = get_batch()
    with ctx:
        logits, loss = model(x, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    print(f"iter {it}: loss {loss.item():.4f}, peak {torch.cuda.max_memory_allocated() / 1e6:.2f} MB")

model.eval()
print(repr("".join(symbols[i] for i in model.generate(x[:1], 12)[0].tolist())))
