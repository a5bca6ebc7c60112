import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

parser = argparse.ArgumentParser()
parser.add_argument("--dist-backend", default="gloo", choices=["mpi", "gloo"])
parser.add_argument("--dist-url", default="tcp://127.0.0.1:23456")


def worker(rank, args):
    dist.init_process_group(args.dist_backend, init_method=args.dist_url, rank=rank, world_size=4)
    torch.cuda.set_device(rank)
