import torch
from apex import amp
from apex.parallel import DistributedDataParallel as DDP


def build(model, optimizer):
    model, optimizer = amp.initialize(model.cuda(), optimizer, opt_level="O2", loss_scale="dynamic")  # expect: PRT350
    return DDP(model), optimizer


def step(model, optimizer, x):
    loss = model(x.cuda()).sum()
    with amp.scale_loss(loss, optimizer) as scaled:  # expect: PRT350
        scaled.backward()
    optimizer.step()
