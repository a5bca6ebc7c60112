"""What of apex has a counterpart in torch that takes the same arguments, or nearly."""

from __future__ import annotations

import ast
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from porter.python.blocks import once_for_file
from porter.python.evidence import call_name
from porter.python.index import Link, Node, ancestors
from porter.python.uses import Use, uses

if TYPE_CHECKING:
    from porter.python.file import File


class Counterpart(NamedTuple):
    """How a class of apex is spelled in torch."""

    code: str
    module: str
    name: str
    positionals: int  # how many positional arguments mean the same in both
    keywords: frozenset[str]  # that mean the same in both
    dropped: dict[str, tuple[object, ...]]  # what torch does not have, and the values that change nothing; () for any
    added: dict[str, str]  # defaults that differ: written where a call leaves them out
    class_use: bool = True  # whether it may be a base class or compared with as well
    # keywords that torch calls otherwise, and that are left out where they are False
    renamed: tuple[tuple[str, str], ...] = ()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ADAM = Counterpart("PRT351", "torch.optim", "AdamW", 2, _words("params lr betas eps weight_decay"),
                    {"bias_correction": (True,), "adam_w_mode": (True,), "amsgrad": (False,), "set_grad_none": (),
                     "capturable": (False,), "master_weights": (False,)},
                    {"weight_decay": "0.0"}, False)  # fmt: skip
_SGD = Counterpart("PRT351", "torch.optim", "SGD", 6, _words("params lr momentum dampening weight_decay nesterov"),
                   {"wd_after_momentum": (False,), "materialize_master_grads": (), "set_grad_none": ()},
                   {}, False)  # fmt: skip
_ADAGRAD = Counterpart("PRT351", "torch.optim", "Adagrad", 2, _words("params lr eps weight_decay"),
                       {"set_grad_none": (), "adagrad_w_mode": (False,)}, {}, False)  # fmt: skip
_NORM = Counterpart("PRT352", "torch.nn", "LayerNorm", 3, _words("normalized_shape eps elementwise_affine"),
                    {"memory_efficient": ()}, {})  # fmt: skip
_RMS = _NORM._replace(name="RMSNorm", added={"eps": "1e-5"}, class_use=False)
_DDP = Counterpart("PRT353", "torch.nn.parallel", "DistributedDataParallel", 1, _words("module"),
                   {"message_size": (), "allreduce_always_fp32": (False,)},
                   {"find_unused_parameters": "True"},  # apex takes what has a gradient, torch waits for every parameter
                   False, (("delay_allreduce", "find_unused_parameters"),))  # fmt: skip
_SYNC = Counterpart("PRT353", "torch.nn", "SyncBatchNorm", 6,
                    _words("num_features eps momentum affine track_running_stats process_group"),
                    {"channel_last": (False,), "fuse_relu": (False,)}, {})  # fmt: skip

COUNTERPARTS: dict[str, Counterpart] = {}
for _module in ("", ".fused_adam", ".fused_sgd", ".fused_adagrad"):
    for _name, _entry in (("FusedAdam", _ADAM), ("FusedSGD", _SGD), ("FusedAdagrad", _ADAGRAD)):
        COUNTERPARTS[f"apex.optimizers{_module}.{_name}"] = _entry
for _module in ("apex.normalization", "apex.normalization.fused_layer_norm"):
    COUNTERPARTS |= {f"{_module}.{n}LayerNorm": _NORM for n in ("Fused", "MixedFused")}
    COUNTERPARTS |= {f"{_module}.{n}RMSNorm": _RMS for n in ("Fused", "MixedFused")}
for _module in ("apex.parallel", "apex.parallel.distributed", "apex.parallel.optimized_sync_batchnorm"):
    COUNTERPARTS |= {f"{_module}.DistributedDataParallel": _DDP, f"{_module}.SyncBatchNorm": _SYNC}

CONVERT = "apex.parallel.convert_syncbn_model"
RMS_SINCE = (2, 4)
_DECOUPLED = "adam_w_mode"


@once_for_file
def counterpart(file: File, full: str) -> Counterpart | None:
    """The counterpart of a name of apex, if every use in the file can follow; Adam or AdamW is one answer per file."""
    entry = COUNTERPARTS.get(full)
    if entry is None or entry.name == "RMSNorm" and file.target.torch < RMS_SINCE:
        return None
    file_uses = uses(file, full)
    if entry is _ADAM and file_uses and all(dict(use.keywords).get(_DECOUPLED) is False for use in file_uses):
        if not file.style.one_world:
            return None  # a GPU keeps apex's, to which this argument says what Adam means
        entry = entry._replace(name="Adam", dropped=entry.dropped | {_DECOUPLED: (False,)}, added={})
    follows = all(_follows(use, entry) for use in file_uses) and not _is_only_asked_for(file, full)
    return entry if follows and not _is_commented(file, full, entry) else None


def _is_commented(file: File, full: str, entry: Counterpart) -> bool:
    """Whether a comment is about an argument that torch does not have: a person has to keep it."""
    gone, lines = entry.dropped.keys() | dict(entry.renamed).keys(), file.source.utf8.split(b"\n")
    for link in file.meaning.mentions.of(frozenset({full})):
        call = link[1][0]
        given: list[Node] = (
            [call.func, *call.args, *call.keywords] if isinstance(call, ast.Call) and call.func is link[0] else []
        )
        for before, node in pairwise(given):
            first = node.lineno if node.lineno == before.end_lineno else before.end_lineno + 1
            if getattr(node, "arg", None) in gone and any(b"#" in line for line in lines[first - 1 : node.end_lineno]):
                return True
    return False


def _is_only_asked_for(file: File, full: str) -> bool:
    """Whether a file only asks for objects of a class, `isinstance(m, SyncBatchNorm)`: whoever makes them may stay with apex."""
    links = file.meaning.mentions.of(frozenset({full}))
    return bool(links) and all(_is_asked_for(link) for link in links)


def _is_asked_for(link: Link) -> bool:
    call = next((above[0] for above in ancestors(link) if not isinstance(above[0], ast.Tuple)), None)
    return isinstance(call, ast.Call) and call_name(call.func) in ("isinstance", "issubclass")


def _follows(use: Use, entry: Counterpart) -> bool:
    if not use.called:
        return entry.class_use
    return (
        not use.starred
        and use.positionals <= entry.positionals
        and all(
            name in entry.keywords | dict(entry.renamed).keys()
            or name in entry.dropped
            and (not entry.dropped[name] or value in entry.dropped[name])
            for name, value in use.keywords
        )
    )
