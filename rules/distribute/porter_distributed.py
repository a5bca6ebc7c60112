"""One process per NPU: `torchrun --nproc_per_node 8 train.py`. Without torchrun a script runs as one process, as before.

`porter migrate --distribute` wrote this file beside the script. It needs torch and torch_npu, not porter, and is yours to change.
"""

import builtins
import inspect
import logging
import os
import random
import socket
import sys
import weakref
from contextlib import contextmanager
from functools import partialmethod

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

DEVICE, BACKEND = "npu", "hccl"
_KEPT = (
    "batch_size", "num_workers", "collate_fn", "pin_memory", "drop_last", "timeout", "worker_init_fn",
    "multiprocessing_context", "generator", "prefetch_factor", "persistent_workers",
)  # fmt: skip
_samplers, _models = weakref.WeakSet(), []
_passes = 0  # over the data
_apart = False  # whether each rank draws its own random numbers by now
_waits = False  # inside of first_alone()


def start():
    """Joins the process group, takes the device of this rank, and lets the first rank alone print."""
    if dist.is_initialized():
        return
    if "RANK" not in os.environ:  # no torchrun: one process
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        alone = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in alone.items()})
    getattr(torch, DEVICE).set_device(local_rank())
    dist.init_process_group(BACKEND)
    _draw_the_same()
    if not is_first():
        builtins.print = lambda *values, **options: None
        os.environ["WANDB_MODE"] = "disabled"
        logging.disable(logging.INFO)
        if "tqdm" in sys.modules:
            tqdm = sys.modules["tqdm"].tqdm
            tqdm.__init__ = partialmethod(tqdm.__init__, disable=True)


def local_rank():
    """The number of this rank's device."""
    return int(os.environ["LOCAL_RANK"])


def is_first():
    """Whether this rank saves and logs."""
    return not dist.is_initialized() or dist.get_rank() == 0


def ranks():
    """How many ranks train."""
    return dist.get_world_size() if dist.is_initialized() else 1


def _draw_the_same():
    """All ranks go on from the random state of the first: first weights, splits and orders of files are the same everywhere."""
    device, numpy = getattr(torch, DEVICE), sys.modules.get("numpy")
    state = [torch.get_rng_state(), device.get_rng_state(), random.getstate(), numpy and numpy.random.get_state()]
    dist.broadcast_object_list(state, 0)
    torch.set_rng_state(state[0])
    device.set_rng_state(state[1])
    random.setstate(state[2])
    if numpy and state[3]:
        numpy.random.set_state(state[3])


def _draw_apart():
    """From the training on each rank draws its own noise, dropout and augmentation."""
    global _apart
    rank = 0 if is_first() else dist.get_rank()
    if rank and not _apart:
        torch.manual_seed(torch.initial_seed() + rank)
        random.seed(random.getrandbits(32) + rank)
        if "numpy" in sys.modules:
            draw = sys.modules["numpy"].random
            draw.seed((int(draw.randint(1 << 30)) + rank) % (1 << 32))
    _apart = True


class _Parallel(DistributedDataParallel):
    """Looks like the model inside: its attributes, the names of its weights, and what is saved or copied of it."""

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("module"), name)

    def state_dict(self, *args, **options):
        return self.module.state_dict(*args, **options)

    def load_state_dict(self, *args, **options):
        return self.module.load_state_dict(*args, **options)

    def __reduce_ex__(self, protocol):
        return _itself, (self.module,)


def _itself(model):
    return model


def parallel(model, **options):
    """The model on this rank's device, with gradients that are the mean over all ranks."""
    return _wrapped(_Parallel, model, options)


def data_parallel(model, **options):
    """The same where DataParallel stood: the names of the weights begin with `module.`, as they did there."""
    return _wrapped(DistributedDataParallel, model, options)


