"""Which programs a command starts, and which of them only a machine with GPUs has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.regex import lazy
from porter.rulebook.table import any_of
from porter.text.shells.script import Command, Script

WRAPPERS = frozenset(
    "sudo env time nohup exec srun numactl taskset timeout xvfb-run watch command nice mpirun mpiexec stdbuf ionice "
    "setsid strace which type hash uv poetry conda docker singularity apptainer podman kernprof".split()
)
TOOLS = {
    **dict.fromkeys(("nvcc", "nvlink", "cuobjdump", "nvdisasm"), "compiler"),
    **dict.fromkeys(("nvprof", "nsys", "ncu", "nv-nsight-cu-cli"), "profiler"),
    **dict.fromkeys(("cuda-gdb", "cuda-memcheck", "compute-sanitizer"), "debugger"),
    **dict.fromkeys(("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"), "mps"),
    **dict.fromkeys(
        ("dcgmi", "nv-hostengine", "nvidia-settings", "nvidia-persistenced", "gpustat", "nvtop"), "monitor"
    ),
}
PROGRAM = lazy(r"(?:python[\d.]*|torchrun|accelerate|deepspeed|nvidia-smi|docker|nvidia-docker|pip[\d.]*)$")
# they read CUDA's variables, run on GPUs and on nothing else, and porting the rest does not change that
_GPUS_ALONE = lazy(rf"(?<![\w.-])({any_of('program-for-gpus-alone')})(?![^\s\"';|&)`])")
_OTHERS_RUN = lazy(r"(?<![\w.-])(?:python[\d.]*|torchrun|accelerate|deepspeed)[ \t]")
# they do so without any program of torch's: what prepares poses for them is no such program
_RECONSTRUCTS = lazy(r"(?<![\w./-])(colmap)(?=[ \t]+[a-z_]+(?:[ \t]|$))", re.MULTILINE)
_TARGET = lazy(r"[A-Za-z]\w*")
_PREPARES = lazy(r"(?i)(?:colmap|database|poses|llff)[\w-]*\.py$")
_PYTHON_FILE = lazy(r"(?<![^\s;|&])[^\s;|&]+\.py\b")
_STARTS_TORCH = lazy(r"\b(?:torchrun|accelerate|deepspeed)\b|(?<![\w.])-m[ \t]")
_OF_OTHERS = lazy(rf"(?<![\w./-])([\w./-]+_(?:{any_of('another-framework')})\.py)\b")
_NAMES_THEM = lazy(r"[\s@-]*(?:#|echo\b|printf\b|which\b|type\b|command[ \t]+-v|ls\b|cp\b|git\b|wget\b|pip\b)")
SET_ENV = "source /usr/local/Ascend/ascend-toolkit/set_env.sh"


def heads(command: Command) -> Iterator[int]:
    """Where a program is named: first, and behind `sudo`, `srun`, `docker run IMAGE` and their like."""
    yield 0
    if command.words[0].name in WRAPPERS:
        for index, word in enumerate(command.words[1:], 1):
            if PROGRAM.match(word.name) or word.name in TOOLS:
                yield index


def gpus_alone(script: Script) -> list[tuple[int, str]]:
    """Where the script starts a program that no NPU runs, or says where it lies, and which."""
    programs = []
    for program in (
        *_GPUS_ALONE.finditer(script.text),
        *(_RECONSTRUCTS.finditer(script.text) if "colmap" in script.text and _prepares(script) else ()),
    ):
        begin, _ = script.lines(program.start(), program.start())
        if not _NAMES_THEM.match(script.text, begin):
            programs.append((program.start(), program[1]))
    return sorted(programs)


def made_here(script: Script) -> list[tuple[int, str]]:
    """Where a script that starts no Python names a program that it makes itself, and which: `make train_cu`, `./train_cu`."""
    if _OTHERS_RUN.search(script.text) or _PYTHON_FILE.search(script.text):
        return []
    made = [word for command in script.commands if command.words[0].name == "make" for word in command.words[1:]]
    found = []
    for word in (word for word in made if _TARGET.fullmatch(word.text)):
        started = re.search(rf"(?<=/){re.escape(word.text)}(?![\w./-])", script.text[word.end :])
        if started is not None:
            found.append((word.end + started.start(), word.text))
    return sorted(found)


def gpu_program(command: str) -> str:
    """A program that no NPU runs, which one command of a Python file starts; "" where it starts none, or Python as well."""
    program = _GPUS_ALONE.search(command)
    return program[1] if program and not _OTHERS_RUN.search(command) else ""


def of_other_frameworks(script: Script) -> list[tuple[int, str]]:
    """Where the script names a program that says by its name what computes there, and it is not torch: `dqn_jax.py`."""
    return [(program.start(1), program[1]) for program in _OF_OTHERS.finditer(script.text)]


def _prepares(script: Script) -> bool:
    """Whether the script starts no Python but what writes or reads the files of a reconstruction."""
    started = _PYTHON_FILE.findall(script.text)
    return not _STARTS_TORCH.search(script.text) and all(map(_PREPARES.search, started))
