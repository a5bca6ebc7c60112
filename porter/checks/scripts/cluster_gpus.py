"""What a script asks a cluster for: GPUs of Slurm, Ray and their like, modules of CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from porter.engine.rule import Hit, TextRule, named
from porter.regex import lazy
from porter.rulebook.table import any_of
from porter.text.document import Document
from porter.text.shells.programs import PROGRAM, SET_ENV
from porter.text.shells.script import Command, Script, Word

_SLURM = frozenset({"srun", "sbatch", "salloc"})
_ASKS = lazy(
    r"(?:\$\{?\w+\}?)?--gres(?:=|$)(?:\S*\bgpu\b)?|--gpus(?:-per-\w+)?(?:=|$)|-G\d*$|--ntasks-per-gpu|--cpus-per-gpu|--mem-per-gpu"
)
_DIRECTIVE = lazy(
    r"#(?:SBATCH[ \t].*?(?:--gres[= ]\S{0,200}\bgpu\b|--gpus\b|--gpus-per-|-G[ \t=]?\d|--(?:cpus|mem|ntasks)-per-gpu)"
    r"|PBS[ \t].*\bngpus=|BSUB[ \t]+-gpu\b|\$[ \t].*-l[ \t]+gpus?=|COBALT[ \t].*gpu)"
)
# nodes with a kind of GPU, whatever else is asked for in the line
CONSTRAINT = lazy(
    rf"(?i)(?:^|[ \t])(?:-C[ =]?|--constraint[= ])[\"']?[^ \t\"']{{0,80}}(?:{any_of('gpu-of-a-cluster')})[^ \t\"']*[\"']?"
)
_HELD = lazy(r"--gres[= ][^\s\"']{0,200}\bgpu\b[^\s\"']{0,200}")
_RAY = lazy(r"--(?:entrypoint-)?num-gpus(?==|$)")
_SOURCES = lazy(rf"^{SET_ENV}", re.MULTILINE)
_MODULE = lazy(r"(?i)(?:\$\{?|.*[/_-])?(?:cuda|cudatoolkit|cudnn|nccl|nvhpc|magma-cuda)(?:[/_\d.-].*)?$")


class ClusterGpus(TextRule):
    code = "PRT821"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        sources = _SOURCES.search(script.text)
        # the line that is CANN's environment, or becomes it
        sourced = document.place(sources.start())[0] if sources else 0
        for command in script.commands:
            name = command.words[0].name
            if name in _SLURM:
                yield from _asked(command)
                yield from _constrained(command, script)
            elif name in ("module", "ml"):
                for hit in _module(command):
                    yield _again(hit, sourced) if hit.edits and sourced else hit
                    if hit.edits and not sourced and set(command.around) <= {"program"}:
                        sourced = document.place(command.start)[0]
            for word in _of_ray(command):
                if match := _RAY.match(word.text):
                    yield Hit((word.start, word.end), "ray", values=named(option=match[0]))
        for start, end in script.comments:
            line = script.text[start:end]
            if line.startswith("#") and _DIRECTIVE.match(line):
                yield Hit((start, end), "directive", values=(("option", line.strip()),))
            elif line.startswith("#SBATCH") and (asks := CONSTRAINT.search(line)):
                yield Hit((start, end), "constraint", values=named(option=asks[0].strip()))
        for held in script.names:  # options that a variable holds
            if held.role == "set" and held.value and (asks := _HELD.search(held.value.text)):
                start = held.value.start + asks.start()
                yield Hit((start, start + len(asks[0])), "option", values=named(option=asks[0]))


def _of_ray(command: Command) -> Sequence[Word]:
    """What stands behind `ray`, also where `srun` or a container starts it: `srun -n 1 ray start --num-gpus 8`."""
    words = command.words
    if words[0].name == "ray":
        return words[1:]
    return next(
        (words[n + 1 :] for n, word in enumerate(words[:-1]) if word.name == "ray" and words[n + 1].text == "start"), ()
    )


def asks_cluster(script: Script) -> Iterator[str]:
    """How a script asks for GPUs, in its head and in its commands."""
    for start, end in script.comments:
        if _DIRECTIVE.match(script.text, start, end):
            yield script.text[start:end]
    for command in script.commands:
        if command.words[0].name in _SLURM:
            for hit in _asked(command):
                yield script.text[slice(*hit.at)]
        elif command.words[0].name in ("module", "ml"):
            for hit in _module(command):
                yield script.text[slice(*hit.at)]


def _asked(command: Command) -> Iterator[Hit]:
    words = command.words
    for index, word in enumerate(words[1:], 1):
        if PROGRAM.match(word.name) or word.name.endswith((".py", ".sh")):
            return
        following = words[index + 1].text if index + 1 < len(words) else ""
        if _ASKS.match(word.text) and (
            "--gres" not in word.text or "gpu" in (word.text if "=" in word.text else following)
        ):
            yield Hit((word.start, word.end), "option", values=named(option=word.text))
            return


def _constrained(command: Command, script: Script) -> Iterator[Hit]:
    """`srun -C volta32gb`, before the program that it starts."""
    words = command.words[1:]
    end = next((w.start for w in words if PROGRAM.match(w.name) or w.name.endswith((".py", ".sh"))), command.end)
    if asks := CONSTRAINT.search(script.text, command.start, end):
        option = asks[0].strip()
        start = asks.end() - len(asks[0].lstrip())
        yield Hit((start, start + len(option)), "constraint", values=named(option=option))


def _again(hit: Hit, line: int) -> Hit:
    """The same of a further module, whose line has nothing left to do."""
    module = dict(hit.values)["module"]
    return Hit(hit.at, "again", values=named(module=module, line=str(line)))


def _module(command: Command) -> Iterator[Hit]:
    words = [word for word in command.words[1:] if not word.text.startswith("-")]
    names = words[1:] if words and words[0].value in ("load", "add", "try-load") else words
    if command.words[0].name == "module" and names is words or not names:
        return
    cuda_modules = [word for word in names if "\n" not in word.text and _MODULE.match(word.text)]
    if not cuda_modules:
        return
    values = (("module", " ".join(word.text for word in cuda_modules)), ("new", SET_ENV))
    if len(cuda_modules) == len(names) and not command.condition:
        yield Hit(
            (command.start, command.end),
            "module",
            values=values,
            edits=((command.start, command.end, SET_ENV),),
        )
    else:
        yield Hit((cuda_modules[0].start, cuda_modules[-1].end), "modules", values=values)
