import torch
import torch.nn.functional as F


def train(model, teacher, loader, optimizer):
    for x in loader:
        x = x.cuda()
        student, wanted = model(x).log_softmax(-1), teacher(x).log_softmax(-1)
        loss = F.kl_div(student, wanted, reduction="batchmean", log_target=True)  # expect: PRT710
        loss.backward()
        optimizer.step()
