"""Containers that are handed GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule
from porter.regex import lazy
from porter.text.document import Document
from porter.text.shells.programs import PROGRAM
from porter.text.shells.script import Command, Script, Word

_DOCKER = lazy(r"\b(?:docker|podman) +(?:run|create)\b")
_STARTERS = frozenset({"docker", "nvidia-docker", "nvidia-docker2", "podman", "srun"})
_ENGINES = frozenset({"docker", "nvidia-docker", "nvidia-docker2", "podman"})
_GIVES_GPUS = lazy(r"(?:nvcr\.io|nvidia)/[\w.-]|--runtime=nvidia$|[\w./-]+:[\w.-]*cuda[\w.-]*$")
_SERVER = lazy(r"nvcr\.io[/#]nvidia/tritonserver:[\w.-]*?(?P<client>-sdk)?$")
_RUNTIME = lazy(r"--runtime[= ](nvidia)\b")


class GpuContainers(TextRule):
    code = "PRT822"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        for command in script.commands:
            name = command.words[0].name
            if server := _triton(command, name):
                yield server
            elif name in _ENGINES:
                yield from _container(command)
            elif name in ("singularity", "apptainer"):
                for word in command.words:
                    if word.value in ("--nv", "--nvccli"):
                        yield Hit((word.start, word.end), "singularity")
        yield from _held(script)


def gpu_containers(script: Script) -> Iterator[tuple[Command, Word | None]]:
    """What starts a container that is given GPUs, or whose image is made for them, and the value of its `--gpus`."""
    for command in script.commands:
        index = next((n for n, word in enumerate(command.words[:3]) if word.name in _ENGINES), None)
        if index is None or not any(word.value in ("run", "create") for word in command.words[index + 1 : index + 3]):
            continue
        words = command.words[index + 1 :]
        runs = (n for n, word in enumerate(words) if PROGRAM.match(word.name) or word.name in ("bash", "sh"))
        words = words[: next(runs, len(words))]
        option = next((n for n, word in enumerate(words) if word.text.partition("=")[0] == "--gpus"), None)
        if option is not None:
            yield command, words[option] if "=" in words[option].text else (*words, None)[option + 1]
        elif command.words[index].name.startswith("nvidia-") or any(_GIVES_GPUS.match(word.text) for word in words):
            yield command, None


def _triton(command: Command, name: str) -> Hit | None:
    """NVIDIA's server of models in a container, started with docker, or with Slurm's `srun --container-image`."""
    if name not in _STARTERS or not any(
        word.value in ("run", "create") or name == "srun" for word in command.words[1:3]
    ):
        return None
    for word in command.words[1:]:
        image = word.text.rpartition("=")[2].strip("\"'")
        if (server := _SERVER.match(image)) and not server["client"]:
            return Hit((word.start, word.end), "triton", values=(("image", image),))
    return None


def _held(script: Script) -> Iterator[Hit]:
    """Options of docker that a variable holds: `docker_args+=(--runtime=nvidia)`."""
    if _DOCKER.search(script.text) is None:
        return
    for held in script.names:
        value = held.value if held.role == "set" else None
        if value is not None and (asks := _RUNTIME.search(value.text)):
            start, end = value.start + asks.start(1), value.start + asks.end(1)
            yield Hit((value.start + asks.start(), end), "runtime", edits=((start, end, "ascend"),))


def _container(command: Command) -> Iterator[Hit]:
    words, name = command.words, command.words[0]
    if not any(word.value in ("run", "create") for word in words[1:3]):
        return
    if name.name.startswith("nvidia-docker"):
        yield Hit((name.start, name.end), "wrapper")
    for index, word in enumerate(words[1:], 1):
        option, equals, value = word.text.partition("=")
        if PROGRAM.match(word.name) or word.name in ("bash", "sh"):
            return  # what the container runs
        if option not in ("--gpus", "--runtime"):
            continue
        if not equals:
            if index + 1 == len(words):
                return
            value = words[index + 1].text
        end = word.end if equals else words[index + 1].end
        if option == "--runtime":
            if value.strip("\"'") == "nvidia":
                start = end - len(value)
                yield Hit((word.start, end), "runtime", edits=((start, end, "ascend"),))
            continue
        cards = re.sub(r"[\"']|device=", "", value)
        if not re.fullmatch(r"all|\d+(?:,\d+)*", cards) or cards.isdecimal() and "device" not in value:
            yield Hit((word.start, end), "cards", values=(("old", _as_written(word, value)),))
            continue
        new = f"--runtime=ascend -e ASCEND_VISIBLE_DEVICES={'0-7' if cards == 'all' else cards}"
        yield Hit(
            (word.start, end),
            "gpus",
            values=(("new", new), ("old", _as_written(word, value))),
            edits=((word.start, end, new),),
        )


def _as_written(word: Word, value: str) -> str:
    return word.text if "=" in word.text else f"{word.text} {value}"
