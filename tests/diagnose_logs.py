"""Logs of trainings, and what porter diagnose makes of a text."""

from __future__ import annotations

import io
from functools import cache

from porter.diagnose.conclude import conclude
from porter.diagnose.match import matchers, meanings_of
from porter.diagnose.repository import Repository
from porter.diagnose.scan import Scan
from porter.logs.reading import blocks
from porter.rulebook.table import load
from porter.rulebook.texts import Texts

TEXTS = Texts()
PACKAGES = load().packages


@cache
def meanings():
    return tuple(meanings_of(TEXTS, PACKAGES))


@cache
def known():
    return matchers(meanings())


def scanned(text: str | bytes):
    data = text.encode() if isinstance(text, str) else text
    return Scan(known()).read(blocks(io.BytesIO(data)))


def diagnosed(text: str | bytes, repository: Repository | None = None):
    return conclude(scanned(text), TEXTS, repository)


def losses(values, more=lambda n: "") -> str:
    return "".join(f"{{'loss': {value}, 'learning_rate': 1e-05}}{more(n)}\n" for n, value in enumerate(values))


FALLING = [3 * 0.99**n + 0.05 * (n % 7) for n in range(200)]
RANK = "[rank{r}]: iteration {n}/ 500 | elapsed time per iteration (ms): {ms} | lm loss: 2.{n:03d}E+00 |\n"
MEGATRON = "iteration {n}/ 500 | elapsed time per iteration (ms): {ms} | lm loss: 2.{n:03d}E+00 |\n"


def epochs(data: float) -> str:
    line = "Epoch [1][{0}/500] time: 1.2{0:02d} data_time: {1} memory: 9 loss: 0.{0:02d}\n"
    return "".join(line.format(n, data) for n in range(20))


def scales(least: int) -> str:
    return "".join(
        f"Gradient overflow. Skipping step, reducing loss scale to {2.0 ** (16 - n)}\n" for n in range(least)
    )
