"""Scalars of a TensorBoard event file, by TensorBoard's own reader: the extra `compare` installs it."""

from __future__ import annotations

from porter.compare.lines import Points, readings_of
from porter.compare.run import Run
from porter.errors import UserError


def events(name: str, limit: int) -> Run | None:
    try:
        from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
    except ImportError:
        raise UserError(
            f"{name}: event files are read by tensorboard; pip install 'npu-porter[compare]'",
            f"{name}：读取事件文件需要 tensorboard；pip install 'npu-porter[compare]'",
        ) from None
    points = Points(limit)
    try:
        for event in LegacyEventFileLoader(name).Load():
            for value in event.summary.value:
                number = value.simple_value if value.HasField("simple_value") else _scalar(value.tensor)
                if number is not None:
                    readings, _ = readings_of({value.tag: number})
                    points.add(readings, max(0, event.step), None, False)
    except Exception as error:  # whatever its C++ or protobuf makes of a damaged file: what was read until there counts
        if not points.losses:
            raise UserError(
                f"{name}: damaged: {type(error).__name__}; give another log of this run",
                f"{name}：文件损坏：{type(error).__name__}；请给出这次运行的其他日志",
            ) from None
    series = points.choose()
    run = Run(name, "tensorboard", {0: points.rank}) if series else None
    if run:
        run.notes.append(("series", {"name": series}))
    return run


def _scalar(tensor: object) -> float | None:
    """TensorFlow and newer writers store a scalar as a tensor of one element."""
    from tensorboard.util.tensor_util import make_ndarray

    array = make_ndarray(tensor)
    return float(array.reshape(-1)[0]) if array.size == 1 and array.dtype.kind in "fiu" else None
