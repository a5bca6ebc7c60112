"""Containers that are handed GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from porter.engine.rule import Hit, TextRule
from porter.regex import lazy, rare
from porter.rulebook.table import any_of
from porter.spans import Span, outermost
from porter.text.document import Document
from porter.text.shells.images import is_cuda_image
from porter.text.shells.programs import PROGRAM, WRAPPERS
from porter.text.shells.script import Command, Script, Word

_DOCKER = rare(r"\b(?:docker|podman) +(?:run|create)\b")
_ENGINES = frozenset({"docker", "nvidia-docker", "nvidia-docker2", "podman"})
_CALLS = frozenset({"--entrypoint", "--name"})  # options whose value may be called like a program, and starts none here
_SERVER = lazy(r"[\"']?nvcr\.io[/#]nvidia/tritonserver:(?![\w.-]*-sdk[\"']?$)[\w.-]*[\"']?$")
_OTHERS = lazy(  # `lab/caffe:latest`
    rf"(?i)^[\"']?(?=[^/:]+[/:])(?:[\w.:-]+/)*[\w.-]*?(?<![a-z])(?:{any_of('framework-of-an-image')})(?![a-z])[\w.-]*(?::[\w.-]+)?[\"']?$"
)
_HELD = lazy(r"--runtime[= ](?P<runtime>nvidia)\b|(?<![\w-])--gpus[= ]all(?![\w.-])")
_CARDS = lazy(r"\b(?:ASCEND|NVIDIA)_VISIBLE_DEVICES\b")  # the second is renamed where it stands
_ALL = "--runtime=ascend -e ASCEND_VISIBLE_DEVICES=0-7"


class Option(NamedTuple):
    """`--gpus=all` or `--gpus all`."""

    name: str
    value: str
    first: Word
    last: Word


class Container(NamedTuple):
    """A command that starts a container."""

    command: Command
    engine: Word
    words: tuple[Word, ...]  # what stands behind it, up to the program that runs in the container

    def options(self, *names: str) -> Iterator[Option]:
        for word, following in zip(self.words, (*self.words[1:], None)):
            name, equals, value = word.text.partition("=")
            if name in names and equals:
                yield Option(name, value, word, word)
            elif name in names and following:
                yield Option(name, following.text, word, following)

    def is_given_gpus(self) -> bool:
        """Whether it gets GPUs, or its image is made for them."""
        given = any(o.name == "--gpus" or o.value.strip("\"'") == "nvidia" for o in self.options("--gpus", "--runtime"))
        return given or self.engine.name.startswith("nvidia-") or any(is_cuda_image(word.text) for word in self.words)


class GpuContainers(TextRule):
    code = "PRT822"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        for command in script.commands:
            name, container = command.words[0].name, _container(command)
            words = container.words if container else command.words
            if (container or name == "srun") and (server := _triton(words, container is not None)):
                yield server
            elif container:
                yield from _of_others(container) or _given(container)
            elif name in ("singularity", "apptainer"):
                for word in words:
                    if word.value in ("--nv", "--nvccli"):
                        yield Hit((word.start, word.end), "singularity")
        yield from _held(script)


def gpu_containers(script: Script) -> tuple[list[Span], list[Span]]:
    """Where containers are started that are given GPUs, or whose image is made for them, and the values of `--gpus`."""
    found = [c for c in map(_container, script.commands) if c and c.is_given_gpus()]
    values = (option.last for container in found for option in container.options("--gpus"))
    return _spans(container.command for container in found), _spans(values)


def _spans(parts: Iterable[Command | Word]) -> list[Span]:
    return outermost((part.start, part.end - 1) for part in parts)


def _container(command: Command) -> Container | None:
    words = command.words
    index = next((n for n, word in enumerate(words[:6]) if word.name in _ENGINES), None)
    if index is None or index and words[0].name not in WRAPPERS or not _is_started(words[1:index]):
        return None
    if not any(word.value in ("run", "create") for word in words[index + 1 : index + 3]):
        return None
    behind = range(index + 1, len(words))
    runs = (n for n in behind if _is_program(words[n]) and words[n - 1].text not in _CALLS)
    return Container(command, words[index], words[index + 1 : next(runs, len(words))])


def _is_started(between: tuple[Word, ...]) -> bool:
    """Whether what stands between a wrapper and a program is the wrapper's own: `-u me`, `NAME=1`, another wrapper."""
    after_option = False
    for word in between:
        is_option = word.text.startswith("-")
        if not (is_option or after_option or "=" in word.text or word.name in WRAPPERS):
            return False
        after_option = is_option
    return True


