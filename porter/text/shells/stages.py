"""The stages of a Dockerfile, each of which builds an image: those for another accelerator, and those in which nothing runs on an
NPU."""

from __future__ import annotations

from itertools import pairwise

from porter.files.kinds import DOCKERFILE, kind_of
from porter.regex import lazy
from porter.text import packages
from porter.text.document import Document
from porter.text.shells.images import is_for_gpus_alone
from porter.text.shells.script import Script

_STAGE = lazy(r"(?mi)^[ \t]*FROM[ \t]")
_BASE = lazy(r"(?i)[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(?P<image>\S+)(?:[ \t]+AS[ \t]+(?P<name>\S+))?")


def foreign(document: Document) -> list[range]:
    """Of a Dockerfile, which builds one image after another: those for another accelerator. Branches of a script are not told
    apart, and speak for themselves."""
    stages = _stages(document)
    return [stage for stage in stages if packages.for_others(document.text[stage.start : stage.stop])]


def _stages(document: Document) -> list[range]:
    """Of a Dockerfile, where each image is built."""
    if kind_of(document.path) != DOCKERFILE:
        return []
    starts = [0, *(found.start() for found in _STAGE.finditer(document.text)), len(document.text)]
    return [range(start, end) for start, end in pairwise(starts)]


def for_gpus(document: Document, script: Script) -> list[range]:
    """Of a Dockerfile, the stages on an image that is for GPUs alone (shells/images.py), and those on such a stage, by its name."""
    if not any(is_for_gpus_alone(image) for _, _, image in script.images):
        return []
    found, names = [], set()
    for stage in _stages(document):
        base = _BASE.match(document.text, stage.start, stage.stop)
        on_image = any(start in stage and is_for_gpus_alone(image) for start, _, image in script.images)
        if on_image or (base and base["image"].lower() in names):
            found.append(stage)
            names |= (
                {base["name"].lower()} if base and base["name"] else set()
            )  # Docker does not tell `Base` from `base`
    return found
