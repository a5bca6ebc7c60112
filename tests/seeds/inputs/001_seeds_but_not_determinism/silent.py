import os
import random

import numpy as np
import torch


def set_seed(seed=42):
    os.environ["PYTHONHASHSEED"] = str(seed)
    os.environ["HCCL_DETERMINISTIC"] = "true"
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.use_deterministic_algorithms(True)


def main(model, loader, optimizer):
    set_seed()
    for x in loader:
        model(x.cuda()).sum().backward()
        optimizer.step()
