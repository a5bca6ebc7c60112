"""Commands that only a machine with GPUs has, or that ask for one: tools, Slurm, modules, containers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.text.document import Document, TextHit
from porter.text.shells.script import Command, Script, Word

WRAPPERS = frozenset(
    "sudo env time nohup exec srun numactl taskset timeout xvfb-run watch command nice mpirun mpiexec stdbuf ionice "
    "setsid strace which type hash uv poetry conda docker singularity apptainer podman kernprof".split()
)
_ASKED = frozenset({"which", "type", "hash", "command"})
TOOLS = {
    **dict.fromkeys(("nvcc", "nvlink", "cuobjdump", "nvdisasm"), "compiler"),
    **dict.fromkeys(("nvprof", "nsys", "ncu", "nv-nsight-cu-cli"), "profiler"),
    **dict.fromkeys(("cuda-gdb", "cuda-memcheck", "compute-sanitizer"), "debugger"),
    **dict.fromkeys(("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"), "mps"),
    **dict.fromkeys(
        ("dcgmi", "nv-hostengine", "nvidia-settings", "nvidia-persistenced", "gpustat", "nvtop"), "monitor"
    ),
}
_PROGRAM = re.compile(r"(?:python[\d.]*|torchrun|accelerate|deepspeed|nvidia-smi|docker|nvidia-docker|pip[\d.]*)$")
_SLURM = frozenset({"srun", "sbatch", "salloc"})
_ASKS = re.compile(
    r"--gres(?:=|$)(?:\S*\bgpu\b)?|--gpus(?:-per-\w+)?(?:=|$)|-G\d*$|--ntasks-per-gpu|--cpus-per-gpu|--mem-per-gpu"
)
_DIRECTIVE = re.compile(
    r"#(?:SBATCH[ \t].*?(?:--gres[= ]\S{0,200}\bgpu\b|--gpus\b|--gpus-per-|-G[ \t=]?\d|--(?:cpus|mem|ntasks)-per-gpu)"
    r"|PBS[ \t].*\bngpus=|BSUB[ \t]+-gpu\b|\$[ \t].*-l[ \t]+gpus?=|COBALT[ \t].*gpu)"
)
_MODULE = re.compile(r"(?i)(?:.*[/_-])?(?:cuda|cudatoolkit|cudnn|nccl|nvhpc|magma-cuda)(?:[/_\d.-].*)?$")
_SMI = "nvidia-smi"
_COUNTS = re.compile(r"-L\b|--list-gpus|--query-gpu=(?:count|name|gpu_name|index)")
SET_ENV = "source /usr/local/Ascend/ascend-toolkit/set_env.sh"
_PLAIN = frozenset(
    "program do_group compound_statement else_clause elif_clause if_statement case_item redirected_statement subshell "
    "function_definition for_statement while_statement c_style_for_statement case_statement text".split()
)


def heads(command: Command) -> Iterator[int]:
    """Where a program is named: first, and behind `sudo`, `srun`, `docker run IMAGE` and their like."""
    yield 0
    if command.words[0].name in WRAPPERS:
        for at, word in enumerate(command.words[1:], 1):
            if _PROGRAM.match(word.name) or word.name in TOOLS:
                yield at


def look(document: Document, script: Script, *, safe: bool = True) -> Iterator[TextHit]:
    for command in script.commands:
        asked = []
        for at in heads(command):
            word = command.words[at]
            if word.name == _SMI:
                asked.append(at)
            elif word.name in TOOLS:
                yield _manual(word, "PRT820", TOOLS[word.name], tool=word.name)
        counting = [at for at, word in enumerate(command.words) if _COUNTS.search(word.text)] if asked else []
        for at in asked:
            yield _smi(command, at, bool(counting) and counting[-1] > at, safe)
        name = command.words[0].name
        if name in _SLURM:
            yield from _asked(command)
        elif name in ("module", "ml"):
            yield from _module(command)
        elif name in ("docker", "nvidia-docker", "nvidia-docker2", "podman"):
            yield from _container(command)
        elif name in ("singularity", "apptainer"):
            yield from (_manual(w, "PRT822", "singularity") for w in command.words if w.value in ("--nv", "--nvccli"))
    for start, end in script.comments:
        line = script.text[start:end]
        if line.startswith("#") and _DIRECTIVE.match(line):
            yield TextHit(start, end, "PRT821", "directive", values=(("option", line.strip()),))
    yield from _paths(script)


def _manual(word: Word, code: str, why: str, **values: str) -> TextHit:
    return TextHit(word.start, word.end, code, why, values=TextHit.values_of(**values))


def _smi(command: Command, at: int, counts: bool, safe: bool) -> TextHit:
    """`counts`: one of its options asks how many GPUs there are, or which."""
    words = command.words
    word, values = words[at], (("new", "npu-smi info"),)
    if at and words[at - 1].name in _ASKED or at > 1 and words[0].name in _ASKED:
        return TextHit(
            word.start, word.end, "PRT145", "asked", values=values, edits=((word.start, word.end, "npu-smi"),)
        )
    options = at + 1 < len(words)
    if options or "pipeline" in command.around or "command_substitution" in command.around:
        topology = options and words[at + 1].text.startswith("topo")
        why = "counted" if counts else "topology" if topology else "parsed"
        return TextHit(word.start, words[-1].end, "PRT145", why)
    plain = not command.condition and all(kind in _PLAIN for kind in command.around) and word.text == _SMI
    why = "plain" if plain else "deciding"
    edits = ((word.start, word.end, "npu-smi info"),) if word.text == _SMI else ()
    return TextHit(
        word.start, word.end, "PRT145", why if edits else "parsed", values=values, edits=edits, safe=safe and plain
    )


def _asked(command: Command) -> Iterator[TextHit]:
    words = command.words
    for at, word in enumerate(words[1:], 1):
        if _PROGRAM.match(word.name) or word.name.endswith((".py", ".sh")):
            return
        following = words[at + 1].text if at + 1 < len(words) else ""
        if _ASKS.match(word.text) and (
            "--gres" not in word.text or "gpu" in (word.text if "=" in word.text else following)
        ):
            yield _manual(word, "PRT821", "option", option=word.text)
            return


def _module(command: Command) -> Iterator[TextHit]:
    words = [word for word in command.words[1:] if not word.text.startswith("-")]
    names = words[1:] if words and words[0].value in ("load", "add", "try-load") else words
    if command.words[0].name == "module" and names is words or not names:
        return
    ours = [word for word in names if "\n" not in word.text and _MODULE.match(word.text)]
    if not ours:
        return
    values = (("module", " ".join(word.text for word in ours)), ("new", SET_ENV))
    if len(ours) == len(names) and not command.condition:
        yield TextHit(
            command.start,
            command.end,
            "PRT821",
            "module",
            values=values,
            edits=((command.start, command.end, SET_ENV),),
        )
    else:
        yield TextHit(ours[0].start, ours[-1].end, "PRT821", "modules", values=values)


def _container(command: Command) -> Iterator[TextHit]:
    words, name = command.words, command.words[0]
    if not any(word.value in ("run", "create") for word in words[1:3]):
        return
    if name.name.startswith("nvidia-docker"):
        yield TextHit(name.start, name.end, "PRT822", "wrapper")
    for at, word in enumerate(words[1:], 1):
        option, equals, value = word.text.partition("=")
        if _PROGRAM.match(word.name) or word.name in ("bash", "sh"):
            return  # what the container runs
        if option not in ("--gpus", "--runtime"):
            continue
        if not equals:
            if at + 1 == len(words):
                return
            value = words[at + 1].text
        end = word.end if equals else words[at + 1].end
        if option == "--runtime":
            if value.strip("\"'") == "nvidia":
                start = end - len(value)
                yield TextHit(word.start, end, "PRT822", "runtime", edits=((start, end, "ascend"),))
            continue
        cards = re.sub(r"[\"']|device=", "", value)
        if not re.fullmatch(r"all|\d+(?:,\d+)*", cards) or cards.isdecimal() and "device" not in value:
            yield TextHit(word.start, end, "PRT822", "cards", values=(("old", _as_said(word, value)),))
            continue
        new = f"--runtime=ascend -e ASCEND_VISIBLE_DEVICES={'0-7' if cards == 'all' else cards}"
        yield TextHit(
            word.start,
            end,
            "PRT822",
            "gpus",
            values=(("new", new), ("old", _as_said(word, value))),
            edits=((word.start, end, new),),
        )


def _as_said(word: Word, value: str) -> str:
    return word.text if "=" in word.text else f"{word.text} {value}"


_CUDA_PATH = re.compile(r"/usr/local/cuda(?:-[\d.]+)?(?:/[\w./-]*)?|/opt/cuda\b[\w./-]*")
_LISTS = frozenset({"PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"})


def _paths(script: Script) -> Iterator[TextHit]:
    """`export PATH=/usr/local/cuda/bin:$PATH`."""
    for name in script.names:
        if name.role == "set" and name.name in _LISTS and name.value and (at := _CUDA_PATH.search(name.value.text)):
            start = name.value.start + at.start()
            values = TextHit.values_of(path=at[0], variable=name.name, new=SET_ENV)
            yield TextHit(start, start + len(at[0]), "PRT820", "path", values=values)
