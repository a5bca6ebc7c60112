import torch


def train(net, x, y, opt, epochs, batch):
    x, y = x.cuda(), y.cuda()
    for epoch in range(epochs):
        for i in range(0, len(x), batch):
            loss = torch.nn.functional.mse_loss(net(x[i : i + batch]), y[i : i + batch])
            opt.zero_grad()
            loss.backward()
            opt.step()
