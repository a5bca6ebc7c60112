import torch


# only the teacher is in sixteen bits, and it is not trained; the masks are cut in half
def train(model, teacher, loader, criterion):
    teacher = teacher.cuda().half()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        with torch.no_grad():
            wanted = teacher(x.cuda().half())
        loss = criterion(model(x.cuda()), wanted.float())
        loss.backward()
        optimizer.step()
