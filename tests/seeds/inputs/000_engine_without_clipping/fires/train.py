import deepspeed
import torch
from transformers import AutoModelForCausalLM


def main(args, loader):
    model = AutoModelForCausalLM.from_pretrained(args.model)
    engine, *_ = deepspeed.initialize(args=args, model=model, config="ds.json")
    for batch in loader:
        loss = engine(**batch).loss
        engine.backward(loss)  # expect: advice clip-grad-missing
        engine.step()
