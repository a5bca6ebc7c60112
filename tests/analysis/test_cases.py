"""Shapes that break engines. Every case says what must change and, by staying equal, what must not."""

from __future__ import annotations

import sys

import libcst as cst
import pytest
from drawn import WHOLE, share
from engine_world import CORE_SESSION, OURS, codes, look, port

from porter.finding import apply
from porter.python.index import TYPES

T, N = "import torch\n", f"import torch\n{OURS}\n"
SYNC, DONE = "torch.cuda.synchronize()", "torch.npu.synchronize()"

# name -> (before, after); one text alone stays as it is. `import torch` stands above each.
CASES: dict[str, tuple[str, ...]] = {
    "nested receiver, namespace and string": (
        "y = m.to(torch.device('cuda')).cuda(torch.cuda.device_count())\n",
        "y = m.to(torch.device('npu')).npu(torch.npu.device_count())\n",
    ),
    "one rule three deep": ("a.cuda(b.cuda(c.cuda()))\n", "a.npu(b.npu(c.npu()))\n"),
    "chained": ("x.cuda().float().cuda()\n", "x.npu().float().npu()\n"),
    "first statement of all": (f"{SYNC}\n", f"{DONE}\n"),
    "two on one line": (f"{SYNC}; x.cuda()\n", f"{DONE}; x.npu()\n"),
    "one-line if": (f"if a: {SYNC}\nelse: x.cuda()\n", f"if a: {DONE}\nelse: x.npu()\n"),
    "one-line if, two statements": (f"if a: b = 1; {SYNC}\n", f"if a: b = 1; {DONE}\n"),
    "one-line class and def": (
        f"class A: b = {SYNC}\ndef f(): return {SYNC}\n",
        f"class A: b = {DONE}\ndef f(): return {DONE}\n",
    ),
    "header and body": (
        f"while {SYNC}:\n    x.cuda()\nelse:\n    y.cuda()\n",
        f"while {DONE}:\n    x.npu()\nelse:\n    y.npu()\n",
    ),
    "several with-items": (
        f"with {SYNC}, torch.cuda.Stream() as t, open(f):\n    pass\n",
        f"with {DONE}, torch.npu.Stream() as t, open(f):\n    pass\n",
    ),
    "with-items in brackets": (
        "with (torch.cuda.Stream(), torch.cuda.Stream() as t,  # cuda\n      open(f),\n):\n    pass\n",
        "with (torch.npu.Stream(), torch.npu.Stream() as t,  # cuda\n      open(f),\n):\n    pass\n",
    ),
    "with an attribute as target": ("with a as x.cuda().b:\n    pass\n", "with a as x.npu().b:\n    pass\n"),
    "async": (
        f"async def f(a={SYNC}):\n    async with x.cuda() as y:\n        async for i in x.cuda():\n            await x.cuda()\n",
        f"async def f(a={DONE}):\n    async with x.npu() as y:\n        async for i in x.npu():\n            await x.npu()\n",
    ),
    "async comprehension": (
        "async def f():\n    return [x.cuda() async for x in y if x.cuda()]\n",
        "async def f():\n    return [x.npu() async for x in y if x.npu()]\n",
    ),
    "decorator": (f"@dec({SYNC})\ndef f(): pass\n", f"@dec({DONE})\ndef f(): pass\n"),
    "decorators, one of several lines": (
        f"@one\n@dec(\n    {SYNC},  # cuda\n)\n@x.cuda()\nclass A({SYNC}, metaclass=x.cuda()):\n    pass\n",
        f"@one\n@dec(\n    {DONE},  # cuda\n)\n@x.npu()\nclass A({DONE}, metaclass=x.npu()):\n    pass\n",
    ),
    "decorator with spaces": (
        f"@ dec( {SYNC} ) # c\nasync def f(): pass\n",
        f"@ dec( {DONE} ) # c\nasync def f(): pass\n",
    ),
    "defaults and annotations": (
        f"def f(a: torch.cuda.Stream, /, b={SYNC}, *c: x.cuda(), d={SYNC}, **e) -> torch.cuda.Stream: pass\n",
        f"def f(a: torch.npu.Stream, /, b={DONE}, *c: x.npu(), d={DONE}, **e) -> torch.npu.Stream: pass\n",
    ),
    "header over lines, comments with colons": (
        f"def f(\n    a,  # a: b\n    b={SYNC},  # c: d\n):  # e: f\n    pass\n",
        f"def f(\n    a,  # a: b\n    b={DONE},  # c: d\n):  # e: f\n    pass\n",
    ),
    "lambda defaults": (
        f"f = lambda n={SYNC}, *a, k=x.cuda(): (n, k)\n",
        f"f = lambda n={DONE}, *a, k=x.npu(): (n, k)\n",
    ),
    "lambda in a header": (f"if (lambda: {SYNC})(): pass\n", f"if (lambda: {DONE})(): pass\n"),
    "slices and dicts in headers": (
        "if a[x.cuda():1] == {'cuda': x.cuda()}: pass\n",
        "if a[x.npu():1] == {'cuda': x.npu()}: pass\n",
    ),
    "walrus": (
        f"if (n := {SYNC}) and [y := x.cuda() for x in z]: pass\n",
        f"if (n := {DONE}) and [y := x.npu() for x in z]: pass\n",
    ),
    "elif": (
        f"if a:\n    pass\nelif {SYNC}:\n    pass\nelif (\n    x.cuda()  # cuda\n):\n    pass\nelse:\n    x.cuda()\n",
        f"if a:\n    pass\nelif {DONE}:\n    pass\nelif (\n    x.npu()  # cuda\n):\n    pass\nelse:\n    x.npu()\n",
    ),
    "else with an if inside": (
        f"if a:\n    pass\nelse:\n    if {SYNC}:\n        pass\n",
        f"if a:\n    pass\nelse:\n    if {DONE}:\n        pass\n",
    ),
    "try": (
        f"try:\n    {SYNC}\nexcept (A, x.cuda()) as e:\n    {SYNC}\nelse:\n    {SYNC}\nfinally:\n    {SYNC}\n",
        f"try:\n    {DONE}\nexcept (A, x.npu()) as e:\n    {DONE}\nelse:\n    {DONE}\nfinally:\n    {DONE}\n",
    ),
    "match": (
        f"match x.cuda():\n    case 'a' if {SYNC}:\n        x.cuda()\n    case {{'k': v, **r}}: x.cuda()\n    case [a, *b] | a, b: pass\n",
        f"match x.npu():\n    case 'a' if {DONE}:\n        x.npu()\n    case {{'k': v, **r}}: x.npu()\n    case [a, *b] | a, b: pass\n",
    ),
    "match a device": (
        "match device.type:\n    case 'cuda': x.cuda()\n    case ('cuda' | 'cpu'): pass\n    case (  # c\n 'cuda'): pass\n",
        "match device.type:\n    case 'npu': x.npu()\n    case ('npu' | 'cpu'): pass\n    case (  # c\n 'npu'): pass\n",
    ),
    "match, case and type as names": (
        "match = case = type = x.cuda(); match(case)[type].cuda()\n",
        "match = case = type = x.npu(); match(case)[type].npu()\n",
    ),
    "type comment": ("x = y.cuda()  # type: torch.cuda.Stream\n", "x = y.npu()  # type: torch.cuda.Stream\n"),
    "type: ignore": ("x = y.cuda()  # type: ignore\n", "x = y.npu()  # type: ignore\n"),
    "odd spacing and continuation": (
        "x = torch . cuda \\\n  . synchronize ( )\n",
        "x = torch . npu \\\n  . synchronize ( )\n",
    ),
    "statement continued at column 0": (
        "x = 1 + \\\nx.cuda() + \\\n\\\ny.cuda()\n",
        "x = 1 + \\\nx.npu() + \\\n\\\ny.npu()\n",
    ),
    "comment inside the chain": (
        "x = (torch.cuda  # cuda\n     .synchronize())\n",
        "x = (torch.npu  # cuda\n     .synchronize())\n",
    ),
    "comments in every bracket": (
        "f(  # one\n  # cuda\n  a, x.cuda(  # two\n  # three\n  ),  # four\n  k=[  # five\n    x.cuda()  # six\n  ],\n)  # seven\n",
        "f(  # one\n  # cuda\n  a, x.npu(  # two\n  # three\n  ),  # four\n  k=[  # five\n    x.npu()  # six\n  ],\n)  # seven\n",
    ),
    "quotes and prefixes": (
        'torch.device(r\'cuda:0\'); torch.device("""cuda"""); torch.device(U\'cuda\')\n',
        'torch.device(r\'npu:0\'); torch.device("""npu"""); torch.device(U\'npu\')\n',
    ),
    "bytes are no device": ("x.to(b'cuda')\n",),
    "f-string as device": (
        'torch.device(f"cuda:{i}"); x.to(rF\'cuda:{a["k"]}\')\n',
        'torch.device(f"npu:{i}"); x.to(rF\'npu:{a["k"]}\')\n',
    ),
    "f-string that goes on is a person's job": ('torch.device(f"cuda:{i}x")\n',),
    "global names stay resolved": (
        f"def f():\n    global g\n    g = {SYNC}\n",
        f"def f():\n    global g\n    g = {DONE}\n",
    ),
    "tabs, form feeds, wide characters before": (
        "if 1:\n\tä = 'ö€😀'; x.cuda()\n\x0c\ndef f():\n\tx.cuda()\n\x0cy.cuda()\n",
        "if 1:\n\tä = 'ö€😀'; x.npu()\n\x0c\ndef f():\n\tx.npu()\n\x0cy.npu()\n",
    ),
    "separators that end no line": (
        "s = '\u2028 \x0b \x1c \x85'; x.cuda()  # \u2028\ny.cuda()\n",
        "s = '\u2028 \x0b \x1c \x85'; x.npu()  # \u2028\ny.npu()\n",
    ),
    "wide characters in a header": ("if 'é€😀' in é.cuda(): é.cuda()\n", "if 'é€😀' in é.npu(): é.npu()\n"),
    "text over lines": (
        'f("""cuda\ntorch.cuda.synchronize()\n""", x.cuda(), """\n""", x.cuda())\n',
        'f("""cuda\ntorch.cuda.synchronize()\n""", x.npu(), """\n""", x.npu())\n',
    ),
    "deep in blocks": (
        "class A:\n  def f(self):\n    for i in j:\n     with k:\n          try:\n           x.cuda(\n1)\n          finally: pass\n",
        "class A:\n  def f(self):\n    for i in j:\n     with k:\n          try:\n           x.npu(\n1)\n          finally: pass\n",
    ),
    "del, assert, raise, return, yield": (
        f"def f():\n    assert {SYNC}, x.cuda()\n    del x.cuda().y\n    yield x.cuda()\n    raise E({SYNC}) from x.cuda()\n",
        f"def f():\n    assert {DONE}, x.npu()\n    del x.npu().y\n    yield x.npu()\n    raise E({DONE}) from x.npu()\n",
    ),
    "targets": (
        "x.cuda().y = x.cuda().z += 1\n".replace(" += 1", " = 1")
        + "x.cuda()[0]: int = x.cuda()\nx.cuda().n += x.cuda()\n",
        "x.npu().y = x.npu().z = 1\nx.npu()[0]: int = x.npu()\nx.npu().n += x.npu()\n",
    ),
    "stars": (
        "f(*x.cuda(), **y.cuda()); a = [*x.cuda(), {**y.cuda()}]\n",
        "f(*x.npu(), **y.npu()); a = [*x.npu(), {**y.npu()}]\n",
    ),
    "words that are no devices": ("print('cuda'); s = 'torch.cuda'; d['cuda'] = x.cuda; x.cuda.y()  # torch.cuda\n",),
    "docstring and comment": ('def f():\n    """x.cuda() and torch.cuda.synchronize()"""\n    # x.cuda()\n',),
    # ---- scopes
    "parameter": (f"def f(torch):\n    {SYNC}\n",),
    "star parameters": (f"def f(*torch, **kw):\n    {SYNC}\ndef g(**torch):\n    {SYNC}\n",),
    "lambda parameter": (f"f = lambda torch: {SYNC}\n",),
    "shadowed in one function only": (
        f"def f():\n    torch = q\n    {SYNC}\n{SYNC}\n",
        f"def f():\n    torch = q\n    {SYNC}\n{DONE}\n",
    ),
    "shadowed around": (f"def f():\n    torch = q\n    def g():\n        {SYNC}\n",),
    "class names are not seen by methods": (
        f"class A:\n    torch = 1\n    {SYNC}\n    def f(self): {SYNC}\n",
        f"class A:\n    torch = 1\n    {SYNC}\n    def f(self): {DONE}\n",
    ),
    "comprehension variable stays inside": (
        f"[{SYNC} for torch in q]; {SYNC}\n",
        f"[{SYNC} for torch in q]; {DONE}\n",
    ),
    "first iterable belongs outside": (
        f"[1 for torch in {SYNC}]; {{1: 2 for a in b for torch in {SYNC}}}\n",
        f"[1 for torch in {DONE}]; {{1: 2 for a in b for torch in {SYNC}}}\n",
    ),
    "default belongs outside": (
        f"def f(torch={SYNC}): {SYNC}\n",
        f"def f(torch={DONE}): {SYNC}\n",
    ),
    "decorator and annotation belong outside": (
        f"@dec({SYNC})\ndef f(torch: torch.cuda.Stream) -> torch.cuda.Stream: {SYNC}\n",
        f"@dec({DONE})\ndef f(torch: torch.npu.Stream) -> torch.npu.Stream: {SYNC}\n",
    ),
    "walrus in a comprehension binds around it": (f"def f():\n    [(torch := q) for q in z]\n    {SYNC}\n",),
    "for, with, except, match and del bind": (
        f"def a():\n    for torch in b: {SYNC}\ndef c():\n    with d as torch: {SYNC}\n"
        f"def e():\n    try: pass\n    except f as torch: {SYNC}\n"
        f"def g():\n    match h:\n        case [*torch]: {SYNC}\ndef i():\n    {SYNC}\n    del torch\n",
    ),
    "nonlocal": (f"def f():\n    torch = q\n    def g():\n        nonlocal torch\n        {SYNC}\n",),
    "a local of the same name as a module": (
        f"def f():\n    import torch\n    {SYNC}\ndef g():\n    import jax as torch\n    {SYNC}\n",
        f"def f():\n    import torch\n    {DONE}\ndef g():\n    import jax as torch\n    {SYNC}\n",
    ),
    "two answers are no answer": (f"try:\n    import jax as torch\nexcept E: pass\n{SYNC}\n",),
    "an alias": ("cuda = torch.cuda\ncuda.CUDAGraph()\n", "cuda = torch.npu\ncuda.NPUGraph()\n"),
    "an alias that is bound again": (
        "cuda = torch.cuda\ncuda.CUDAGraph()\ncuda = q\n",
        "cuda = torch.npu\ncuda.CUDAGraph()\ncuda = q\n",
    ),
    "an alias that was something else": (
        "cuda = q\ncuda.CUDAGraph()\ncuda = torch.cuda\n",
        "cuda = q\ncuda.CUDAGraph()\ncuda = torch.npu\n",
    ),
    "a local of one function is not the other's": (
        "def f():\n    d = 'cuda:0'\n    return x.to(d)\ndef g():\n    d = 'cuda:1'\n    return d\n",
        "def f():\n    d = 'npu:0'\n    return x.to(d)\ndef g():\n    d = 'cuda:1'\n    return d\n",
    ),
    # ---- what is not certain
    "a comparison of who knows what": ("if a == 'cuda': pass\n",),
    "a ladder that knows NPUs": ("if use_cuda:\n    x.cuda()\nelif use_npu:\n    x.npu()\n",),
    "behind a call there is another thing": (
        "torch.cuda.current_stream().is_available; torch.cuda.current_stream().synchronize()\n",
        "torch.npu.current_stream().is_available; torch.npu.current_stream().synchronize()\n",
    ),
}
if sys.version_info >= (3, 11):
    CASES["except*"] = (
        f"try:\n    pass\nexcept* x.cuda() as e:\n    {SYNC}\nexcept *x.cuda():\n    pass\n",
        f"try:\n    pass\nexcept* x.npu() as e:\n    {DONE}\nexcept *x.npu():\n    pass\n",
    )
