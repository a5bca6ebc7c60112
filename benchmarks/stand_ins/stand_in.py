"""Imported first in a program that is run beside its instrumented twin: nothing is fetched, data that was made up is taken, and
a newer numpy has the names of an older one."""

from __future__ import annotations

import contextlib

with contextlib.suppress(ImportError):
    import torchvision.datasets.cifar

    torchvision.datasets.cifar.check_integrity = lambda *_: True
    torchvision.datasets.CIFAR10._check_integrity = lambda *_: True

with contextlib.suppress(ImportError):
    import timm

    _create_model = timm.create_model

    def create_model(*words: object, **given: object) -> object:
        return _create_model(*words, **given | {"pretrained": False})

    timm.create_model = create_model

with contextlib.suppress(ImportError):
    import numpy

    numpy.int, numpy.Inf = int, numpy.inf
