"""One stanza of each kind, for the tests of rules/*.toml."""

from __future__ import annotations

from porter.rulebook import compiled, table

RULE = """
[[rule]]
code = "PRT101"
slug = "api-renamed"
severity = "blocker"
effort = "minutes"
title = { en = "A name", zh = "名称" }
explain = { en = "Why.", zh = "原因。" }
symptom = "AttributeError"
before = "x"
after = "y"
[rule.message]
default = { en = "{old} is {new}", zh = "{old} 是 {new}" }
note = { en = "so", zh = "如此", severity = "note", effort = "hours" }
"""
NAMESPACE = '[[namespace]]\ncode = "PRT101"\nfrom = "torch.cuda"\nnames = ["synchronize"]\n'
API = '[[api]]\ncode = "PRT101"\nmatch = "torch.cuda.CUDAGraph"\nto = "NPUGraph"\nfix = "safe"\nexample = ["a", "b"]\n'
SINK = '[[sink]]\nkind = "device"\ncall = ["torch.device"]\nposition = 0\n'
VARIABLE = '[[variable]]\ncode = "PRT101"\nmatch = ["A", "B"]\nto = "C"\nfix = "review"\nvalue = "bytes-to-mb"\ntakes = \'[0-9]+\'\nolder = "D"\nolder_for = ["2.1.0"]\n'
PARAMETER = '[[parameter]]\ncode = "PRT101"\nmatch = "torch.cuda.f"\nrename = { device = "device_name" }\n'
EFFORT = '[[effort]]\nname = "review"\nfirst = "2 to 8 hours"\ntitle = { en = "a", zh = "核" }\nwhy = { en = "a", zh = "因" }\n'
LIMIT = '[[limit]]\nmatch = ["torch.f"]\nsoc = ["910"]\ntext = { en = "a", zh = "限" }\ngrade = "V"\nevidence = "e"\n'
HINT = '[[hint]]\nkind = "a"\nabout = "b"\nwords = ["("]\n'
ROUTE = (
    '[[route]]\nname = "mesh"\ntier = 1\nwhen = [{ signal = "mesh", least = 2, share = 0.5 }]\n'
    'title = { en = "a", zh = "网" }\ntext = { en = "a", zh = "网" }\nevidence = { en = "a", zh = "网" }\n'
)
NPU_VARIABLE = (
    '[[npu_variable]]\nmatch = ["HCCL_A"]\nvalue = "1"\ntext = { en = "a", zh = "值" }\ngrade = "E"\nevidence = "e"\n'
)
PLUGIN = '[[package]]\ncode = "PRT101"\nimport = "p"\nstatus = "plugin"\nevidence = "e"\n'
ALL = RULE + NAMESPACE + API + SINK + VARIABLE + PARAMETER


def forget() -> None:
    compiled._built.clear()
    table.load.cache_clear()
    table.prose.cache_clear()
