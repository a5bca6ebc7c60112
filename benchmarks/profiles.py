"""Whether `porter compare --profiles` reads profiles rightly, and what a large one costs.

    python benchmarks/profiles.py --count TRACE...       # each figure recounted with json alone, and compared
    python benchmarks/profiles.py --gigabytes 1          # a trace of this size, of a GPU and of an NPU: seconds, memory

A recount holds the whole file, knows nothing of porter's readers, and sweeps over begins and ends.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from process import cost, porter

from porter.profiles.find import read_run
from porter.profiles.sums import shown_profile

TALKS = ("nccl", "rccl")
OVERLAP = {"Computing": "(computing)", "Communication(Not Overlapped)": "(exposed)", "Free": "(free)"}


def recounted(file: Path) -> dict[str, Decimal]:
    """Microseconds of kernels and copies by name, and of a GPU what computes, talks alone, and is free."""
    data = file.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    document = json.loads(text, strict=False, parse_float=Decimal)
    events = [e for e in (document if isinstance(document, list) else document["traceEvents"]) if e.get("ph") == "X"]
    kinds = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "copy", "memcpy": "copy", "memset": "copy"}
    device = [e for e in events if str(e.get("cat")).lower() in kinds]
    figures: dict[str, Decimal] = defaultdict(Decimal)
    for event in device:
        figures[event["name"]] += Decimal(event["dur"])
    steps = [
        e
        for e in events
        if e["name"].startswith("ProfilerStep#") and e.get("cat") in ("user_annotation", "cpu_op", "Operator")
    ]
    figures["(steps)"] = len({e["name"] for e in steps})
    overlap = {
        e.get("pid")
        for e in (document if isinstance(document, list) else ())
        if e.get("name") == "process_name" and e.get("args", {}).get("name") == "Overlap Analysis"
    }
    for event in events:
        if event.get("pid") in overlap and event["name"] in OVERLAP:
            figures[OVERLAP[event["name"]]] += Decimal(event["dur"])
    if device:
        spans = steps or device
        start, end = min(Decimal(e["ts"]) for e in spans), max(Decimal(e["ts"]) + Decimal(e["dur"]) for e in spans)
        marks = []
        for event in device:
            if kinds[event["cat"].lower()] != "kernel":
                continue
            talks = any(word in event["name"].lower() for word in TALKS)
            begin, finish = max(Decimal(event["ts"]), start), min(Decimal(event["ts"]) + Decimal(event["dur"]), end)
            if finish > begin:
                marks += [(begin, 1, talks), (finish, -1, talks)]
        figures |= swept(sorted(marks), end - start)
    return figures


def swept(marks: list[tuple[Decimal, int, bool]], span: Decimal) -> dict[str, Decimal]:
    busy = {True: 0, False: 0}
    computing = talking_alone = last = Decimal(0)
    for at, change, talks in marks:
        computing += (at - last) * (busy[False] > 0)
        talking_alone += (at - last) * (busy[True] > 0 and busy[False] == 0)
        busy[talks] += change
        last = at
    return {"(computing)": computing, "(exposed)": talking_alone, "(free)": span - computing - talking_alone}


def count(file: Path) -> bool:
    expected = recounted(file)
    profile = shown_profile(read_run(str(file)))
    found = {row.name: row.time for row in profile.kernels.values()} | {"(steps)": profile.steps}
    if profile.device == "npu":  # its kernels are put together by type
        found = {"(steps)": profile.steps}
    if profile.parts.computing is not None:
        parts = profile.parts
        found |= {"(computing)": parts.computing, "(exposed)": parts.exposed, "(free)": parts.free}
    wrong = [
        (name, expected.get(name), found.get(name))
        for name in sorted({*expected, *found})
        if abs(float(expected.get(name) or 0) - (found.get(name) or 0.0)) > 0.01
    ]
    print(f"{file}: {profile.device}, {len(found)} figures, {len(wrong)} differ {wrong[:3] or ''}")
    return not wrong


def event_of_gpu(n: int) -> dict[str, object]:
    """Nine of ten are of the host: operators, launches, and the frames of a trace with stacks."""
    start = 10.0 * n
    if n % 10 == 9:
        name = ("ampere_bf16_s16816gemm", "vectorized_elementwise_kernel", "ncclDevKernel_AllReduce_Sum_bf16")[n % 3]
        return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start, "dur": 7.5} | {
            "args": {"External id": n - 1, "stream": 7, "correlation": n, "grid": [128, 1, 1], "block": [256, 1, 1]}
        }
    if n % 10 == 8:
        return {
            "ph": "X",
            "cat": "cpu_op",
            "name": f"aten::op{n % 40}",
            "pid": 1,
            "tid": 1,
            "ts": start,
            "dur": 6.0,
        } | {
            "args": {"External id": n, "Record function id": 0, "Input Dims": [[4096, 4096], [4096, 4096]], "Ev Idx": n}
        }
    return {"ph": "X", "cat": "python_function", "name": f"train.py({n % 900}): forward", "pid": 1, "tid": 1} | {
        "ts": start,
        "dur": 6.0,
        "args": {"Python parent id": n - 1, "Python id": n, "Ev Idx": n},
    }


def event_of_npu(n: int) -> dict[str, object]:
    start = f"170416{n:010d}.491"
    if n % 5 == 4:
        name = ("Computing", "Free", "Communication", "Communication(Not Overlapped)")[n % 4]
        return {"name": name, "pid": 2, "tid": 0, "ts": start, "dur": 1.35, "ph": "X"}
    if n % 5 == 3:
        return {"name": f"aclnnMm_MatMulCommon_MatMulV{n % 9}", "pid": 1, "tid": 3, "ts": start, "dur": 1.35} | {
            "args": {"Model Id": 4294967295, "Task Type": "AI_CORE", "Stream Id": 3, "Task Id": n, "connection_id": n},
            "ph": "X",
        }
    return {"ph": "X", "name": f"aten::op{n % 40}", "pid": 9, "tid": 9, "ts": start, "dur": 13.08, "cat": "cpu_op"} | {
        "args": {"Sequence number": n, "Fwd thread id": 0}
    }


def large(gigabytes: float) -> None:
    for kind, event in (("gpu", event_of_gpu), ("npu", event_of_npu)):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{kind}.json"
            with file.open("w") as stream:
                stream.write('{"schemaVersion": 1, "traceEvents": [' if kind == "gpu" else "[")
                n = 0
                while stream.tell() < gigabytes * 1e9:
                    stream.write("".join(json.dumps(event(n + k)) + ",\n" for k in range(10_000)))
                    n += 10_000
                stream.write('{"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "Overlap Analysis"}}]')
                stream.write("}" if kind == "gpu" else "")
            spent = cost(porter("compare", "--profiles", str(file)), Path(folder), Path(folder) / "cache")
            size = file.stat().st_size / 1e9
            print(f"{kind}: {size:.2f} GB, {n} events: {spent.cpu:.0f} s of the processor, {spent.memory:.0f} MiB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", nargs="+", type=Path, default=[])
    parser.add_argument("--gigabytes", type=float, default=0.0)
    options = parser.parse_args()
    right = [count(file) for file in options.count]
    if options.gigabytes:
        large(options.gigabytes)
    return 0 if all(right) else 1


if __name__ == "__main__":
    raise SystemExit(main())
