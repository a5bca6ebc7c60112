"""What `porter diagnose` says, in both languages; what it says of a cause is in rules/diagnose.toml."""

from __future__ import annotations

_WORDS: dict[str, tuple[str, str]] = {
    "head": ("{name}: {lines} line{s}", "{name}：共 {lines} 行"),
    "head.npu": ("{name}: {lines} line{s}, of a program on an NPU", "{name}：共 {lines} 行，来自 NPU 上的程序"),
    "stdin": ("standard input", "标准输入"),
    "cause": ("cause: ", "原因："),
    "cause.more": ("also: ", "其次："),
    "effect": ("follows from something else: ", "由其他问题引起："),
    "hint": ("worth a look: ", "值得留意："),
    "why": ("why", "说明"),
    "cure": ("do", "处理"),
    "cure.rule": ("`porter explain {code}` says what to do", "处理方法见 `porter explain {code}`"),
    "evidence": ("line {line}: {text}", "第 {line} 行：{text}"),
    "evidence.times": ("line {line}, {n} times: {text}", "第 {line} 行，共 {n} 次：{text}"),
    "ranks": (" (ranks {ranks})", "（进程 {ranks}）"),
    "log": ("log", "日志"),
    "code": ("code", "代码"),
    "frame": ("{place}: here the traceback ends in this repository", "{place}：调用栈在本仓库中的最后位置"),
    "frame.unsure": (
        "{place}: the traceback ends at this line; the file may have changed since",
        "{place}：调用栈指向此行，但文件可能已有改动",
    ),
    "more": (
        "{n} more of these codes: `porter analyze --select {codes}`",
        "同类位置还有 {n} 处：`porter analyze --select {codes}`",
    ),
    "explain": ("more", "详见"),
    "unknown": ("unknown: porter knows no cause of what this log shows", "未知：porter 不知道这份日志所示问题的原因"),
    "unknown.effect": (
        "unknown: what porter recognises here follows from something else",
        "未知：此处能识别的都是其他问题的后果",
    ),
    "unknown.first": (
        "unknown: porter knows no cause of what failed here; what else it recognises follows from something else",
        "未知：porter 不知道以下错误的原因；能识别的其他内容都是后果",
    ),
    "rest": ("not explained by this", "以上未能解释的错误"),
    "quiet": ("no error in this log that porter could tell", "这份日志中没有 porter 能识别的错误"),
    "error": ("line {line}: {text}", "第 {line} 行：{text}"),
    "error.at": ("  raised at {place}", "  抛出位置 {place}"),
    "next": ("what to look at next", "接下来可以查看"),
    "next.first": (
        "the first error of any rank: the others follow from it (torchrun --log-dir DIR --tee 3 keeps a log for each)",
        "各进程中最早的报错，其余多为其后果（torchrun --log-dir DIR --tee 3 会为每个进程保存日志）",
    ),
    "next.blocking": (
        "ASCEND_LAUNCH_BLOCKING=1 and once more: the traceback then ends at the operator that failed",
        "设置 ASCEND_LAUNCH_BLOCKING=1 再运行一次，调用栈会指向真正出错的算子",
    ),
    "next.plog": (
        "CANN's own log: ~/ascend/log/debug/plog, at the time of the error",
        "CANN 日志：~/ascend/log/debug/plog 中出错时刻的内容",
    ),
    "next.doctor": ("`porter doctor`, in the environment of the run", "在运行环境中执行 `porter doctor`"),
    "next.repo": (
        "the code: with --repo DIR, what porter finds at the frames of the traceback is shown",
        "代码：加上 --repo DIR，可显示 porter 在调用栈各处的检查结果",
    ),
    "next.not-npu": (
        "nothing in this log speaks of an NPU: the error may have nothing to do with the port",
        "日志中没有任何与 NPU 有关的内容：该错误可能与迁移无关",
    ),
    "joined": ("joined with porter's findings in {root}: {n}", "已结合 {root} 中的检查结果：{n} 处"),
}


def say(key: str, lang: str, **values: object) -> str:
    return _WORDS[key][lang == "zh"].format(**values)
