"""What kind of work an operator or a kernel is, by its name: of CANN, of CUDA libraries, of ATen."""

from __future__ import annotations

from functools import lru_cache

from porter.regex import lazy

# the first that fits; what names several kinds (a fused kernel of a compiler) has one of its own
_KINDS = [
    ("compiled", r"^triton_(?:poi|red|per|tem|mm)_|^cuteinductor"),
    (
        "communication",
        r"^hcom_|^hccl|nccl|^rccl|^_?c10d|^gloo:|^hcclall|"
        r"^(?!\w*matmul)(?:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast_|send_|receive_)\w*$",
    ),
    ("attention", r"attention|flash_(?:fwd|bwd)|fmha|flash::|sdpa"),
    (
        "convolution",
        r"conv(?!ert)(?:olve|olution|\d|_|$|v\d)|^conv(?!ert)|depthwiseconv|fprop|dgrad|wgrad|winograd|deformable",
    ),
    (
        "matmul",
        r"matmul|gemm|gemv|cublas|splitkreduce|nvjet|cutlass|^(?:add)?(?:mm|mv|bmm)backward|::(?:mm|bmm|addmm|baddbmm|linear|einsum|addbmm|addmv|mv|dot)(?:_backward)?$",
    ),
    ("norm", r"(?:layer|rms|batch|group|instance)_?norm|bn_(?:fw|bw)|^bn(?:training|infer)|syncbn|cudnn::bn"),
    ("softmax", r"soft_?max"),
    ("loss", r"nll_?loss|cross_?entropy|_loss\b|loss(?:grad|v\d|$)"),
    (
        "optimizer",
        r"^apply(?:fused)?(?:adam|momentum|adagrad|rms|lamb|gradient|ema)|adamw?\b|adam(?:w)?(?:functor|math|_)|fusedadam|"
        r"^foreach|_foreach_|multi_tensor_apply|^optimizer\.|lamb(?:functor|_)|fusedema",
    ),
    ("conversion", r"transdata|nchwtonhwc|nhwctonchw|format_?cast"),
    ("cast", r"(?<!broad)cast|::(?:to|_to_copy|type_as)$|float16_copy|bfloat16_copy|convert"),
    ("transpose", r"transpose|permute|::contiguous$|^asstrided|^viewcopy"),
    (
        "copy",
        r"memcpy|copy|^memset|^tensormove|^cat|concat|^slice|^pack|^split|::(?:cat|stack|clone|fill_|zero_)$|^broadcastto|^fill|^zeros|^ones|^pad|^tile",
    ),
    (
        "index",
        r"index|gather|scatter|embedding|nonzero|masked_?(?:select|fill|scatter)|where|topk|sort|unique|nms|onehot|one_hot",
    ),
    ("random", r"drop_?out|philox|distribution|random|bernoulli|^dsa|normal_"),
    ("pooling", r"pool|interpolat|resize|upsample"),
    (
        "reduction",
        r"reduc|lpnorm|^argmax|^argmin|::(?:sum|mean|max|min|norm|linalg_vector_norm|argmax|amax|std|var)$|cum_?sum",
    ),
    (
        "elementwise",
        r"elementwise|gelu|relu|silu|swish|swiglu|sigmoid|tanh|rotary|"
        r"^(?:add|sub|mul|div|real_?div|axpy|muls|adds|exp|log|sqrt|rsqrt|pow|neg|abs|square|maximum|minimum|greater|less|equal|not|"
        r"logical|select|clip|isfinite|reciprocal|sin|cos|erf|lerp|addc|triu|tril|range|sign|floor|ceil|round|mod)\w*$|"
        r"::(?:add|sub|mul|div|exp|log|sqrt|rsqrt|pow|neg|abs|eq|ne|gt|lt|ge|le|clamp|sin|cos|addcmul|addcdiv|lerp|threshold_backward|gt|bitwise_\w+|logical_\w+)_?$",
    ),
]
_PATTERNS = [(kind, lazy(pattern)) for kind, pattern in _KINDS]
KINDS = (*(kind for kind, _ in _KINDS), "other")
# a kernel of CUDA that copies may change the type or the order on the way, and its name does not say so
_ACROSS = {"cast": "copy", "conversion": "copy", "transpose": "copy"}
_SHORT = 400  # characters of the name of a template


@lru_cache(maxsize=1 << 14)
def kind_of(name: str) -> str:
    text = name[:_SHORT].lower()
    return next((kind for kind, pattern in _PATTERNS if pattern.search(text)), "other")


def across(kind: str) -> str:
    """The kind under which devices of two makers can be compared."""
    return _ACROSS.get(kind, kind)
