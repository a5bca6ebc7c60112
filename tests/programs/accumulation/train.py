"""Gradient accumulation under DDP: no_sync for all but the last micro batch."""

import contextlib
import os

import torch
import torch.distributed as dist
import torch.nn as nn

GLOBAL_BATCH, MICRO_BATCH, STEPS = 32, 4, 5


class Tagger(nn.Module):
    def __init__(self, vocab=50, width=24, tags=6):
        super().__init__()
        self.embedding = nn.Embedding(vocab, width, padding_idx=0)
        self.mixer = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.classifier = nn.Linear(width, tags)

    def forward(self, tokens):
        return self.classifier(self.mixer(self.embedding(tokens)))


def batches(rank, world_size, per_rank):
    generator = torch.Generator().manual_seed(17)
    for _ in range(STEPS):
        tokens = torch.randint(1, 50, (GLOBAL_BATCH, 12), generator=generator)
        yield tokens[rank * per_rank : (rank + 1) * per_rank]


def main():
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    local_rank = int(os.environ.get("LOCAL_RANK", rank))
    torch.cuda.set_device(local_rank)
    dist.init_process_group(backend=dist.Backend.NCCL)
    torch.manual_seed(0)

    model = nn.parallel.DistributedDataParallel(Tagger().cuda(), device_ids=[torch.cuda.current_device()])
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, betas=(0.9, 0.95))
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    accumulate = GLOBAL_BATCH // (MICRO_BATCH * world_size)
    model.train()
    for step, tokens in enumerate(batches(rank, world_size, GLOBAL_BATCH // world_size)):
        tokens = tokens.cuda()
        labels = (tokens * 7 + 3) % 6
        labels[tokens % 5 == 0] = -100
        running = torch.zeros((), device="cuda")
        for micro in range(accumulate):
            last = micro == accumulate - 1
            part = slice(micro * MICRO_BATCH, (micro + 1) * MICRO_BATCH)
            with contextlib.nullcontext() if last else model.no_sync():
                logits = model(tokens[part])
                loss = criterion(logits.view(-1, 6), labels[part].reshape(-1)) / accumulate
                loss.backward()
            running += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        dist.all_reduce(running)
        if rank == 0:
            print({"step": step, "loss": round(running.item() / world_size, 6)})
    torch.cuda.empty_cache()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
