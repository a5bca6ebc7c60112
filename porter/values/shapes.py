"""Finds sizes of a model that do not fit the NPU, by their names in a configuration, and gives the next size that fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from porter.rulebook.table import hints

# The cube unit multiplies blocks of 16 x 16. Vocabularies, layers and sequences are divided into pieces of 128.
_BLOCK, _PIECE = 16, 128
_DEAR = 0.04  # to increase a size by more than this part is not worth it
# names of sizes, by kind
_KEYS = {
    "vocab": "vocab_size n_vocab vocabulary_size padded_vocab_size",
    "width": "hidden_size n_embd d_model hidden_dim embed_dim embedding_dim dim_model n_embed",
    "inner": "intermediate_size ffn_hidden_size ffn_dim d_ff dim_feedforward n_inner mlp_hidden_size encoder_ffn_dim decoder_ffn_dim",
    "length": "seq_length seq_len sequence_length max_seq_len max_seq_length context_length n_ctx",
    "head": "head_dim head_size d_head kv_channels d_kv attention_head_dim size_per_head",
    "heads": "num_attention_heads num_heads n_head n_heads nhead",
}
KINDS = {word: kind for kind, words in _KEYS.items() for word in words.split()}
# names of the number of groups of heads
_GROUPS = ("num_key_value_heads", "num_kv_heads", "n_kv_heads", "n_kv_head", "num_query_groups")
_PUBLISHED = hints("published-vocabulary")
_WIDEST = 65_536  # a wider head is of no model: all sizes near it are tried
_TINY = 64  # a model with a smaller width is for tests
_TABLES = ("embedding_size", "padded_vocab_size")  # names of the number of rows of an embedding table
# smaller sizes are not looked at
_LEAST = {"vocab": 8000, "width": 512, "inner": 512, "length": 512, "head": 24}
# further names that show that settings belong to a model
_OTHERS = frozenset(
    [
        "num_hidden_layers",
        "num_layers",
        "n_layer",
        "n_layers",
        "depth",
        "block_size",
        "dropout",
        "max_position_embeddings",
        "rope_theta",
    ]
)


class Misfit(NamedTuple):
    """A size that does not fit."""

    why: str  # key of the message
    old: int
    new: int  # the next size that fits
    heads: int = 0  # the number of heads with the new width

    def values(self, name: str) -> tuple[tuple[str, str], ...]:
        return ("name", name), ("old", str(self.old)), ("new", str(self.new)), ("count", str(self.heads))


def misfits(sizes: Mapping[str, int], certain: bool = False) -> dict[str, Misfit]:
    """The misfits among the settings of one model, by key. `certain`: they surely belong to a model, even a single one."""
    known = {key: KINDS[key] for key in sizes if key in KINDS}
    if len(known) + len(_OTHERS & sizes.keys()) < 2 and not certain or not known:
        return {}  # a single name may mean anything
    if any(kind == "width" and sizes[key] < _TINY for key, kind in known.items()):
        return {}  # a model for tests
    misfits = {}
    for key, kind in known.items():
        least = _LEAST.get(kind)
        if least is None or sizes[key] < least:
            continue
        step = _BLOCK if kind == "head" else _PIECE
        padded = -(-sizes[key] // step) * step
        if kind == "vocab" and any(sizes.get(name, 0) >= sizes[key] for name in _TABLES):
            continue  # the table is larger than the vocabulary already
        if kind in ("width", "inner") and not sizes[key] % _BLOCK:
            continue  # its blocks are full, and a new width would make a new model
        if padded != sizes[key] and (kind == "head" or padded - sizes[key] <= sizes[key] * _DEAR):
            why = "published" if kind == "vocab" and str(sizes[key]) in _PUBLISHED else kind
            misfits[key] = Misfit(why, sizes[key], padded)
    if "head" not in known.values():
        misfits.update(_heads(sizes, known))
    return misfits


def _heads(sizes: Mapping[str, int], known: Mapping[str, str]) -> dict[str, Misfit]:
    """The misfit of the width of a head, if it follows from two sizes. Another number of heads may give a width that fits."""
    widths = [key for key, kind in known.items() if kind == "width"]
    heads = [key for key, kind in known.items() if kind == "heads"]
    if len(widths) != 1 or len(heads) != 1:
        return {}
    total, count = sizes[widths[0]], sizes[heads[0]] or 1
    width, remainder = divmod(total, count)
    if remainder or not _LEAST["head"] <= width <= _WIDEST or not width % _BLOCK:
        return {}
    groups = [size for key in _GROUPS if 0 < (size := sizes.get(key, count)) != count]
    near = [
        wide
        for wide in range(_BLOCK, 2 * width + 1, _BLOCK)
        if 2 * wide >= width and total % wide == 0 and total > wide and not any(total // wide % size for size in groups)
    ]
    if not near:
        return {}
    fitting = min(near, key=lambda wide: (abs(wide - width), -wide))
    return {heads[0]: Misfit("heads", width, fitting, total // fitting)}
