"""One process for each GPU by torch.multiprocessing.spawn; gradients averaged by hand."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F


class Autoencoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
        self.decoder = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 20))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= size


def partition(rank, world_size):
    """Every rank its own part of the same data."""
    generator = torch.Generator().manual_seed(99)
    data = torch.randn(64, 20, generator=generator)
    return data.chunk(world_size)[rank]


def main_worker(gpu, ngpus_per_node, args):
    args.gpu = gpu
    print(f"Use GPU: {args.gpu} for training")
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", args.port
    torch.cuda.set_device(args.gpu)
    dist.init_process_group("nccl", rank=gpu, world_size=ngpus_per_node)

    torch.manual_seed(21)
    model = Autoencoder().cuda(args.gpu)
    for tensor in model.state_dict().values():
        dist.broadcast(tensor, src=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = partition(gpu, ngpus_per_node).cuda(args.gpu, non_blocking=True)
    for step in range(args.steps):
        batch = data[step % 4 * 8 : step % 4 * 8 + 8]
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch), batch)
        loss.backward()
        average_gradients(model)
        optimizer.step()
    losses = [torch.zeros_like(loss) for _ in range(ngpus_per_node)]
    dist.all_gather(losses, loss.detach())
    if gpu == 0:
        print("last losses", [round(x.item(), 5) for x in losses])
        torch.save({"model": model.state_dict(), "losses": torch.stack(losses).cpu()}, args.output)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", default=6, type=int)
    parser.add_argument("--output", default="autoencoder.pt")
    parser.add_argument("--port", default="29587")
    parser.add_argument("--gpu", default=None, type=int, help="GPU id to use")
    args = parser.parse_args()
    ngpus_per_node = torch.cuda.device_count()
    if ngpus_per_node < 2:
        raise SystemExit("needs two GPUs")
    mp.spawn(main_worker, nprocs=ngpus_per_node, args=(ngpus_per_node, args))


if __name__ == "__main__":
    main()
