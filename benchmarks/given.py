"""Small synthetic data and models with random weights, for scripts that are verified and lack theirs.

    python benchmarks/given.py KIND PATH        # the same bytes each time; models need transformers, diffusers

ledgers/verified.jsonl names the kinds that a script is given, and where.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path

WORDS = "the a small large model data step loss learns reads from old new river stone and to of in is".split()
CHAT = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
DRAWN = random.Random(0)


def sentences(count: int) -> list[str]:
    return [" ".join(DRAWN.choices(WORDS, k=24)) for _ in range(count)]


def text(path: Path) -> None:
    path.write_text("\n".join(sentences(200)) + "\n")


def text_gz(path: Path) -> None:
    """A hundred million bytes: as many as enwik8 has."""
    page = ("\n".join(sentences(400)) + "\n").encode()
    path.write_bytes(gzip.compress((page * (10**8 // len(page) + 1))[: 10**8], 1))


def mnist(path: Path) -> None:
    """The four files that torchvision reads."""
    raw = path / "raw"
    raw.mkdir(parents=True)
    for name, count in (("train", 1200), ("t10k", 300)):
        pixels = DRAWN.randbytes(count * 28 * 28)
        head = b"".join(n.to_bytes(4, "big") for n in (2051, count, 28, 28))
        (raw / f"{name}-images-idx3-ubyte").write_bytes(head + pixels)
        labels = bytes(DRAWN.choices(range(10), k=count))
        head = b"".join(n.to_bytes(4, "big") for n in (2049, count))
        (raw / f"{name}-labels-idx1-ubyte").write_bytes(head + labels)


def pictures(path: Path) -> None:
    from PIL import Image

    for kind in "01":
        (path / kind).mkdir(parents=True)
        for number in range(16):
            Image.frombytes("RGB", (64, 64), DRAWN.randbytes(64 * 64 * 3)).save(path / kind / f"{number:02}.png")


def bodies(path: Path) -> None:
    """Places, speeds, edges and charges of five bodies that move at random."""
    import numpy

    drawn = numpy.random.default_rng(0)
    for part in ("train", "valid", "test"):
        shapes = {"loc": (200, 49, 3, 5), "vel": (200, 49, 3, 5), "edges": (200, 5, 5), "charges": (200, 5, 1)}
        for name, shape in shapes.items():
            numpy.save(path / f"{name}_{part}_charged5_initvel1small.npy", drawn.standard_normal(shape))


def vectors(path: Path) -> None:
    lines = (f"{word} " + " ".join(f"{DRAWN.uniform(-1, 1):.4f}" for _ in range(50)) for word in WORDS)
    path.write_text("\n".join(lines) + "\n")


def series(path: Path) -> None:
    path.write_text("\n".join(",".join(f"{DRAWN.random():.4f}" for _ in range(8)) for _ in range(400)) + "\n")


def ratings(path: Path) -> None:
    lines = (f"{DRAWN.randint(1, 40)}::{DRAWN.randint(1, 60)}::{DRAWN.randint(1, 5)}::0" for _ in range(2000))
    path.write_text("\n".join(lines) + "\n")


def graphs(path: Path) -> None:
    """120 rings of nodes with tags, of two classes."""
    lines = ["120"]
    for number in range(120):
        nodes = DRAWN.randint(5, 9)
        lines.append(f"{nodes} {number % 2}")
        lines += [f"{DRAWN.randint(0, 3)} 2 {(n - 1) % nodes} {(n + 1) % nodes}" for n in range(nodes)]
    path.write_text("\n".join(lines) + "\n")


def tokens(path: Path) -> None:
    import numpy

    path.write_bytes(numpy.random.default_rng(0).integers(0, 6000, 4096).astype("uint16").tobytes())


def pairs(path: Path) -> None:
    rows = [dict(zip(("system", "question", "chosen", "rejected"), sentences(4))) for _ in range(32)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def text_folder(path: Path) -> None:
    """What `load_dataset` of datasets takes for two splits."""
    path.mkdir()
    for part, count in (("train", 32), ("test", 8)):
        (path / f"{part}.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in sentences(count)))


def conversations(path: Path) -> None:
    rows = [(("human", asked), ("gpt", said)) for asked, said in zip(sentences(32), sentences(32))]
    turns = [[{"from": who, "value": words} for who, words in row] for row in rows]
    path.write_text(json.dumps([{"id": str(n), "conversations": row} for n, row in enumerate(turns)]))


def questions(path: Path) -> None:
    rows = [{"query": asked, "response": said} for asked, said in zip(sentences(64), sentences(64))]
    path.write_text(json.dumps(rows))


def pets(path: Path) -> None:
    from PIL import Image

    path.mkdir()
    for number in range(40):
        picture = Image.frombytes("RGB", (64, 64), DRAWN.randbytes(64 * 64 * 3))
        picture.save(path / f"{'cat' if number % 2 else 'dog'}_{number}.jpg")


def cifar10(path: Path) -> None:
    """The files that torchvision reads; their sums are not those that it knows."""
    import pickle

    import numpy

    path.mkdir(parents=True)
    for name, count in (*((f"data_batch_{n}", 16) for n in range(1, 6)), ("test_batch", 16)):
        pixels = numpy.frombuffer(DRAWN.randbytes(count * 3072), dtype="uint8").reshape(count, 3072)
        (path / name).write_bytes(pickle.dumps({"data": pixels, "labels": DRAWN.choices(range(10), k=count)}))
    (path / "batches.meta").write_bytes(pickle.dumps({"label_names": [str(n) for n in range(10)]}))


def cifar100(path: Path) -> None:
    """The files that torchvision reads; their sums are not those that it knows, see any_sums."""
    import pickle

    import numpy

    path.mkdir(parents=True)
    for name, count in (("train", 640), ("test", 128)):
        pixels = numpy.frombuffer(DRAWN.randbytes(count * 3072), dtype="uint8").reshape(count, 3072)
        rows = {"data": pixels, "fine_labels": DRAWN.choices(range(100), k=count)}
        (path / name).write_bytes(pickle.dumps(rows))
    (path / "meta").write_bytes(pickle.dumps({"fine_label_names": [str(n) for n in range(100)]}))


def any_sums(path: Path) -> None:
    """A sitecustomize: torchvision takes files for whole that are there."""
    path.write_text(
        """import importlib.util, os, sys


