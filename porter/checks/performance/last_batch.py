"""A training DataLoader that keeps its last, smaller batch: one more shape in every epoch."""

from __future__ import annotations

import re

from .loader_arguments import LOADERS, arguments, feeds_training
from .opportunity import Opportunity

# what A2 and A3 make anew for a new shape; their operators themselves are ready for any
TRACED = re.compile(rb"torch\.compile\b|CUDAGraph|NPUGraph|make_graphed_callables|(?:cuda|npu)\.graph\(|torchair")


class LastBatch(Opportunity):
    code, slug = "PRT603", "last-batch"
    calls = LOADERS
    only = "training"

    def find(self, original, file):
        if not file.target.early and not TRACED.search(file.source.utf8):
            return None
        given = arguments(original, file)
        if (
            given is None
            or "drop_last" in given
            or "batch_sampler" in given
            or given.get("batch_size", "1") in ("1", "None")
        ):
            return None
        return (original.func, "kept", ()) if feeds_training(original, given, file) else None
