"""rules/*.toml against the catalogues: every name of torch.cuda has a stanza, no stanza writes a name on trust."""

from __future__ import annotations

import re
from collections import Counter

import pytest
import tomli

from porter.catalog.read.load import load, versions
from porter.resources import rules_dir
from porter.rulebook import table

CATALOGUES = {version: load(version) for version in versions()}
TABLES = table.load()
MOVES = {name: move for name, move in TABLES.moves.items() if name.startswith("torch.cuda.")}
CUDA_CODES = {"PRT101", "PRT103", "PRT105", "PRT106", "PRT110", "PRT111"}

# Names that exist on some torch_npu versions only: the edit is withdrawn where the chosen one lacks them. It is the date
# of a wheel that counts, not its number: 2.8.0.post5 and 2.9.1 are older than 2.7.1.post11.
_STREAMS = {"ExternalStream", "streams.ExternalStream", "_sleep", "random.is_initialized"}
_MARKS = {"mstx.annotate", "mstx.range_pop", "mstx.range_push"}
_MEMORY = {"get_per_process_memory_fraction", "host_memory_stats", "host_memory_stats_as_nested_dict"}
_MEMORY |= {"reset_accumulated_host_memory_stats", "reset_peak_host_memory_stats"}
_MEMORY |= {f"memory.{name}" for name in _MEMORY}
_POOLS = {"MemPoolContext", "memory.MemPoolContext"}
ABSENT = {
    "2.1.0.post17": _STREAMS | _MARKS | _MEMORY | {"memory._set_allocator_settings"},
    "2.6.0.post5": _STREAMS | _MARKS | _MEMORY,
    "2.7.1.post11": {"random.is_initialized"},
    "2.8.0.post5": _STREAMS | _MARKS,
    "2.9.0.post9": {"random.is_initialized"},
    "2.9.1": _STREAMS | _MARKS,
    "2.13.0": _POOLS,
    "2.14.0": _POOLS,
}

# Private names whose NPU counterpart is left to PRT104 all the same: state and helpers of the module itself, which a
# program that reaches for them uses together with others that have no counterpart.
LEFT_TO_PRT104 = re.compile(
    r"torch\.cuda\.(_cached_device_count|_initialization_lock|_lazy_new|_memory_viz(\..*)?|_parse_visible_devices"
    r"|_queued_calls|_tls|graphs\._dummy_type|memory\._dummy_type|amp\.autocast_mode\._cast|memory\._free_mutex|memory\._get_current_allocator"
    r"|memory\._get_device_index|memory\._lazy_init|memory\._memory|memory\._record_memory_history_impl"
    r"|memory\._segments|random\._lazy_call|random\._lazy_init)"
)


def private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split("."))


@pytest.mark.parametrize("version", CATALOGUES)
def test_every_public_name_of_torch_cuda_has_a_stanza(version: str) -> None:
    names = [name for name in CATALOGUES[version].cuda_names() if not private(name)]
    assert len(names) >= 200
    assert [name for name in names if name not in MOVES] == []


def test_no_name_has_two_stanzas() -> None:
    """The loader refuses a second one; a name that only moves with its module counts as one too."""
    data = tomli.loads((rules_dir() / "cuda.toml").read_text(encoding="utf-8"))
    names = [n for s in data["api"] for n in ([s["match"]] if isinstance(s["match"], str) else s["match"])]
    for space in data["namespace"]:
        names += [".".join(filter(None, (space["from"], space.get("under"), name))) for name in space["names"]]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert set(names) == set(MOVES) and {move.code for move in MOVES.values()} == CUDA_CODES


def test_stanzas_name_what_torch_has() -> None:
    made_by_the_extension = re.compile(r"torch\.cuda\.sparse\.\w+Tensor")
    unknown = [n for n in MOVES if not any(c.has(n) for c in CATALOGUES.values())]
    assert [name for name in unknown if not made_by_the_extension.fullmatch(name)] == []


def test_private_names_with_a_counterpart_are_listed_or_left_on_purpose() -> None:
    names = {name for c in CATALOGUES.values() for name in c.cuda_names() if private(name) and c.counterpart(name)}
    assert sorted(name for name in names - MOVES.keys() if not LEFT_TO_PRT104.fullmatch(name)) == []
    assert sorted(name for name in MOVES if LEFT_TO_PRT104.fullmatch(name)) == []


@pytest.mark.parametrize("version", CATALOGUES)
def test_every_name_a_stanza_writes_exists(version: str) -> None:
    written = {f"torch.npu.{move.tail}" for move in MOVES.values() if move.tail}
    missing = {name for name in written if not CATALOGUES[version].has(name)}
    assert missing == {f"torch.npu.{name}" for name in ABSENT.get(version, ())}
    others = [c for v, c in CATALOGUES.items() if v != version]
    assert all(any(c.has(name) for c in others) for name in missing)


def test_without_a_counterpart_means_without() -> None:
    """A name that exists on both sides and is not moved needs a reason that its message gives."""
    meaningless = {"torch.cuda.get_device_capability", "torch.cuda.current_blas_handle"}  # there they answer None
    found = {n for n, move in MOVES.items() if move.tail is None and any(c.counterpart(n) for c in CATALOGUES.values())}
    assert found == meaningless


def written(name: str) -> str:
    return f"torch.npu.{MOVES[name].tail}"


@pytest.mark.parametrize("version", CATALOGUES)
def test_renamed_parameters_are_those_of_the_wheels(version: str) -> None:
    catalogue = CATALOGUES[version]
    for name, row in TABLES.parameters.items():
        if not name.startswith("torch.cuda."):
            continue
        if not (catalogue.has(name) and catalogue.has(written(name))):
            continue
        before, after = catalogue.parameters(name), catalogue.parameters(written(name))
        assert before is not None and after is not None, name
        for old, new in row.rename.items():
            assert (old in before or "**kwargs" in before) and old not in after and new in after, (name, old, new)


def test_removed_parameters_are_missing_somewhere() -> None:
    """The rule asks the target's own signature; a keyword that every version takes would be no use in the table."""
    for name, row in TABLES.parameters.items():
        if name.startswith("torch.cuda."):
            taken = [set(c.parameters(written(name))) for c in CATALOGUES.values() if c.has(written(name))]
            assert not set(row.remove) & set.intersection(*taken), name


@pytest.mark.parametrize("version", CATALOGUES)
def test_every_difference_in_parameters_has_a_stanza(version: str) -> None:
    """A keyword that the other side calls something else, or a position that means something else there."""
    catalogue, bare = CATALOGUES[version], []
    for name, move in MOVES.items():
        if move.tail is None or not (catalogue.has(name) and catalogue.has(written(name))):
            continue
        before, after = catalogue.parameters(name), catalogue.parameters(written(name))
        if before is None or after is None:
            continue
        row = TABLES.parameters.get(name)
        if "**kwargs" in after:
            continue
        known = {*after, *(row.rename if row else ()), *(row.remove if row else ())}
        lost = [p for p in before if p.isidentifier() and p not in known]
        renamed = [row.rename.get(p, p) if row else p for p in before]
        limit = row.positional if row and row.positional is not None else len(before)
        # what is passed beyond the end of `after` raises; what lands in another parameter is the danger
        if lost or any(b != a for b, a in list(zip(renamed, after))[:limit]):
            bare.append((name, before, after))
    assert bare == []