class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "torchvision.datasets.utils":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            module.check_integrity = lambda path, md5=None: os.path.isfile(path)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _Finder())
"""
    )


def clicks(path: Path) -> None:
    """Sixteen kinds, four numbers and two answers a row."""
    path.mkdir(parents=True)
    names = [f"k{n}" for n in range(16)] + [f"n{n}" for n in range(4)] + ["click", "buy"]
    for part, count in (("train", 640), ("test", 128)):
        rows = [[4] * 16 if not n else DRAWN.choices(range(5), k=16) for n in range(count)]
        rows = [[*row, *(round(DRAWN.random(), 4) for _ in range(4)), *DRAWN.choices((0, 1), k=2)] for row in rows]
        lines = [",".join(map(str, ["", *names])), *(",".join(map(str, [n, *row])) for n, row in enumerate(rows))]
        (path / f"{part}.csv").write_text("\n".join(lines) + "\n")


def hours(path: Path) -> None:
    """Twenty months of hours, seven numbers each: the columns of ETTh1."""
    from datetime import datetime, timedelta

    first, names = datetime(2016, 7, 1), "date HUFL HULL MUFL MULL LUFL LULL OT"
    rows = [[str(first + timedelta(hours=n)), *(f"{DRAWN.gauss(0, 1):.3f}" for _ in range(7))] for n in range(14400)]
    path.write_text("\n".join(",".join(row) for row in [names.split(), *rows]) + "\n")


def masks(path: Path) -> None:
    """Pictures, and beside them which of their points belong to something."""
    from PIL import Image

    for part in ("imgs", "masks"):
        (path / part).mkdir(parents=True)
    for number in range(10):
        Image.frombytes("RGB", (32, 32), DRAWN.randbytes(32 * 32 * 3)).save(path / "imgs" / f"{number}.png")
        marks = bytes(DRAWN.choices((0, 255), k=32 * 32))
        Image.frombytes("L", (32, 32), marks).save(path / "masks" / f"{number}.png")


def slices(path: Path) -> None:
    """Pictures with a label for each pixel, as arrays, and the lists that name them."""
    import numpy

    path.mkdir(parents=True)
    drawn = numpy.random.default_rng(0)
    names = [f"slice_{number}" for number in range(12)]
    for name in names:
        label = numpy.kron(drawn.integers(0, 4, (14, 14)), numpy.ones((16, 16))).astype("float32")
        numpy.savez(path / f"{name}.npz", image=drawn.random((224, 224), "float32"), label=label)
    for split in ("train", "val"):
        (path / f"{split}.txt").write_text("".join(f"{name}\n" for name in names))


def unet_settings(path: Path) -> None:
    sizes = {"sample_size": 16, "in_channels": 3, "out_channels": 3, "layers_per_block": 1, "norm_num_groups": 4}
    blocks = {"down_block_types": ["DownBlock2D"] * 2, "up_block_types": ["UpBlock2D"] * 2}
    path.write_text(json.dumps({"_class_name": "UNet2DModel", **sizes, **blocks, "block_out_channels": [8, 16]}))


def classifier_settings(path: Path) -> None:
    """A ResNet-18 and the pictures of CustomDataset, for mmpretrain."""
    path.write_text(
        """
