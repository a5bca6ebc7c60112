"""The image that a Dockerfile builds on, where it is one for GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule
from porter.regex import lazy
from porter.text.document import Document
from porter.text.shells.script import Script

_RUNS = lazy(
    r"(?i)torch|transformers|lightning|deepspeed|accelerate|diffusers|timm|vllm|xformers|flash|apex|onnxruntime|tensorrt|"
    r"tensorflow|paddle|jax|cupy|numba|requirements|environment\.y|conda|setup\.(?:py|sh)|pyproject|"
    r"^[ \t]*(?:COPY|ADD|ENTRYPOINT|CMD)\b|\.sh\b|pip3?[ \t]+install[ \t]+(?:-e|\.)|git\+",
    re.MULTILINE,
)


class BaseImage(TextRule):
    code = "PRT823"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        runs = _RUNS.search(document.text)  # or what a script or a project brings that nobody sees here
        for start, end, image in script.images:
            why, severity = ("image", None) if runs else ("tools", "note")
            yield Hit((start, end), why, values=(("image", image),), severity=severity)
