"""What keeps a profile from being read: one line that names the file, the place and the cure."""

from __future__ import annotations

from porter.errors import UserError
from porter.files.errors import about_file, printable


def cut(name: str) -> UserError:
    return about_file(
        name,
        "ends in the middle of a value: it was cut while it was written or copied; export or copy it again",
        "文件在某个值中间结束，可能在写出或拷贝时被截断；请重新导出或拷贝",
    )


def damaged(name: str, place: int, why: str) -> UserError:
    return about_file(
        name,
        f"damaged JSON at character {place}: {printable(why)}; export or copy it again",
        f"第 {place} 个字符处 JSON 已损坏：{printable(why)}；请重新导出或拷贝",
    )


def compressed(name: str, why: object) -> UserError:
    return about_file(
        name,
        f"damaged gzip data: {printable(str(why))}; copy it again",
        f"gzip 数据损坏：{printable(str(why))}；请重新拷贝",
    )


def row(name: str, line: int, en: str, zh: str) -> UserError:
    return about_file(
        f"{name}:{line}", f"{printable(en)}; export or copy it again", f"{printable(zh)}；请重新导出或拷贝"
    )


def column(name: str, missing: str) -> UserError:
    return about_file(
        name,
        f"no column {missing!r}: not a table that torch_npu.profiler writes under this name; export it again",
        f"缺少列 {missing!r}，不是 torch_npu.profiler 以此文件名写出的表格；请重新导出",
    )


class NoTrace(UserError):
    """JSON, but something else."""


def no_trace(name: str) -> NoTrace:
    name = printable(name)
    return NoTrace(
        f"{name}: no trace: neither a list of events nor an object with traceEvents; give what torch.profiler's "
        "export_chrome_trace or torch_npu.profiler wrote",
        f"{name}：不是 trace 文件：既不是事件列表，也没有 traceEvents；请给出 torch.profiler 的 export_chrome_trace "
        "或 torch_npu.profiler 写出的文件",
    )


def nothing(name: str) -> UserError:
    return about_file(
        name,
        "no profile in it; give an ASCEND_PROFILER_OUTPUT folder, a folder of *_ascend_pt, or a trace "
        "(.json, .json.gz) of torch.profiler",
        "其中没有性能数据；请给出 ASCEND_PROFILER_OUTPUT 目录、包含 *_ascend_pt 的目录，"
        "或 torch.profiler 的 trace 文件（.json、.json.gz）",
    )


def unparsed(name: str) -> UserError:
    return about_file(
        name,
        "not parsed yet; run torch_npu.profiler.profiler.analyse on it, then give ASCEND_PROFILER_OUTPUT",
        "尚未解析；请先对其执行 torch_npu.profiler.profiler.analyse，再给出 ASCEND_PROFILER_OUTPUT",
    )


def database(name: str) -> UserError:
    return about_file(
        name,
        "exported as a database only; export it with ExportType.Text as well",
        "仅导出为数据库；请同时以 ExportType.Text 导出",
    )


def empty(name: str) -> UserError:
    return about_file(
        name,
        "no operator, no kernel and no step is in it; profile steps in which the model runs",
        "其中没有算子、核函数或训练步；请采集模型实际运行的训练步",
    )
