"""What TrainingArguments of transformers no longer takes. Two rules ask: of calls in Python, and of options in scripts.

Each name stands in the `gate` of PRT718 in rules/support.toml, too. Compared with the fields of TrainingArguments in the wheels of
transformers 4.31, 4.41, 4.57, 5.0, 5.2 and 5.24.
"""

from __future__ import annotations

from typing import NamedTuple

from porter.engine.rule import named
from porter.engine.rule_file import RuleFile
from porter.text.document import Document
from porter.versions import release

_TORCH = (2, 6)  # transformers 5 works with no older one


class Renamed(NamedTuple):
    new: str  # the keyword that means the same
    least: str  # a transformers from which on it is known


# the new name; what is written in the place of it, where that is no mere name; "" where there is nothing
ARGUMENTS: dict[str, Renamed | str] = {
    "evaluation_strategy": Renamed("eval_strategy", "4.41"),
    "no_cuda": Renamed("use_cpu", "4.32"),
    "per_gpu_train_batch_size": Renamed("per_device_train_batch_size", "4.31"),
    "per_gpu_eval_batch_size": Renamed("per_device_eval_batch_size", "4.31"),
    "push_to_hub_token": Renamed("hub_token", "4.31"),
    "warmup_ratio": Renamed("warmup_steps", "5.0"),  # below 1 it is a part of all steps
    "group_by_length": 'train_sampling_strategy="group_by_length"',
    "adafactor": 'optim="adafactor"',
    "logging_dir": "TENSORBOARD_LOGGING_DIR",
    "fsdp_transformer_layer_cls_to_wrap": "fsdp_config",
    **dict.fromkeys(
        "overwrite_output_dir save_safetensors fp16_backend half_precision_backend use_ipex fp16_opt_level torchdynamo ray_scope "
        "jit_mode_eval past_index use_mps_device include_inputs_for_metrics use_legacy_prediction_loop".split(),
        "",
    ),
}


def brings_the_fifth(asked: RuleFile | Document) -> bool:
    """Whether an environment for this target has transformers 5 at this file: no list of the project holds on to an older one."""
    session = asked.session
    return release(session.catalogue.torch) >= _TORCH and not session.facts.lists.below("transformers>=5", asked.path)


def knows(asked: RuleFile | Document, renamed: Renamed) -> bool:
    """Whether a list of the project asks for a transformers that knows the new name."""
    return asked.session.facts.lists.has_least(f"transformers>={renamed.least}", asked.path)


def told(name: str, now: Renamed | str) -> tuple[str, None, bool, tuple[tuple[str, str], ...]]:
    """What a Hit says of an argument that gets no new name here: its message, no edit, and the values of the message."""
    if isinstance(now, Renamed):
        return "both", None, False, named(name=name, new=now.new)
    return "instead" if now else "gone", None, False, named(name=name, new=now) if now else named(name=name)
