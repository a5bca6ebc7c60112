import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM


def train(path, loader, opt):
    model = AutoModelForCausalLM.from_pretrained(path, torch_dtype=torch.bfloat16).cuda()
    for ids in loader:
        logits = model(ids.cuda()).logits.bfloat16()
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten().cuda())  # expect: PRT312
        loss.backward()
        opt.step()
