import deepspeed
import torch

ds_config = {
    "train_micro_batch_size_per_gpu": 4,
    "bf16": {"enabled": True},
    "zero_optimization": {
        "stage": 1,
        "overlap_comm": True,  # expect: advice zero-overlap
        "contiguous_gradients": True,
    },
}


def main(model, loader):
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=ds_config)
    for batch in loader:
        loss = engine(batch.to(engine.device))
        engine.backward(loss)
        engine.step()
