"""CPU references of torch_npu's own operators.

Only kernels are replaced: schema, Python signature, autograd node and autocast rule stay torch_npu's. A backward kernel is
the derivative of the forward reference, so that each operator needs one formula. The formulas are read from the
operators' documentation; none was ever compared with an NPU.
"""

from virtual_npu.operators import (  # noqa: F401
    activation,
    attention,
    batch_norm,
    boxes,
    detection,
    formats,
    gated,
    layer_norms,
    normalisation,
    optimiser,
    products,
    rotary,
    routing,
    shapes,
    sparse,
)
