"""Generated CUDA-flavoured modules, for properties: import styles x nesting x shadowing x comments x newlines x suppressions."""

from __future__ import annotations

import random
import warnings

from hypothesis import strategies as st

# how torch gets in -> how torch.cuda, torch.device and init_process_group are spelled then
IMPORTS = {
    "import torch\nimport torch.distributed as dist": ("torch.cuda", "torch.device", "dist.init_process_group"),
    "import torch as th, os": ("th.cuda", "th.device", "th.distributed.init_process_group"),
    "import os; import torch": ("torch.cuda", "torch.device", "torch.distributed.init_process_group"),
    "import torch\nimport torch_npu": ("torch.cuda", "torch.device", "torch.distributed.init_process_group"),
    "import torch\nfrom torch import cuda, nn": ("cuda", "torch.device", "torch.distributed.init_process_group"),
    "from torch import (  # c\n    device,\n    cuda as C,\n    distributed,\n)": (
        "C",
        "device",
        "distributed.init_process_group",
    ),
    "import torch.cuda": ("torch.cuda", "torch.device", "torch.distributed.init_process_group"),
    "import torch.cuda as tc\nfrom torch import device": ("tc", "device", "f"),
    "import torch\nfrom torch.cuda import synchronize, Stream as S  # names": ("torch.cuda", "torch.device", "S"),
    "import torch\ncuda = torch.cuda": ("cuda", "torch.device", "torch.distributed.init_process_group"),
    "try:\n    import torch\nexcept ImportError:\n    torch = None": ("torch.cuda", "torch.device", "f"),
    "if TYPE_CHECKING:\n    import torch": ("torch.cuda", "torch.device", "f"),
    "'''doc'''\nfrom __future__ import annotations\nimport torch": ("torch.cuda", "torch.device", "f"),
    "# torch comes from elsewhere": ("torch.cuda", "torch.device", "f"),
    "def load():\n    import torch\n    return torch.cuda.is_available()": ("torch.cuda", "torch.device", "f"),
}
NAMES = [
    "is_available()",
    "device_count()",
    "synchronize",
    "synchronize(0)",
    "CUDAGraph()",
    "no_such_name(1)",
    "current_stream().query()",
]
LEAVES = [
    "x",
    "1",
    '"ö😀"',
    "'a cuda word'",
    "x.is_cuda",
    "d.type == 'cuda'",
    "x.cuda",
    "y.npu()",
    "f'{x.cuda()}'",
    "f'cuda {n:>{w}}'",
]
SHAPES = [
    "({a}).cuda(non_blocking={b})", "f({a}, k=({b}))", "({a} if {b} else {a})", "[{a}, {b}]", "(lambda p={a}, *q: {b})", "[i for i in ({a}) if {b}]",
    "{{'k': {a}, **({b})}}", "g[{a}:{b}]", "({a}) @ ({b})", "m.to({a}, device='cuda')", "({a}).to('cuda:0')", "not ({a})", "f(*({a}), **{b})",
    "(  # cuda one\n  {a}  # two\n  , {b},\n  )", "({a}\n # three\n .cuda(  # four\n ))", "({a}) \\\n + ({b})", "{{j for j in {a}}}",
    "[torch for torch in {a}]", "{{torch: {b} for torch in {a} for cuda in {b}}}", "(w := {a})", "f'{{x.cuda()}}' 'cuda'",
]  # fmt: skip
FRAMES = [
    "v{i} = {e}{t}\n", "{e}{t}\n", "if {e}:{t}\n    v = {e}\nelif {e}:\n    pass\n", "def f{i}(a={e}, *b, k={e}):{t}\n    return {e}\n",
    "@dec({e}){t}\nclass A{i}({e}):\n\tdef g(self, torch):\n\t\treturn {e}\n\tv = {e}\n", "with {e} as q{i}, open({e}):{t}\n  pass\n",
    "def f{i}():\n    torch = cuda = 1\n    return {e}{t}\n", "class B{i}:\n    torch = cuda = 1\n    v = {e}{t}\n    def f(self): return {e}\n",
    "def f{i}():\n    global torch\n    v = {e}{t}\n", "async def f{i}():\n    async for j in {e}:{t}\n        await ({e})\n",
    "match {e}:\n    case 'cuda' if {e}:{t}\n        pass\n    case _: v = {e}\n", "try:\n    v = {e}{t}\nexcept ({e}) as err:\n    raise\nfinally: {e}\n",
    "for v{i} in {e}: {e}; w = {e}{t}\n", "if a: b = {e}{t}\n", "f'''{{x.cuda()}}\n{{  x.cuda(1)}}'''{t}\n", "device = 'cuda' if {e} else 'cpu'{t}\n",
    "assert {e}, {e}{t}\ndel g[{e}]\n", "v = '''cuda\n  torch.cuda\n'''; {e}{t}\n", "# porter: ignore[PRT130, PRT101] above\n{e}{t}\n",
    "if is_npu:\n    v = {e}{t}\nelse:\n    v = {e}\n", "DEVICE = 'cuda'\nx.to(DEVICE){t}\n", "lambda: {e}{t}\n", "\x0cv = {e}{t}\n",
]  # fmt: skip
TAILS = [
    "",
    "",
    "",
    "  # keep me",
    "  # porter: ignore[PRT101] why",
    "  # porter: ignore[PRT130,PRT999] why",
    "  # type: ignore",
    "  # cuda ö",
]
NEWLINES = ["\n", "\n", "\r\n", "\r"]


