"""What is said of a distributed script: its batch, its learning rate, and what a rank sees by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from porter.distribute.find import Training
from porter.distribute.trace import Place, World
from porter.regex import lazy

_NORMS = lazy(rb"BatchNorm|torchvision\.models|models\.resnet|\btimm\b")
_DROPS = lazy(rb"[dD]ropout")


class Note(NamedTuple):
    """What is said of the result: the key of a text, a place, and words of the script."""

    key: str
    path: str = ""
    line: int = 0
    text: str = ""


def notes(world: World, found: Training) -> Iterator[Note]:
    for loader in found.loaders:
        given = loader.node.args[1:2] + [k.value for k in loader.node.keywords if k.arg == "batch_size"]
        size = ast.unparse(given[0]) if given else "**" if any(k.arg is None for k in loader.node.keywords) else "1"
        yield Note("batch", *_where(loader), size)
    for home in found.shared:
        yield Note("batch", *_where(home.place), home.name)
    rates = [
        (made, keyword)
        for made in found.optimizers
        for keyword in made.node.keywords
        if keyword.arg in ("lr", "learning_rate")
    ]
    for made, keyword in rates:
        yield Note("rate", *_where(made), ast.unparse(keyword.value))
    text = b"".join(file.source.utf8 for file in world.files)
    if match := _NORMS.search(text):
        yield Note("norm", text=match[0].decode())
    if match := _DROPS.search(text):
        yield Note("dropout")
    yield Note("evaluation")


def _where(place: Place) -> tuple[str, int]:
    return place.file.path, place.node.lineno
