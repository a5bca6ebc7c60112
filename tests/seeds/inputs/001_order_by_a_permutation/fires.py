import torch


def train(net, x, y, opt, epochs, batch):
    x, y = x.cuda(), y.cuda()
    for epoch in range(epochs):
        order = torch.randperm(len(x))  # expect: advice data-order
        for i in range(0, len(x), batch):
            rows = order[i : i + batch]
            loss = torch.nn.functional.mse_loss(net(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
