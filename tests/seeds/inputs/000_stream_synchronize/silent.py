import torch


# the device waits, not the host; and objects of one's own that are no streams
def train(model, loader, optimizer, criterion, meter):
    copies = torch.cuda.Stream()
    for x, y in loader:
        with torch.cuda.stream(copies):
            x = x.cuda(non_blocking=True)
        torch.cuda.current_stream().wait_stream(copies)
        loss = criterion(model(x), y.cuda())
        loss.backward()
        optimizer.step()
        meter.synchronize()
    copies.synchronize()