def _wrapped(kind, model, options):
    model = model.to(DEVICE)
    if not any(weight.requires_grad for weight in model.parameters()):
        return model
    made = kind(model, device_ids=[local_rank()], **options)
    _models.append(made)
    return made


def loader(*args, **options):
    """A DataLoader of which each rank reads its part; `batch_size` counts the samples of all ranks together."""
    given = inspect.signature(DataLoader).bind(*args, **options).arguments
    dataset, size, shuffle = given.pop("dataset"), given.pop("batch_size", 1), bool(given.pop("shuffle", False))
    if (
        isinstance(dataset, IterableDataset)
        or given.get("sampler") is not None
        or given.get("batch_sampler") is not None
    ):
        raise ValueError("a loader with an order of its own: give each rank its part by hand, with dist.get_rank()")
    if size is None or size % ranks():
        raise ValueError(f"batch_size={size} is shared by {ranks()} ranks: choose a multiple of {ranks()}")
    given["sampler"] = DistributedSampler(dataset, shuffle=shuffle, drop_last=given.get("drop_last", False))
    _samplers.add(given["sampler"])
    return DataLoader(dataset, batch_size=size // ranks(), **given)


def share(made):
    """The same of a loader that is there already."""
    if not isinstance(made.sampler, (RandomSampler, SequentialSampler)):
        raise ValueError("a loader with an order of its own: give each rank its part by hand, with dist.get_rank()")
    given = {name: getattr(made, name) for name in _KEPT}
    return loader(made.dataset, shuffle=isinstance(made.sampler, RandomSampler), **given)


def epoch(number=None):
    """Before each pass over the data: another order in each epoch, the same for all ranks."""
    global _passes
    if not _passes:
        _begin_alike()
    for sampler in _samplers:
        sampler.set_epoch(_passes if number is None else int(number))
    _passes += 1
    _draw_apart()


def _begin_alike():
    """With the weights of the first rank, whatever was drawn since the models were wrapped."""
    for model in _models:
        for weights in (*model.parameters(), *model.buffers()):
            dist.broadcast(weights.detach(), 0)


def mean(value):
    """The mean of a number or a tensor over all ranks. All of them must come here."""
    return _reduced(value, ranks())


def total(value):
    """Its sum over all ranks. All of them must come here."""
    return _reduced(value, 1)


def _reduced(value, parts):
    if isinstance(value, torch.Tensor):
        sum_ = value.detach().to(DEVICE).clone()
        sum_ = sum_.float() if sum_.dtype == torch.float64 else sum_  # HCCL reduces no float64
        dist.all_reduce(sum_)
        return (sum_ / parts if parts != 1 else sum_).to(value.device)
    sum_ = torch.tensor(int(value) if isinstance(value, int) else float(value), device=DEVICE)  # int64 or float32
    dist.all_reduce(sum_)
    number = sum_.item()  # porter: ignore[PRT630] the script read this number before it was that of all ranks
    return number if parts == 1 else number / parts


@contextmanager
def first_alone():
    """The first rank runs the block before the others do: what it downloads, they find."""
    global _waits
    if _waits or ranks() == 1:
        yield
        return
    _waits = True
    try:
        if not is_first():
            dist.barrier()
        yield
        if is_first():
            dist.barrier()
    finally:
        _waits = False


def path(name):
    """Of a file that is written: the others write nowhere."""
    return name if is_first() else os.devnull


def makedirs(name, mode=0o777):
    """A folder that each rank makes, or finds."""
    os.makedirs(name, mode, exist_ok=True)


def wait():
    """Until all ranks are here: what the first one saved is whole."""
    if ranks() > 1:
        dist.barrier()


class _Nothing:
    """Stands for a writer on the other ranks: it takes everything and does nothing."""

    def __init__(self, *args, **options):
        pass

    def __getattr__(self, name):
        return lambda *args, **options: None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def writer(kind):
    """The class of a writer on the first rank."""
    return kind if is_first() else _Nothing
