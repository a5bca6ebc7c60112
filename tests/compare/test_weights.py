"""Names of weights are compared without what wrappers put before them."""

from __future__ import annotations

import pytest

from porter.compare.weights import without_wrappers


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("module.encoder.weight", "encoder.weight"),
        ("_orig_mod.module.encoder.weight", "encoder.weight"),
        ("_fsdp_wrapped_module.encoder._fsdp_wrapped_module.weight", "encoder.weight"),
        ("_forward_module.layers.0._checkpoint_wrapped_module.weight", "layers.0.weight"),
        ("submodule.weight", "submodule.weight"),
    ],
)
def test_wrappers_are_whole_parts_of_a_name(name: str, plain: str) -> None:
    assert without_wrappers(name) == plain