data_preprocessor = dict(num_classes=2, mean=[127.5] * 3, std=[127.5] * 3, to_rgb=True)
model = dict(
    type="ImageClassifier",
    backbone=dict(type="ResNet", depth=18, num_stages=4, out_indices=(3,), style="pytorch"),
    neck=dict(type="GlobalAveragePooling"),
    head=dict(type="LinearClsHead", num_classes=2, in_channels=512, loss=dict(type="CrossEntropyLoss"), topk=(1,)),
)
pipeline = [
    dict(type="LoadImageFromFile"),
    dict(type="RandomResizedCrop", scale=32),
    dict(type="RandomFlip", prob=0.5, direction="horizontal"),
    dict(type="PackInputs"),
]
loader = dict(
    batch_size=4,
    num_workers=0,
    persistent_workers=False,
    dataset=dict(type="CustomDataset", data_prefix="pictures", pipeline=pipeline),
)
train_dataloader = dict(sampler=dict(type="DefaultSampler", shuffle=True), **loader)
val_dataloader = dict(sampler=dict(type="DefaultSampler", shuffle=False), **loader)
val_evaluator = dict(type="Accuracy", topk=(1,))
optim_wrapper = dict(optimizer=dict(type="SGD", lr=0.01, momentum=0.9), clip_grad=dict(max_norm=1.0))
param_scheduler = dict(type="MultiStepLR", by_epoch=True, milestones=[1], gamma=0.1)
train_cfg = dict(by_epoch=True, max_epochs=2, val_interval=1)
val_cfg = dict()
default_scope = "mmpretrain"
default_hooks = dict(logger=dict(type="LoggerHook", interval=1))
""".lstrip()
    )


def dpo_settings(path: Path) -> None:
    """The script's own settings, for the data and the model that are here."""
    settings = path.read_text()
    for old, new in (
        ('"Sharathhebbar24/SSH_355M"', '"llama"'), ('"Intel/orca_dpo_pairs"', '"pairs"'), ("max_steps = 100", "max_steps = 2"),
        ("max_prompt_length = 512", "max_prompt_length = 64"), ("max_length = 1024", "max_length = 128"),
    ):  # fmt: skip
        settings = settings.replace(old, new)
    path.write_text(settings)


def decoder_settings(path: Path) -> None:
    sizes = {"vocab_size": 500, "seq_len": 32, "d_model": 64, "n_heads": 2, "n_layers": 2, "d_ff": 128}
    training = {"dropout": 0.0, "batch_size": 4, "num_steps": 4, "lr": 0.0003, "weight_decay": 0.1}
    path.write_text("".join(f"{key}: {value}\n" for key, value in (sizes | training).items()))


