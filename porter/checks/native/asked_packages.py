"""Packages, and parts of some, of which an import alone says nothing: `gpu_package.py` asks the file what it does with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from porter.checks.export.onnx_sessions import asks_for_device
from porter.checks.native.detectron2_device import keeps_default
from porter.checks.native.package_uses import called, called_bare, joins_by_kernels, uses_as_they_are
from porter.engine.rule_file import RuleFile
from porter.regex import lazy
from porter.rulebook.table import hint

_ON_HOST = lazy(rb"\bscatter(?:_kwargs)?\([^\n]*\[[ \t]*-1[ \t]*\]")  # -1 is mmcv's sign for the CPU
_MINDSPEED = lazy("mindspeed")
_SCALER_SET = lazy(rb"\._scaler[ \t]*=[ \t]*[\w.]*GradScaler\(")


def _says(file: RuleFile, words: re.Pattern[str]) -> bool:
    """Whether a file has one of some words outside of comments, as code or text."""
    return any(
        words.search(line.partition("#")[0]) for line in file.source.utf8.decode("utf-8", "replace").splitlines()
    )


def _keeps_scaler(file: RuleFile) -> bool:
    """Whether a file puts no other scaler into timm's, as `loss_scaler._scaler = torch.cuda.amp.GradScaler()` does."""
    return not file.source.says(_SCALER_SET)


def _scatters(file: RuleFile, package: str) -> str:
    """The function of mmcv that a file calls, if it does not hand batches to the CPU with it: `scatter(batch, [-1])`."""
    return "" if file.source.says(_ON_HOST) else called(file, package, ())


# packages that run on the CPU unless a file asks for more, and parts of which a file may say all that is to say, or which
# it may only build on, by the name that is imported; they are told of where the answer is true
ASKED: dict[str, Callable[[RuleFile], object]] = {
    "onnxruntime": asks_for_device,
    "faiss": partial(_says, words=hint("faiss-on-a-gpu")),
    "megatron": lambda file: not _says(file, _MINDSPEED),  # through which it runs on NPUs
    "detectron2.config.get_cfg": keeps_default,
    "torch_scatter.scatter": partial(joins_by_kernels, package="torch_scatter.scatter"),
    # whose `__call__` says where the targets are made
    **{
        name: partial(uses_as_they_are, package=name, method="__call__")
        for name in ("timm.data.Mixup", "timm.data.mixup.Mixup")
    },
    **dict.fromkeys(("timm.utils.NativeScaler", "timm.utils.cuda.NativeScaler"), _keeps_scaler),
    "torchpack.distributed.init": partial(called_bare, package="torchpack.distributed.init"),
    **{
        name: partial(called, package=name, apart=())
        for name in ("mmcv.parallel.MMDataParallel", "mmcv.parallel.MMDistributedDataParallel")
    },
    **{name: partial(_scatters, package=name) for name in ("mmcv.parallel.scatter", "mmcv.parallel.scatter_kwargs")},
    **{
        name: partial(called, package=name, apart=())
        for name in ("recbole.config.Config", "recbole.quick_start.run_recbole")
    },
}
