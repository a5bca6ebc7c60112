import torch
from transformers import get_constant_schedule


def train(model, loader, total):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    schedule = get_constant_schedule(optimizer)
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
