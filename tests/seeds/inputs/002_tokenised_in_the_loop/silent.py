import torch
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")


def train(model, loader, optimizer):
    for texts, labels in loader:
        batch = tokenizer(texts, padding="max_length", max_length=128, truncation=True, return_tensors="pt").to("cuda")
        model(**batch, labels=labels.cuda()).loss.backward()
        optimizer.step()
