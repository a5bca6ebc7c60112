"""Two ranks train an encoder and a decoder that spell numbers; gradients are averaged by hand."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
args = parser.parse_args()
use_cuda = torch.cuda.is_available()
if use_cuda:
    torch.cuda.set_device(args.local_rank)
device = torch.device(f"cuda:{args.local_rank}" if use_cuda else "cpu")
dist.init_process_group("nccl" if use_cuda else "gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(args.seed)

WORDS = "<pad> <s> zero one two three four five six seven eight nine".split()


def tokens(number):
    return [WORDS.index("<s>")] + [2 + int(digit) for digit in f"{number:03d}"]


numbers = torch.randperm(1000, generator=torch.Generator().manual_seed(args.seed)).tolist()


class Speller(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(12, 32), nn.Embedding(12, 32)
        self.places = nn.Embedding(4, 32)
        self.body = nn.Transformer(32, 4, 1, 1, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(32, 12)

    def forward(self, source, target):
        place = self.places(torch.arange(4, device=source.device))
        mask = torch.full((4, 4), float("-inf"), device=source.device).triu(1)
        return self.head(self.body(self.source(source) + place, self.target(target) + place, tgt_mask=mask))


model = Speller().to(device)
for parameter in model.parameters():
    dist.broadcast(parameter.data, 0)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.0)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) ** -0.5, (step + 1) / 10))
for step in range(40):
    mine = numbers[rank::world_size][step * 12 : step * 12 + 12]
    batch = torch.tensor([tokens(number) for number in mine]).to(device)
    wanted = batch.flip(1)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=False):
        logits = model(batch, wanted.roll(1, 1))
    loss = F.cross_entropy(logits.float().flatten(0, 1), wanted.flatten())
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    if rank == 0:
        print(f"step {step}: loss {loss.item():.6f}")
dist.destroy_process_group()
