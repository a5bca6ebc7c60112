"""Calls that run no kernel: questions about a tensor, checks, plain Python."""

from __future__ import annotations

_BUILTINS = frozenset(
    """
    abs all any bool callable cast dict divmod enumerate float getattr hasattr id int isinstance iter len list locals map
    max min next print range repr reversed round set setattr sorted str sum super tuple type zip
    """.split()
)
_WORDS = frozenset(
    """
    append copy count endswith extend format get index insert items join keys lower pop startswith upper values tolist
    data_ptr dim element_size get_device is_complex is_contiguous is_floating_point is_inference nelement numel size
    storage_offset stride Size finfo iinfo promote_types result_type broadcast_shapes
    has_torch_function has_torch_function_unary has_torch_function_variadic handle_torch_function
    are_deterministic_algorithms_enabled get_default_dtype get_enum get_fastpath_enabled is_autocast_enabled
    is_deterministic_algorithms_warn_only_enabled is_grad_enabled is_tensor is_tracing legacy_get_string no_grad
    _assert _canonical_mask _check_input_dim _check_type _check_value _check_with _get_softmax_dim _list_with_default
    _none_or_dtype _ntuple _pair _quadruple _single _triple _verify_batch_size _verify_spatial_size check_forward_args
    check_hidden_size check_input warn warn_once
    """.split()
)
_ROOTS = ("warnings.", "math.", "torch.jit.", "torch.overrides.", "_Reduction.", "torch._jit_internal.", "builtins.")
_MOVES = frozenset(
    """
    broadcast_tensors broadcast_to contiguous detach dim expand expand_as flatten movedim narrow numel permute reshape select
    size squeeze squeeze_ stride swapaxes t transpose type_as unflatten unsqueeze unsqueeze_ view view_as view_as_complex
    view_as_real
    """.split()
)


def computes_nothing(name: str) -> bool:
    return name in _BUILTINS or name.rpartition(".")[2] in _WORDS or name.startswith(_ROOTS)


def moves(operator: str) -> bool:
    """It shows the same numbers in another shape."""
    return operator in _MOVES
