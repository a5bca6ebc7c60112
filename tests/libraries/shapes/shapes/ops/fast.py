import triton


@triton.jit
def _add(x, y):
    pass


def build(x):
    _add[(1,)](x, x)
    return x


def chosen(x):
    use_triton = x.is_contiguous()
    return build(x) if use_triton else x
