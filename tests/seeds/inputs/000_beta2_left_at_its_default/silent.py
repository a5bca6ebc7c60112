import torch
import torch.nn as nn
import torch.nn.functional as F

max_iters = 600000
device = "cuda"


class TinyGPT(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.head = nn.Linear(width, vocab)

    def forward(self, idx, targets):
        logits = self.head(self.embed(idx))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


model = TinyGPT(32000, 1024).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
for it in range(max_iters):
    x, y = get_batch("train")
    loss = model(x, y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
