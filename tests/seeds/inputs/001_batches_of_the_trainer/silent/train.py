import torch
from transformers import Trainer, TrainingArguments

args = TrainingArguments(output_dir="out", num_train_epochs=3, learning_rate=2e-5, bf16=True)


def main(model, data):
    Trainer(model=model, args=args, train_dataset=data).train()
