"""Profiles made for tests, in the forms that torch_npu.profiler and torch.profiler write, with numbers of their own."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path

STEP = (
    "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
    "Communication(Not Overlapped and Exclude Receive),Preparing"
).split(",")
OLD_STEP = STEP[1:9]  # before 2024: neither the device, nor what precedes the first kernel
KERNEL = (
    "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
    "Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats"
).split(",")
BASE_KERNEL = "Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num".split(",")
STATISTIC = "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)".split(
    ","
)
API = "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance".split(",")
OPERATOR = (
    "Name,Input Shapes,Call Stack,Host Self Duration(us),Host Total Duration(us),Device Self Duration(us),"
    "Device Total Duration(us),Device Self Duration With AICore(us),Device Total Duration With AICore(us)"
).split(",")


def table(folder: Path, name: str, header: list[str], rows: Iterable[dict[str, object]]) -> Path:
    """What a row does not say is empty."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, header, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return folder / name


def step(number: object, computing: float, exposed: float, free: float, **more: float) -> dict[str, object]:
    row = {"Step": number, "Computing": computing, "Communication(Not Overlapped)": exposed, "Free": free}
    return {**row, "Overlapped": more.get("overlapped", 0.0), "Bubble": more.get("bubble", 0.0)}


def kernel(
    number: object, name: str, type: str, core: str, time: float, shapes: str = "", **more: object
) -> dict[str, object]:
    row = {"Step Id": number, "Name": name, "Type": type, "Accelerator Core": core, "Duration(us)": time}
    row |= {"Start Time(us)": "1699529622790614.81\t", "Wait Time(us)": more.get("wait", 0)}
    return {**row, "Input Shapes": f'"{shapes}"' if shapes else "N/A", "Input Data Types": more.get("types", "DT_BF16")}


def collective(
    elapse: float, transit: float, wait: float, links: dict[str, tuple[float, float, dict[str, list[float]]]]
) -> dict[str, object]:
    """Milliseconds and megabytes, as CANN writes one of communication.json."""
    times = {"Start Timestamp(us)": 1.0, "Elapse Time(ms)": elapse, "Transit Time(ms)": transit, "Wait Time(ms)": wait}
    bandwidth = {
        kind: {"Transit Size(MB)": size, "Transit Time(ms)": time, "Bandwidth(GB/s)": 0, "Size Distribution": packets}
        for kind, (size, time, packets) in links.items()
    }
    return {"Communication Time Info": times, "Communication Bandwidth Info": bandwidth}


def event(name: str, start: float, time: float, cat: str | None = None, **more: object) -> dict[str, object]:
    row: dict[str, object] = {"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": time}
    return {**row, **({"cat": cat} if cat else {}), **more}


def process(pid: int, name: str) -> dict[str, object]:
    return {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}


def trace(file: Path, events: list[dict[str, object]], **more: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"schemaVersion": 1, **more, "traceEvents": events}), encoding="utf-8")
    return file
