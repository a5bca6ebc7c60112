import torch
from transformers import LlamaForCausalLM


def train(path, loader):
    model = LlamaForCausalLM.from_pretrained(path).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95))
    for batch in loader:
        model(**batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=10.0)  # expect: advice clip-grad-value
        opt.step()
        opt.zero_grad()
