import torch
import torch.nn.functional as F


def train(model, teacher, loader, optimizer):
    for x in loader:
        x = x.cuda()
        student, wanted = model(x).log_softmax(-1), teacher(x).softmax(-1)
        loss = F.kl_div(student, wanted, reduction="batchmean", log_target=False)
        loss.backward()
        optimizer.step()
