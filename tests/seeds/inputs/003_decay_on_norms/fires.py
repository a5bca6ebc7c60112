import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(d_model=512, nhead=8, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=6)

    def forward(self, x):
        return self.encoder(x)


net = Net().cuda()
opt = torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=0.1)  # expect: advice weight-decay-on-all
for x in loader:
    net(x.cuda()).mean().backward()
    opt.step()
