"""What keeps dumps from being compared: one line that names the file, the fault and the cure."""

from __future__ import annotations

from porter.errors import UserError
from porter.files.errors import about_file, printable


def nothing(name: str) -> UserError:
    return about_file(
        name,
        "no dump.json in it; give the dump_path of msProbe, a stepN or a rankN folder of it",
        "其中没有 dump.json；请给出 msProbe 的 dump_path，或其中的 stepN、rankN 目录",
    )


def many(name: str, most: int) -> UserError:
    return about_file(
        name,
        f"more than {most:,} folders; give the dump_path of msProbe, a stepN or a rankN folder of it",
        f"超过 {most:,} 个目录；请给出 msProbe 的 dump_path，或其中的 stepN、rankN 目录",
    )


def foreign(name: str) -> UserError:
    return about_file(
        name,
        "not a dump of msProbe: no object with 'data'; give what PrecisionDebugger wrote",
        "不是 msProbe 的 dump：没有包含 'data' 的对象；请给出 PrecisionDebugger 写出的文件",
    )


def empty(name: str) -> UserError:
    return about_file(
        name,
        "no call of a module or operator is in it; dump a step that runs, with level L0, L1 or mix",
        "其中没有模块或算子的调用；请以 L0、L1 或 mix 级别 dump 实际运行的训练步",
    )


def large(name: str, most: int) -> UserError:
    return about_file(
        name,
        f"more than {most:,} tensors; dump one step, or name modules in `list`",
        f"超过 {most:,} 个张量；请只 dump 一步，或用 `list` 指定模块",
    )


def twice(name: str, one: str, other: str) -> UserError:
    one, other = printable(one), printable(other)
    return about_file(
        name,
        f"{one} and {other} are of one step, and of one rank or without one; give the folder of one of them",
        f"{one} 与 {other} 属于同一步，且 rank 相同或没有 rank；请给出其中一个目录",
    )


def apart(one: str, other: str, what: str) -> UserError:
    one, other = printable(one), printable(other)
    zh = {"step": "步", "rank": "rank"}[what]
    return UserError(
        f"{other}: none of its {what}s is in {one}; dump the same {what}s on both sides",
        f"{other}：与 {one} 没有相同的 {zh}；请在两侧 dump 相同的 {zh}",
    )
