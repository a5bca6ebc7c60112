"""The programs below tests/programs: how each is started, and the bugs of a port that a verified run has to catch."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bug:
    """`old` in the port becomes `new`; the report has to say `says` and to name the line that `at` stands in."""

    name: str
    old: str
    new: str
    says: str
    at: str
    file: str = "train.py"


@dataclass(frozen=True)
class Program:
    name: str
    bugs: tuple[Bug, ...]
    words: tuple[str, ...] = ("train.py",)
    devices: int = 1
    twin: str = ""  # what the original reads instead of train.py, where that cannot run
    cold: bool = False  # whether original and port are started as porter starts them
    points: dict[str, int] = field(default_factory=dict)  # how many of each series: a run that records less is no run


TORCHRUN = ("torchrun", "--standalone", "--nproc_per_node=2", "train.py")
PARTS = "parts at step"

PROGRAMS = (
    Program(
        "plain",
        (
            Bug("left-over cuda", "target.npu()", "target.cuda()", "AssertionError", "target.cuda()"),
            Bug("data on the cpu", ", target.npu()", ", target", "same device", "loss = F.mse_loss(model(data), target)"),
            Bug("another seed", "manual_seed(args.seed)", "manual_seed(0)", PARTS, "loss.backward()"),
        ),
        cold=True, points={"loss": 8, "grad_norm SGD": 8},
    ),
    Program(
        "amp",
        (
            Bug("no autocast", "autocast(enabled=self.use_amp)", "autocast(enabled=False)", PARTS, "loss).backward()"),
            Bug("no unscaling", "self.scaler.unscale_(self.optimizer)", "pass", PARTS, "self.scaler.step("),
            Bug("another scale", "init_scale=1024.0", "init_scale=2048.0", PARTS, "loss).backward()"),
        ),
        points={"loss": 8, "grad_norm AdamW": 8},
    ),
    Program(
        "ddp_torchrun",
        (
            Bug("wrong backend", 'backend="hccl"', 'backend="nccl"', "NCCL", "dist.init_process_group(", "utils.py"),
            Bug("wrong reduction", "ReduceOp.SUM", "ReduceOp.MAX", PARTS, "optimizer.step()", "utils.py"),
            Bug("is_cuda", "tensor.is_npu", "tensor.is_cuda", "AssertionError", "tensor.is_cuda", "utils.py"),
            Bug("no set_device", "torch.npu.set_device(local_rank)", "pass", "current device of rank 1 parts", "loss.backward()", "utils.py"),
        ),
        TORCHRUN, 2, cold=True, points={"loss": 8, "loss of rank 1": 8, "grad_norm SGD of rank 1": 8},
    ),
    Program(
        "mp_spawn",
        (
            Bug("no set_device", "torch.npu.set_device(args.gpu)", "args.gpu = 0", "both use npu:0", "dist.broadcast(", "main.py"),
            Bug("one place for all", ".npu(args.gpu)\n", '.to("npu:0")\n', "both use npu:0", "dist.broadcast(", "main.py"),
            Bug("wrong mean", "param.grad.data /= size", "param.grad.data *= 1.0", PARTS, "optimizer.step()", "main.py"),
        ),
        ("main.py", "--port", "{port}"), 2, cold=True, points={"loss": 6, "loss of rank 1": 6},
    ),
    Program(
        "fsdp2",
        (
            Bug("mesh of cuda", 'init_device_mesh("npu"', 'init_device_mesh("cuda"', "cuda", "init_device_mesh("),
            Bug("lost precision", "param_dtype=torch.bfloat16", "param_dtype=torch.float32", PARTS, "loss.backward()"),
            Bug("half a mask", "is_causal=True", "is_causal=False", PARTS, "loss.backward()", "model.py"),
        ),
        TORCHRUN, 2, points={"loss": 5, "loss of rank 1": 5, "grad_norm AdamW": 5},
    ),
    Program(
        "accumulation",
        (
            Bug("no no_sync", "if last else model.no_sync()", "if True else model.no_sync()", PARTS, "optimizer.step()"),
            Bug("no division", "reshape(-1)) / accumulate", "reshape(-1))", PARTS, "loss.backward()"),
            Bug("left in eval", "model.train()", "model.eval()", "networks in eval() parts", "model.eval()"),
            Bug("name of nccl", "dist.Backend.HCCL", "dist.Backend.NCCL", "NCCL", "dist.init_process_group("),
        ),
        TORCHRUN, 2, points={"loss": 20, "loss of rank 1": 20, "grad_norm AdamW": 5},
    ),
    Program(
        "data_loader",
        (
            Bug("device in a worker", "torch.from_numpy(image), index % 3", "torch.from_numpy(image).npu(), index % 3",
                "Cannot re-initialize NPU in forked subprocess", "torch.from_numpy(image).npu()"),
            Bug("not pinned", "pin_memory=True", "pin_memory=False", "AssertionError", "self.images.is_pinned()"),
            Bug("a draw more", "    model = ", '    torch.rand(1, device="npu"); model = ', "random state of the device parts", "loss.backward()"),
            Bug("workers seeded alike", "np.random.seed(seed)", "np.random.seed(worker_id)", PARTS, "loss.backward()"),
        ),
        cold=True, points={"loss": 8, "grad_norm RMSprop": 8},
    ),
    Program(
        "rnn",
        (
            Bug("inverted mask", "masked_fill(padding,", "masked_fill(~padding,", PARTS, "loss.backward()"),
            Bug("state on the cpu", "self.hidden).to(device)", "self.hidden)", "device", "self.lstm(packed"),
            Bug("tensor type of cuda", "torch.npu.FloatTensor", "torch.cuda.FloatTensor", "TypeError",
                "FloatTensor(20).fill_(1.0)"),
        ),
        points={"loss": 6, "grad_norm Adam": 6},
    ),
    Program(
        "gan",
        (
            Bug("swapped labels", "label.fill_(fake_label)", "label.fill_(real_label)", PARTS, "errD_fake.backward()"),
            Bug("noise on the cpu", 'device="npu" if opt.cuda', 'device="cpu" if opt.cuda', "same device", "fake = netG(noise)"),
            Bug("model on the cpu", "    netD.npu()\n", "", "same device", "errD_real = criterion("),
        ),
        points={"loss": 18, "grad_norm Adam": 12},
    ),
    Program(
        "transformer",
        (
            Bug("inverted mask", "attn_mask=keep", "attn_mask=~keep", PARTS, "scaler.scale(loss).backward()", "model.py"),
            Bug("no dropout", "dropout_p=self.dropout if", "dropout_p=0.0 if", PARTS, "scaler.scale(loss).backward()", "model.py"),
            Bug("no such name", "torch.npu.max_memory_allocated()", "torch.npu.max_memory_cached_total()",
                "AttributeError", "max_memory_cached_total()"),
        ),
        points={"loss": 8, "grad_norm AdamW": 8},
    ),
    Program(
        "reinforce",
        (
            Bug("left on the device", "action.cpu().numpy()", "action.numpy()", "TypeError", "action.numpy()"),
            Bug("another discount", "gamma * following", "0.9 * following", PARTS, "loss.backward()"),
            Bug("left-over cuda", 'torch.device("npu"', 'torch.device("cuda"', "AssertionError", "Agent().to(device)"),
        ),
        points={"loss": 6, "grad_norm Adam": 6},
    ),
    Program(
        "apex",
        (
            Bug("apex imported", "from torch.nn import LayerNorm as", "from apex.normalization import",
                "No module named 'apex'", "from apex.normalization"),
            Bug("another default", "weight_decay=0.02", "weight_decay=0.01", PARTS, "scale(loss).backward()"),
            Bug("another epsilon", "eps=1e-6", "eps=1e-3", PARTS, "scale(loss).backward()"),
        ),
        twin="twin.py", points={"loss": 6, "grad_norm AdamW": 6},
    ),
    Program(
        "jit_script",
        (
            Bug("is_npu in a script", '(sequence.device.type == "npu")', "sequence.is_npu", "is_npu", "torch.jit.script(Loop()"),
            Bug("cuda in a script", 'device="npu", dtype', 'device="cuda", dtype', "CUDA", 'device="cuda"'),
            Bug("state not kept", "(1 - gate) * state", "(1 - gate) * state * 0.5", PARTS, "loss.backward()"),
        ),
        points={"loss": 6, "grad_norm SGD": 6},
    ),
    Program(
        "channels_last",
        (
            Bug("channels_last left", "model.to(memory_format=torch.contiguous_format)",
                "model.to(memory_format=torch.channels_last)", "contiguous_format", "torch.channels_last)"),
            Bug("no autocast", 'device_type="npu", dtype', 'device_type="cpu", dtype', PARTS, "loss.backward()"),
            Bug("labels elsewhere", "labels[step].npu()", "labels[step]", "device", "nn.functional.cross_entropy("),
        ),
        points={"loss": 5, "grad_norm SGD": 5},
    ),
    Program(
        "checkpoint",
        (
            Bug("mapped to cuda", 'f"npu:{gpu}"', 'f"cuda:{gpu}"', "CUDA", "torch.load("),
            Bug("generator not restored", "    torch.npu.set_rng_state_all(", "    str(", PARTS, "loss.backward()"),
            Bug("optimiser not restored", '    optimizer.load_state_dict(checkpoint["optimizer"])\n', "", PARTS, "optimizer.step()"),
        ),
        points={"loss": 10, "grad_norm Adam": 10},
    ),
)  # fmt: skip
