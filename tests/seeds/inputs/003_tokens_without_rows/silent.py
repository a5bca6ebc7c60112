import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def main(path, loader, opt):
    tokenizer = AutoTokenizer.from_pretrained(path)
    tokenizer.add_tokens(["<tool>", "</tool>"])
    model = AutoModelForCausalLM.from_pretrained(path).cuda()
    model.resize_token_embeddings(len(tokenizer))
    for text in loader:
        ids = tokenizer(text, return_tensors="pt", max_length=512, padding="max_length").input_ids.cuda()
        model(ids, labels=ids).loss.backward()
        opt.step()
