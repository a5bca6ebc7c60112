import torch
from transformers import Trainer, TrainingArguments

args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=4,  # expect: advice batch-size-kept
    gradient_accumulation_steps=8,  # expect: advice batch-size-kept
    num_train_epochs=3,
    learning_rate=2e-5,
    bf16=True,
)


def main(model, data):
    Trainer(model=model, args=args, train_dataset=data).train()