if sys.version_info >= (3, 12):
    CASES["type parameters"] = (
        "def f[T: x.cuda()](a=x.cuda()): pass\nclass A[T: x.cuda()]: pass\ntype B = x.cuda()\n",
        "def f[T: x.npu()](a=x.npu()): pass\nclass A[T: x.npu()]: pass\ntype B = x.npu()\n",
    )
    CASES["quotes inside an f-string"] = (
        "s = f'{x.cuda(\"a\")}{f'{y.cuda()}'}'\n",
        "s = f'{x.npu(\"a\")}{f'{y.npu()}'}'\n",
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("name", CASES)
def test_case(name: str, newline: str) -> None:
    before = T + CASES[name][0]
    after = before if len(CASES[name]) == 1 else N + CASES[name][1]
    new = port(before.replace("\n", newline))
    assert new.decode() == after.replace("\n", newline)
    assert port(new) == new
    assert {f.code for f in look(before.replace("\n", newline)).findings}.isdisjoint({"PRT002", "PRT003"})
    cst.parse_module(new)


@pytest.mark.parametrize("name", CASES)
def test_case_without_a_final_newline(name: str) -> None:
    """The last byte is then the last byte of an edit or of a comment."""
    before = (T + CASES[name][0]).rstrip("\n")
    after = before if len(CASES[name]) == 1 else (N + CASES[name][1]).rstrip("\n")
    assert port(before).decode() == after


# Before Python 3.12 the positions in an f-string may be wrong: an edit there is right, or it is not made.
F_STRINGS = {
    "f'{x.cuda()}'": "f'{x.npu()}'",
    "f'{x.cuda()} {x.cuda()}'": "f'{x.npu()} {x.npu()}'",
    "f'''\n{x.cuda()}\n{  x.cuda(torch.cuda.device_count())}'''": "f'''\n{x.npu()}\n{  x.npu(torch.npu.device_count())}'''",
    "f'ä{x.cuda()!r:>{w.cuda()}}'": "f'ä{x.npu()!r:>{w.npu()}}'",
    "'a' f'{x.cuda()}' \"b\" f\"{'x'}{x.cuda()}\"": "'a' f'{x.npu()}' \"b\" f\"{'x'}{x.npu()}\"",
    "f'cuda() {x.cuda()=}'": "f'cuda() {x.npu()=}'",
    "f'{f\"{x.cuda()}\"}'": "f'{f\"{x.npu()}\"}'",
    "f'{{x.cuda()}} {x.cuda()}'": "f'{{x.cuda()}} {x.npu()}'",
    "f'''{\nx.cuda()\n}'''": "f'''{\nx.npu()\n}'''",
    "f'{torch.cuda.device_count()}{torch.device(\"cuda\")}'": "f'{torch.npu.device_count()}{torch.device(\"npu\")}'",
    "f'{(lambda: x.cuda())()}' + x.cuda()": "f'{(lambda: x.npu())()}' + x.npu()",
    "f'{[x.cuda() for x in y.cuda()]}'": "f'{[x.npu() for x in y.npu()]}'",
}


@pytest.mark.parametrize("expression", F_STRINGS)
def test_inside_an_f_string(expression: str) -> None:
    before, after = f"{T}s = {expression}\n", f"{N}s = {F_STRINGS[expression]}\n"
    new = port(before).decode()
    if sys.version_info >= (3, 12):
        assert new == after
    assert new.replace(f"{OURS}\n", "").replace("npu", "cuda") == before, "something else was edited"
    assert port(new) == new.encode()


# ---- bytes

BYTES: dict[str, tuple[bytes, bytes]] = {
    "BOM, CRLF, no final newline": (
        b"\xef\xbb\xbfimport torch\r\nx.cuda()",
        b"\xef\xbb\xbfimport torch\r\nimport torch_npu  # noqa: F401\r\nx.npu()",
    ),
    "BOM and a coding line": (
        "\ufeff# coding: utf-8\nimport torch\né.cuda()\n".encode(),
        "\ufeff# coding: utf-8\nimport torch\nimport torch_npu  # noqa: F401\né.npu()\n".encode(),
    ),
    "latin-1": (
        "# -*- coding: latin-1 -*-\nimport torch\ns = 'é'; x.cuda(); t = 'ü'; y.cuda()\n".encode("latin-1"),
        "# -*- coding: latin-1 -*-\nimport torch\nimport torch_npu  # noqa: F401\n"
        "s = 'é'; x.npu(); t = 'ü'; y.npu()\n".encode("latin-1"),
    ),
    "GBK in the second line": (
        "#!/usr/bin/env python\n# coding=gbk\nimport torch  # 导入\n变量 = '设备'; x.cuda()  # 显卡\n".encode("gbk"),
        "#!/usr/bin/env python\n# coding=gbk\nimport torch  # 导入\nimport torch_npu  # noqa: F401\n"
        "变量 = '设备'; x.npu()  # 显卡\n".encode("gbk"),
    ),
    "GBK whose second byte is a backslash": (
        "# coding: gbk\nimport torch\ns = '誠乗'; x.cuda()\n".encode("gbk"),
        "# coding: gbk\nimport torch\nimport torch_npu  # noqa: F401\ns = '誠乗'; x.npu()\n".encode("gbk"),
    ),
    "shift_jis and euc": (
        "# vim: set fileencoding=euc-jp :\nimport torch\ns = '日本'; x.cuda()\r\n".encode("euc-jp"),
        "# vim: set fileencoding=euc-jp :\nimport torch\nimport torch_npu  # noqa: F401\ns = '日本'; x.npu()\r\n".encode(
            "euc-jp"
        ),
    ),
    "an ASCII file that says latin-1": (
        b"# coding: latin-1\nimport torch\nx.cuda()\n",
        b"# coding: latin-1\nimport torch\nimport torch_npu  # noqa: F401\nx.npu()\n",
    ),
    "coding: ascii": (
        b"# coding: ascii\nimport torch\nx.cuda()\n",
        b"# coding: ascii\nimport torch\nimport torch_npu  # noqa: F401\nx.npu()\n",
    ),
    "mixed newlines": (
        b"import torch\nx.cuda()\r\ny.cuda()\rz.cuda()\n",
        b"import torch\nimport torch_npu  # noqa: F401\nx.npu()\r\ny.npu()\rz.npu()\n",
    ),
    "mixed newlines, CRLF first": (
        b"# c\r\nimport torch\nx.cuda()\n",
        b"# c\r\nimport torch\nimport torch_npu  # noqa: F401\r\nx.npu()\n",
    ),
    "mixed newlines inside one statement": (
        b"import torch\nf(x.cuda(),\r\n  y.cuda(\r  ), '''a\r\nb\rc\n''', z.cuda())\n",
        b"import torch\nimport torch_npu  # noqa: F401\nf(x.npu(),\r\n  y.npu(\r  ), '''a\r\nb\rc\n''', z.npu())\n",
    ),
    "lone CR": (
        b"x.cuda()\rimport torch\ry.cuda()\r",
        b"x.npu()\rimport torch\rimport torch_npu  # noqa: F401\ry.npu()\r",
    ),
    "form feed above an import": (
        b"\x0cimport torch\n\x0c\nx.cuda()\n",
        b"\x0cimport torch\n\x0cimport torch_npu  # noqa: F401\n\x0c\nx.npu()\n",
    ),
    "import in the last line, no newline": (
        b"x.cuda()\nimport torch",
        b"x.npu()\nimport torch\nimport torch_npu  # noqa: F401",
    ),
    "import with a comment in the last line": (
        b"x.cuda()\r\nimport torch  # c",
        b"x.npu()\r\nimport torch  # c\r\nimport torch_npu  # noqa: F401",
    ),
    "trailing blanks": (
        b"import torch  \nx.cuda() \t\n\n\n",
        b"import torch  \nimport torch_npu  # noqa: F401\nx.npu() \t\n\n\n",
    ),
    "control-Z and other odd bytes in a comment": (
        b"import torch\nx.cuda()  # \x1a\x7f\x01\n",
        b"import torch\nimport torch_npu  # noqa: F401\nx.npu()  # \x1a\x7f\x01\n",
    ),
    "escapes stay escapes": (
        rb"""import torch
s = '\ud800 \x63uda \N{BULLET}'; x.cuda()
""",
        rb"""import torch
import torch_npu  # noqa: F401
s = '\ud800 \x63uda \N{BULLET}'; x.npu()
""",
    ),
    "backslash at the end of a comment": (
        b"import torch  # \\\nx.cuda()  # \\\ny.cuda()\n",
        b"import torch  # \\\nimport torch_npu  # noqa: F401\nx.npu()  # \\\ny.npu()\n",
    ),
    "only an import": (b"from torch.cuda import synchronize", b"from torch_npu.npu import synchronize"),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes(name: str) -> None:
    before, after = BYTES[name]
    assert port(before) == after
    assert port(after) == after
    assert {f.code for f in look(before).findings}.isdisjoint({"PRT002", "PRT003"})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\xef\xbb\xbf",
        b"# torch.cuda\n",
        b"# torch\r\n# cuda",
        b"'''torch.cuda'''",
        b"\x0c# cuda",
        b"torch",
        b"pass",
    ],
)
def test_nothing_to_do(data: bytes) -> None:
    result = look(data)
    assert (result.findings, result.auto, result.review) == ((), (), ())