def _is_program(word: Word) -> bool:
    return PROGRAM.match(word.name) is not None or word.name in ("bash", "sh")


def _triton(words: tuple[Word, ...], is_container: bool) -> Hit | None:
    """NVIDIA's server of models in a container, started with docker, or with Slurm's `srun --container-image`."""
    for before, word in zip(("", *(word.text for word in words)), words):
        name, _, value = word.text.rpartition("=")
        is_image = not name if is_container else "--container-image" in (name, before)
        if is_image and _SERVER.match(value):
            return Hit((word.start, word.end), "triton", values=(("image", value.strip("\"'")),))
    return None


def _of_others(container: Container) -> list[Hit]:
    """What is said where the image holds a framework beside torch, which no NPU runs."""
    named = (word for word in container.words if _OTHERS.search(word.text) and not word.text.startswith("-"))
    image = next(named, None) if container.is_given_gpus() else None
    if image is None:
        return []
    return [Hit((image.start, image.end), "others", values=(("image", image.text.strip("\"'")),))]


def _held(script: Script) -> Iterator[Hit]:
    """Options of docker that a variable holds: `docker_args+=(--runtime=nvidia)`, `OPTIONS="--rm --gpus all"`."""
    if _DOCKER.search(script.text) is None:
        return
    for held in script.names:
        value = held.value if held.role == "set" else None
        if value is None or not (asks := _HELD.search(value.text)):
            continue
        start, end = value.start + asks.start(), value.start + asks.end()
        if (runtime := asks.start("runtime")) > 0:
            quote = script.text[start - 1] if value.text.startswith("(") and script.text[start - 1] in "\"'" else ""
            yield Hit((start, end), "runtime", edits=((value.start + runtime, end, _runtime(script.text, quote)),))
        else:
            yield Hit((start, end), "gpus", values=(("new", _ALL), ("old", asks[0])), edits=((start, end, _ALL),))


def _runtime(text: str, quote: str = "") -> str:
    """Ascend's runtime, which hands over no card unless a variable names it. `quote`: around the option, in a list."""
    if _CARDS.search(text):
        return "ascend"
    return f"ascend{quote} -e {quote}ASCEND_VISIBLE_DEVICES=0-7"


def _given(container: Container) -> Iterator[Hit]:
    if container.engine.name.startswith("nvidia-docker"):
        yield Hit((container.engine.start, container.engine.end), "wrapper")
    for name, value, first, last in container.options("--gpus", "--runtime"):
        start, end = first.start, last.end
        if name == "--runtime":
            if value.strip("\"'") == "nvidia":
                text = " ".join(word.text for word in container.words)
                yield Hit((start, end), "runtime", edits=((end - len(value), end, _runtime(text)),))
            continue
        old = first.text if first == last else f"{first.text} {value}"
        cards = re.sub(r"[\"']|device=", "", value)
        if not re.fullmatch(r"all|\d+(?:,\d+)*", cards) or cards.isdecimal() and "device" not in value:
            yield Hit((start, end), "cards", values=(("old", old),))
            continue
        new = f"--runtime=ascend -e ASCEND_VISIBLE_DEVICES={'0-7' if cards == 'all' else cards}"
        yield Hit((start, end), "gpus", values=(("new", new), ("old", old)), edits=((start, end, new),))
