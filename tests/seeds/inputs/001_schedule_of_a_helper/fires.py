import torch
from transformers import get_cosine_schedule_with_warmup


def train(model, loader, total):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    schedule = get_cosine_schedule_with_warmup(optimizer, 500, total)  # expect: advice warmup-and-schedule
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
