"""train.py as it reads with PyTorch's own classes, which compute what those of apex do: there is no apex to compare with."""

import torch
import torch.nn as nn


class Classifier(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.fc1 = nn.Linear(16, width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.fc2 = nn.Linear(width, 5)

    def forward(self, x):
        return self.fc2(torch.relu(self.norm(self.fc1(x))))


def main():
    torch.manual_seed(13)
    torch.cuda.manual_seed(13)
    model = Classifier().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.02)
    criterion = nn.CrossEntropyLoss()
    inputs, labels = torch.randn(6, 8, 16), torch.randint(0, 5, (6, 8))
    for step, (x, y) in enumerate(zip(inputs, labels)):
        optimizer.zero_grad()
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"step {step}: loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
