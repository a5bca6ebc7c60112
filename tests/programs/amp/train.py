"""Mixed precision with a gradient scaler and clipping, in the spelling of torch.cuda.amp."""

import torch
from torch import nn
from torch.cuda.amp import GradScaler, autocast

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.benchmark = True


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Trainer:
    def __init__(self, width=32, classes=10, use_amp=True):
        torch.manual_seed(1234)
        torch.cuda.manual_seed(1234)
        self.use_amp = use_amp
        self.model = nn.Sequential(Block(width), Block(width), nn.Linear(width, classes)).cuda()
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=0.01)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=10)
        self.scaler = GradScaler(init_scale=1024.0, enabled=use_amp)

    def step(self, x, y):
        x = x.cuda(non_blocking=True)
        y = y.cuda(non_blocking=True)
        self.optimizer.zero_grad(set_to_none=True)
        with autocast(enabled=self.use_amp):
            logits = self.model(x)
            loss = self.criterion(logits, y)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        return loss.detach()

    @torch.no_grad()
    def evaluate(self, x, y):
        self.model.eval()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = self.model(x.cuda())
        self.model.train()
        return (logits.argmax(-1) == y.cuda()).float().mean().item()


def main():
    trainer = Trainer()
    generator = torch.Generator().manual_seed(5)
    x, y = torch.randn(8, 16, 32, generator=generator), torch.randint(0, 10, (8, 16), generator=generator)
    for step in range(8):
        loss = trainer.step(x[step], y[step])
        print(f"step {step} loss {loss:.6f} scale {trainer.scaler.get_scale()}")
    torch.cuda.synchronize()
    print("accuracy", trainer.evaluate(x[0], y[0]))


if __name__ == "__main__":
    main()