def countdown(path: Path) -> None:
    import pandas

    rows = [{"nums": DRAWN.sample(range(1, 50), 3), "target": DRAWN.randint(1, 99)} for _ in range(64)]
    path.mkdir()
    pandas.DataFrame(rows).to_parquet(path / "train.parquet")


def countdown_settings(path: Path) -> None:
    """The script's own settings, for the data and the model that are here."""
    settings = path.read_text()
    for old, new in (
        ("Qwen2.5-3B-Instruct", "qwen"), ("Countdown-Tasks-3to4", "countdown"), ("test_size: 128", "test_size: 4"),
        ("max_gen_len: 1024", "max_gen_len: 12"), ("batch_size: 256", "batch_size: 8"),
        ("num_questions_per_batch: 32", "num_questions_per_batch: 2"), ("max_prompt_len: 256", "max_prompt_len: 1024"),
    ):  # fmt: skip
        settings = settings.replace(old, new)
    path.write_text(settings)


def tokenizer(path: Path, **special: str) -> int:
    """Of bytes, with a template of a chat; how many tokens it has."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = [*special.values(), *letters]
    fast = Tokenizer(models.BPE({name: number for number, name in enumerate(names)}, []))
    fast.pre_tokenizer, fast.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=fast, model_max_length=512, **special)
    made.chat_template = CHAT
    made.save_pretrained(path)
    config = path / "tokenizer_config.json"  # also where the template lies in a file of its own
    config.write_text(json.dumps(json.loads(config.read_text()) | {"chat_template": CHAT}))
    return len(made)


def llama(path: Path) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    known = tokenizer(path, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>")
    ends = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    _saved(LlamaForCausalLM(LlamaConfig(vocab_size=known, num_key_value_heads=4, **sizes, **ends)), path)


def qwen(path: Path) -> None:
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    known = tokenizer(path, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>")
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=known, num_key_value_heads=4, tie_word_embeddings=True, **sizes))
    _saved(model.to(torch.bfloat16), path)
    config = json.loads((path / "config.json").read_text())
    asked = {
        "bos_token_id": 0,
        "eos_token_id": 1,
        "sliding_window": 512,
        "torch_dtype": "bfloat16",
        "rope_theta": 10000.0,
    }
    (path / "config.json").write_text(json.dumps(config | asked))


def gpt2(path: Path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer(path, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>")
    _saved(GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=2)), path)


def t5(path: Path) -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    known = tokenizer(path, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    _saved(T5ForConditionalGeneration(T5Config(vocab_size=known, decoder_start_token_id=0, **sizes)), path)


def stable_diffusion(path: Path) -> None:
    """All parts of a pipeline, each as small as may be."""
    from diffusers import AutoencoderKL, DDPMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    letters = [chr(n) for n in range(33, 127)]
    words = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters)]
    path.mkdir(parents=True)
    (path / "vocab.json").write_text(json.dumps({word: number for number, word in enumerate(words)}))
    (path / "merges.txt").write_text("#version: 0.2\n")
    names = CLIPTokenizer(str(path / "vocab.json"), str(path / "merges.txt"), model_max_length=77)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    reader = CLIPTextModel(
        CLIPTextConfig(vocab_size=len(words), **sizes, bos_token_id=0, eos_token_id=1, pad_token_id=1)
    )
    vae = AutoencoderKL(
        block_out_channels=(16, 32), norm_num_groups=4, latent_channels=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    unet = UNet2DConditionModel(
        sample_size=32, block_out_channels=(16, 32), norm_num_groups=4, cross_attention_dim=32, attention_head_dim=4,
        layers_per_block=1, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    parts = {"vae": vae, "text_encoder": reader, "tokenizer": names, "unet": unet, "scheduler": DDPMScheduler()}
    StableDiffusionPipeline(**parts, safety_checker=None, feature_extractor=None).save_pretrained(path)


def _saved(model: object, path: Path) -> None:
    model.save_pretrained(path)


def main(kind: str, path: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    if kind in ("llama", "qwen", "gpt2", "t5", "stable_diffusion"):
        sys.modules["torchvision"] = None  # not asked for, and it may not load beside this torch
        import torch

        torch.manual_seed(0)
    globals()[kind](Path(path))


if __name__ == "__main__":
    main(*sys.argv[1:])
