import torch
from transformers import Trainer, TrainingArguments


def arguments(out):
    return TrainingArguments(
        output_dir=out,
        optim="adamw_torch",
        per_device_train_batch_size=2,
        bf16=True,
    )
