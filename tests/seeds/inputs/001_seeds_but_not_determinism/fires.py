import random

import numpy as np
import torch


def set_seed(seed=42):
    random.seed(seed)  # expect: advice determinism-set
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


def main(model, loader, optimizer):
    set_seed()
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
