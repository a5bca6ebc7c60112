"""The two files that are put beside a script: what its ranks share, and the launcher."""

from __future__ import annotations

from shlex import quote

from porter.resources import rules_dir
from porter.target import Target

HELPER = "porter_distributed"


def helper(target: Target) -> bytes:
    data = (rules_dir() / "distribute" / f"{HELPER}.py").read_bytes()
    names = f'DEVICE, BACKEND = "{target.device}", "{target.backend}"'.encode()
    return data.replace(b'DEVICE, BACKEND = "npu", "hccl"', names)


def launcher_of(script: str) -> str:
    return script.removesuffix(".py") + "_distributed.sh"


def launcher(script: str) -> bytes:
    name, own = (quote(file.rpartition("/")[2]) for file in (script, launcher_of(script)))
    return f"""\
#!/bin/sh
# One process per NPU. NPROC says how many, on each machine; what follows are the script's own arguments:
#     NPROC=4 sh {own}
# Several machines: NNODES, NODE_RANK and MASTER_ADDR, on each of them.
exec torchrun --nnodes "${{NNODES:-1}}" --node_rank "${{NODE_RANK:-0}}" --nproc_per_node "${{NPROC:-8}}" \\
    --master_addr "${{MASTER_ADDR:-127.0.0.1}}" --master_port "${{MASTER_PORT:-29500}}" \\
    "$(dirname "$0")"/{name} "$@"
""".encode()
