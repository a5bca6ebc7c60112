"""Which numbers of a line of text, and which columns of a log, two runs of one program must agree on.

Of what is printed, numbers behind the name of a loss or a measure of quality. Of what is logged under a name, all but
what a clock or a gauge said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUALITY = re.compile(
    r"loss|accura|perplex|reward|return|error|precision|recall|score|"
    r"(?<![a-z])(?:acc|ppl|err|m?iou|f1|auc|bleu|rouge|[wc]er|m[sa]e|rmse|psnr|ssim|nll|elbo|kld?|bp[bc]|fid|dice|"
    r"top|prec|norm)(?![a-z])|(?<![a-z])(?-i:m?ap|mAP|M?AP)(?![a-z])",  # `Map` is the bar of a data set
    re.IGNORECASE,
)
_GAUGES = frozenset(
    "time times runtime walltime uptime timestamp date datetime clock wall elapsed duration latency eta t s ms us ns sec secs "
    "second seconds min mins minute minutes hour hours fps sps ips hz speed throughput memory mem rss vram util utilization gpu cpu "
    "kb mb gb mib gib mfu flops tflops gflops pid port".split()
)
_NUMBER = r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|(?:nan|inf(?:inity)?)\b)"
# `loss: 0.5`, `val loss = 0.5`, `'loss': '0.5'`, `loss=tensor(0.5, ...)`, `|  value_loss  | 0.5 |`, `Acc@1 50.0`
_PAIR = re.compile(
    r"((?:\b(?:train|training|val|valid|validation|test|testing|eval|evaluation|dev) )?[a-z_][\w/.@-]*)"
    rf"[\"']?(?:\s*[:=|]\s*|\s+)[\"']?(?:tensor\()?({_NUMBER})",
    re.IGNORECASE,
)
_LONGEST = 2000
# `/tmp/x/my_loss.py:12: UserWarning: ...`, `[my_loss.py:12]`, `  File "my_loss.py", line 12`, `__main__:get_loss:12 - ...` of
# loguru: where something was said, not what
_PLACE = re.compile(r"[\w./\\-]+\.py:\d+\b:?|\bFile \"[^\"]+\", line \d+|\b[\w.]+:[\w<>]+:\d+(?= *[-|\]])")


def numbers(line: str) -> Iterator[tuple[str, str]]:
    """Pairs of a name and a number, as it was written."""
    if not _QUALITY.search(line):  # most lines of most programs
        return
    line = _PLACE.sub(" ", line)
    if _QUALITY.search(line):
        for name, digits in _PAIR.findall(line[:_LONGEST]):
            if _QUALITY.search(name) and not is_gauge(name):
                yield name.strip(".-/"), digits


def is_gauge(name: str) -> bool:
    return not _GAUGES.isdisjoint(re.split("[^a-z]+", name.lower()))