REFUSED: dict[str, tuple[bytes, str, int]] = {  # name -> (bytes, key of PRT002, line)
    "open bracket": (b"import torch\n\nx.cuda(\n", "syntax", 3),
    "null byte": (b"import torch\nx.cuda()\x00\n", "syntax", 1),
    "more null bytes than a file may have words": (b"import torch\nx.cuda()\n" + bytes(450_001), "syntax", 1),
    "unknown codec": (b"# coding: nonsense\nimport torch\n", "encoding", 1),
    "a codec that is no text encoding": (b"# coding: base64\nimport torch\nx.cuda()\n", "encoding", 1),
    "not UTF-8": (b"import torch\n# \xff\nx.cuda()\n", "encoding", 1),
    "not what the cookie says": (b"# coding: ascii\nimport torch  # \xc3\xa9\n", "encoding", 1),
    "BOM against cookie": (b"\xef\xbb\xbf# coding: latin-1\nimport torch\nx.cuda()\n", "encoding", 1),
    "Python 2 print": (b"import torch\nprint 'cuda'\n", "python2", 2),
    "Python 2 except": (b"import torch\ntry:\n    x.cuda()\nexcept IOError, e:\n    print e\n", "python2", 4),
    "Perl, called .py": (b'#!/usr/bin/perl\nprint "torch.cuda";\n', "syntax", 2),
    "Python 2 exec and backquotes": (b"import torch\nexec 'x.cuda()'\n", "python2", 2),
    "indentation": (b"import torch\nif a:\n\tx.cuda()\n        y.cuda()\n", "syntax", 4),
    "10,000 brackets": (b"import torch\nx.cuda()\ny = " + b"(" * 10_000 + b")" * 10_000, "syntax", 3),
    "2,000 nested calls": (b"import torch\nx.cuda()\ny = " + b"f(" * 2_000 + b")" * 2_000, "syntax", 3),
    "200 levels of blocks": (
        b"import torch\nx.cuda()\n" + b"".join(b" " * i + b"if a:\n" for i in range(200)) + b" " * 200 + b"x.cuda()\n",
        "syntax",
        103,
    ),
    "a syntax error before 20,000 terms": (
        b"import torch\nx.cuda() y\nz = " + b"a and " * 20_000 + b"b\n",
        "syntax",
        2,
    ),
    "a syntax error before 20,000 elifs": (
        b"import torch\nx.cuda() y\nif a: b\n" + b"elif a: b\n" * 20_000,
        "syntax",
        2,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    data, why, line = REFUSED[name]
    result = look(data)
    assert [(f.code, f.why, f.line) for f in result.findings] == [("PRT002", why, line)]
    assert result.auto == result.review == ()


@pytest.mark.parametrize(
    "deep", ["-" * 10_000 + "1", "1 + " * 10_000 + "1", "z" + ".a" * 10_000, "not " * 10_000 + "z"]
)
def test_what_only_some_pythons_nest(deep: str) -> None:
    """10,000 levels without a bracket: this Python's `ast` refuses the file, or reads it and the rest is ported."""
    before = f"{T}x.cuda()\ny = {deep}\n"
    result = look(before)
    if codes(result) == [(1, "PRT002", "deep")]:
        assert result.auto == result.review == ()
    else:
        assert codes(result) == [(2, "PRT130", "call")]
        assert apply(before.encode(), result.auto).decode() == f"{N}x.npu()\ny = {deep}\n"


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-be", "utf-32"])
def test_wide_encodings_are_no_python(codec: str) -> None:
    """Python itself reads no UTF-16 source: nothing in it is edited, and no exception escapes."""
    result = look("\ufeffimport torch\nx.cuda()\n".encode(codec))
    assert result.auto == result.review == ()
    assert {f.code for f in result.findings} <= {"PRT002"}


# A statement that a parser cannot nest that deep is a finding of its own; the rest of the file is ported.
DEEP = {
    "calls": "y = z" + ".cuda()" * 400,
    "and": "y = " + "a and " * 20_000 + "b.cuda()",
    "or in a header": "if " + "a or " * 20_000 + "b.cuda(): pass",
    "strings": "y = b.cuda(" + "'a' " * 5_000 + ")",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DEEP)
def test_deep_statement(name: str) -> None:
    before = f"{T}x.cuda()\n{DEEP[name]}\ny.cuda()\n"
    result = look(before)
    assert [c for c in codes(result) if c[1] != "PRT130"] == [(3, "PRT002", "statement")]
    assert apply(before.encode(), result.auto).decode() == f"{N}x.npu()\n{DEEP[name]}\ny.npu()\n"


def test_behind_a_call() -> None:
    found = look(f"{T}torch.cuda.current_stream().device_count()\ntorch.cuda.current_stream().no_such.name\n")
    assert codes(found) == [(2, "PRT101", "default"), (3, "PRT101", "default")]
    (found,) = look(f"{T}torch.cuda.no_such().other\n").findings
    assert (found.code, dict(found.values)) == ("PRT104", {"name": "torch.cuda.no_such"})


@pytest.mark.parametrize(
    "ladder",
    [
        "if use_cuda:\n    x.cuda()\nelif use_npu:\n    x.npu()\n",
        "if is_npu:\n    x.npu()\nelse:\n    torch.cuda.synchronize()\n",
        "x.to('npu' if is_npu else torch.device('cuda'))\n",
        "assert device.type in ('cuda', 'npu')\n",
    ],
)
def test_what_knows_npus_is_left_alone(ladder: str) -> None:
    assert look(T + ladder).findings == ()


@pytest.mark.slow
def test_many_elifs() -> None:
    """Each one lies inside the other for a parser, though not for a reader."""
    before = "if a: pass\n" + f"elif b: {SYNC}\n" * 500
    assert port(T + before).decode() == N + before.replace(SYNC, DONE)


def test_columns_count_characters() -> None:
    assert [(f.line, f.column, f.end_column) for f in look("s = 'ö😀'; x.cuda()  # torch\n").findings] == [(1, 11, 19)]


@pytest.mark.parametrize("separator", ["\x0c", "\x0b", "\u2028", "\x85", "\x1c"])
def test_lines_are_pythons_lines(separator: str) -> None:
    found = look(f"s = '{separator}'\r\nt = 1\rx.cuda()  # torch\n").findings
    assert [(f.line, f.column, f.code) for f in found] == [(3, 1, "PRT130")]


# ---- size

BLOCK = """\
def step_{i}(batch, device):
    # cuda stays a word here
    table = {{"cuda": {i}, "key": "é"}}
    batch = batch.cuda({i})
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    name = "cuda:{i}"
    other = batch.to(name)
    return other, table

"""


def generated(lines: int) -> str:
    return T + "".join(BLOCK.format(i=i) for i in range(lines // 10))


def calls(text: str) -> int:
    """How much work the analysis is: the calls it makes, Python's and C's alike."""
    counted = 0

    def count(frame, event: str, argument) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    look(text)
    sys.setprofile(count)
    try:
        look(text)
    finally:
        sys.setprofile(None)
    return counted


SHAPES = {
    "functions": generated,
    "one dict": lambda n: T + "d = {\n    'é': 0,\n" + "".join(f"    {i}: x.cuda(),\n" for i in range(n)) + "}\n",
    "one name": lambda n: T + "".join(f"x = 'cuda:{i}'\n" for i in range(n)) + "y.to(x)\n",
    "suppressed": lambda n: T + "x.cuda()  # porter: ignore[PRT130] why\n" * n,
    "suppressed above": lambda n: T + "# porter: ignore[PRT130] why\nx.cuda()\n" * (n // 2),
    "already ported": lambda n: T + "if cuda:\n    x.cuda()\nelif npu:\n    x.npu()\n" * (n // 4),
    "latin-1": lambda n: "# coding: latin-1\n" + T + "x.cuda()\n" * n,
    "elif": lambda n: T + "if a: pass\n" + "elif b: x.cuda()\n" * n,
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", share([*SHAPES], 2))
def test_work_grows_with_the_lines(shape: str) -> None:
    # trees of statements of less than 2,000 characters are kept (python/spare_trees.py): both are longer
    small, large = (calls(SHAPES[shape](n)) for n in (160, 1_280))
    assert large < small * 8 * 1.3, f"{small} calls for 160 lines, {large} for 1,280"


@pytest.mark.slow
@pytest.mark.parametrize("shape", share(["one dict", "latin-1", "suppressed", "one name"], 2))
def test_one_long_statement_ends(shape: str) -> None:
    """What is quadratic in C shows in no count of calls: here it would take minutes."""
    result = look(SHAPES[shape](5_000))
    assert len(result.findings) >= 5_000


@pytest.mark.slow
def test_many_lines() -> None:
    blocks = 1_000 if WHOLE else 200
    rest = "".join(f"def plain_{i}(a):\n    return a + {i}\n" for i in range(20 * blocks))
    text = generated(10 * blocks) + rest
    result = look(text)
    found = [f for f in result.findings if f.code != "PRT007"]  # what is left to rules that this session does not have
    assert {(f.code, f.status) for f in found} == {("PRT130", "auto"), ("PRT101", "auto"), ("PRT120", "auto")}
    assert len(found) == blocks * 4
    assert result.lines >= 50 * blocks
    after = N + "".join(
        BLOCK.format(i=i)
        .replace("batch.cuda(", "batch.npu(")
        .replace("torch.cuda", "torch.npu")
        .replace('"cuda:', '"npu:')
        for i in range(blocks)
    )
    assert apply(text.encode(), result.auto) == (after + rest).encode()


def test_every_node_that_a_rule_can_ask_for_exists_in_libcst() -> None:
    assert [name for name in TYPES if not hasattr(cst, name)] == []


def test_the_session_is_the_one_meant() -> None:
    assert {type(rule).__name__ for rule in CORE_SESSION.rules.all} == {
        "CudaImports", "CudaMethod", "CudaNames", "DeviceLiteral", "IsCuda", "BackendLiteral"
    }  # fmt: skip


@pytest.mark.parametrize(
    "value", ["True", "False", "None", '("cpu", False)', "{'a': None, **rest}", "[1, *_]", "Point(x=True)"]
)
def test_every_pattern_of_a_match_is_read(value):
    text = f"{T}match torch.cuda.is_available():\n    case {value}:\n        torch.cuda.synchronize()\n"
    assert [code for _, code, _ in codes(look(text))] == ["PRT101", "PRT101"]