def expressions(cuda: str, device: str, group: str) -> st.SearchStrategy[str]:
    leaves = st.sampled_from(
        [
            *LEAVES,
            *(f"{cuda}.{name}" for name in NAMES),
            f"{device}('cuda')",
            f'{device}(f"cuda:{{n}}")',
            f"{group}(backend='nccl')",
        ]
    )

    def nest(inner):
        return st.builds(lambda shape, a, b: shape.format(a=a, b=b), st.sampled_from(SHAPES), inner, inner)

    return st.recursive(leaves, nest, max_leaves=5)


def _python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "x", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


@st.composite
def modules(draw) -> bytes:
    """The bytes of a module that Python accepts."""
    opening = draw(st.sampled_from(sorted(IMPORTS)))
    nest = expressions(*IMPORTS[opening])
    body = []
    for i in range(draw(st.integers(1, 5))):
        frame = draw(st.sampled_from(FRAMES))
        parts = frame.split("{e}")
        text = "".join(p + (draw(nest) if n < len(parts) - 1 else "") for n, p in enumerate(parts))
        text = (
            text.replace("{i}", str(i))
            .replace("{t}", draw(st.sampled_from(TAILS)))
            .replace("{{", "{")
            .replace("}}", "}")
        )
        if _python(text):
            body.append(text)
    text = opening + draw(st.sampled_from(["", "  # first"])) * (not opening.endswith(")")) + "\n" + "".join(body)
    if draw(st.booleans()) and not draw(st.booleans()):
        text = text.rstrip("\n")
    if not _python(text):
        text = opening + "\n" + body[0] if body and _python(opening + "\n" + body[0]) else opening + "\n"
    text = text.replace("\n", draw(st.sampled_from(NEWLINES)))
    bom = draw(st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]))
    return bom + text.encode()


# ---- random nests whose port is built beside them

BOTH = [  # (before, after) of a leaf
    ("x", "x"), ("torch.cuda.device_count()", "torch.npu.device_count()"), ("'a cuda word'",) * 2, ("d.type == 'cuda'", "d.type == 'npu'"),
    ("torch.device('cuda:0')", "torch.device('npu:0')"), ("z.cuda",) * 2, ("f'cuda{y.cuda()}'", "f'cuda{y.npu()}'"), ('"ö😀"',) * 2,
    ("[torch.cuda.Stream]", "[torch.npu.Stream]"), ("q.is_cuda", "q.is_npu"), ("torch.cuda.CUDAGraph()", "torch.npu.NPUGraph()"),
]  # fmt: skip
GROWTH = [
    ("({a}).cuda(non_blocking={b})", "({a}).npu(non_blocking={b})"), ("f({a}, k=({b}))",) * 2, ("({a} if {b} else {a})",) * 2, ("[{a}, {b}]",) * 2,
    ("(lambda p={a}, *q: {b})",) * 2, ("[i for i in ({a}) if {b}]",) * 2, ("(w := {a})",) * 2, ("{{'k': {a}, **({b})}}",) * 2,
    ("torch.cuda.amp.autocast({a}, {b})", "torch.npu.amp.autocast({a}, {b})"), ("g[{a}:{b}]",) * 2, ("(  # cuda one\n  {a}  # two\n  , {b},\n  )",) * 2,
    ("torch.cuda.amp.autocast(  # c\n {a},\n k={b})", "torch.npu.amp.autocast(  # c\n {a},\n k={b})"), ("({a}) @ ({b})",) * 2, ("(yield {a})",) * 2,
    ("m.to({a}).cuda(device='cuda')", "m.to({a}).to(device='npu')"), ("torch . cuda \\\n .device_count ( )", "torch . npu \\\n .device_count ( )"),
    ("[torch.cuda.synchronize({a}) for torch in {b}]",) * 2, ("(lambda torch: torch.cuda.synchronize({a}))",) * 2,
]  # fmt: skip
ROUND = [
    "def f{i}():\n    return {e}  # c\n", "@dec({e})\ndef f{i}(p): pass\n", "def f{i}():\n\twith {e} as q, open(p):\n\t\tpass\n",
    "def f{i}(p=[{e}]): return p\n", "def f{i}():\n  match {e}:\n    case 'a' if {e}: pass\n", "class A{i}({e}):\n    b = {e}; c = {e}\n",
    "if {e}: {e}\nelif {e}: {e}\nelse: {e}\n", "for i in {e}:\n    {e}\nelse:\n    {e}\n",
]  # fmt: skip


def _expression(r: random.Random, depth: int) -> tuple[str, str]:
    if depth == 0:
        return r.choice(BOTH)
    (a, a2), (b, b2) = _expression(r, depth - 1), _expression(r, r.randrange(depth))
    before, after = r.choice(GROWTH)
    if "torch in" in before or "lambda torch" in before:  # there torch is something else: nothing below is resolved
        a = a2 = "x"
        b, b2 = ("y", "y") if "lambda" in before else (b, b2)
    return before.format(a=a, b=b), after.format(a=a2, b=b2)


def nest(seed: int) -> tuple[str, str] | None:
    """(before, after), without imports; None where what came out is no Python."""
    r = random.Random(seed)
    before, after = "", ""
    for i in range(r.randint(1, 4)):
        b, a = _expression(r, r.randint(0, 4))
        frame = "def f{i}():\n    v = {e}  # c\n" if "yield" in b or ":=" in b else r.choice(ROUND)
        before += frame.format(i=i, e=b)
        after += frame.format(i=i, e=a)
    newline = r.choice(["\n", "\r\n"])
    return (before.replace("\n", newline), after.replace("\n", newline)) if _python("import torch\n" + before) else None
