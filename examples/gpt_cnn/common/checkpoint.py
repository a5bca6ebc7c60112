"""Everything a run needs to go on as if it had never stopped: weights, optimiser, scaler, random state."""

import random
from pathlib import Path

import torch


def seed_everything(seed, deterministic=False):
    random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.benchmark = not deterministic
    torch.backends.cudnn.deterministic = deterministic


def save(path, model, optimizer, scaler, step):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {
        "model": unwrap(model).state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "rng": torch.get_rng_state(),
        "cuda_rng": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "step": step,
    }
    temporary = path.with_suffix(".tmp")
    torch.save(state, temporary)
    temporary.replace(path)


def load(path, model, optimizer, scaler, device):
    """Restore a run; returns the step to go on from."""
    state = torch.load(path, map_location=device, weights_only=True)
    unwrap(model).load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scaler.load_state_dict(state["scaler"])
    torch.set_rng_state(state["rng"].cpu())
    if state["cuda_rng"] and torch.cuda.device_count() == len(state["cuda_rng"]):
        torch.cuda.set_rng_state_all([rng.cpu() for rng in state["cuda_rng"]])
    return state["step"]


def unwrap(model):
    return model.module if hasattr(model, "module") else model
