"""The image that a Dockerfile builds on, or that a script hands to one, where it is one for GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.engine.rule import TOGETHER, Hit, TextRule, named
from porter.files.kinds import DOCKERFILE
from porter.regex import lazy
from porter.text.document import Document
from porter.text.first_versions import first_of_portable
from porter.text.shells.images import is_cuda_image, is_for_boards, is_for_gpus_alone, torch_in
from porter.text.shells.script import Script

_RUNS = lazy(
    r"(?i)torch|transformers|lightning|deepspeed|accelerate|diffusers|timm|vllm|xformers|flash|apex|onnxruntime|tensorrt|"
    r"tensorflow|paddle|jax|cupy|numba|requirements|environment\.y|conda|setup\.(?:py|sh)|pyproject|"
    r"^[ \t]*(?:COPY|ADD|ENTRYPOINT|CMD)\b|\.sh\b|pip3?[ \t]+install[ \t]+(?:-e|\.)|git\+",
    re.MULTILINE,
)
_NAMED = lazy(r"(?i)ima?ge?|(?:^|_)(?:base|from)(?:_|$)")


class BaseImage(TextRule):
    code = "PRT823"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        # or what a script or a project brings that nobody sees here
        runs = script.images and _RUNS.search(document.text)
        for start, end, image in script.images:
            why, severity = ("image", None) if runs else ("tools", "note")
            why = "server" if runs and is_for_gpus_alone(image) else why
            if is_for_boards(image):
                yield Hit((start, end), "board", values=named(image=image))
                continue
            # the stages of a file, and the files of a project, are one question where they build on versions of one image
            base = image.partition("@")[0].partition(":")[0]
            values = named(image=image, base=base) + ((TOGETHER, base),)
            if why == "image" and (first := first_of_portable(document)) and (torch_in(image) or first) < first:
                why, values = "older", values + named(first=".".join(map(str, first)))
            yield Hit((start, end), why, values=values, severity=severity)
        if document.kind != DOCKERFILE:
            yield from _handed(script)


def _handed(script: Script) -> Iterator[Hit]:
    """`BASE_IMAGE=nvidia/cuda:12.1.0-runtime`: a script says on what an image is built, or in what it starts a program."""
    for name in script.names:
        if name.role == "set" and name.value and _NAMED.search(name.name):
            if is_cuda_image(name.value.text) and not is_for_boards(
                name.value.text
            ):  # `BASE_PATH=/usr/local/cuda/bin:$PATH` is none
                image = name.value.text.strip("\"'")
                yield Hit((name.value.start, name.value.end), "handed", values=named(image=image, name=name.name))
