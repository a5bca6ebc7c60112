"""What a verified run says, in both languages."""

from __future__ import annotations

WORDS: dict[str, dict[str, str]] = {
    "device": {
        "en": "Virtual NPU: torch {torch}, torch_npu {torch_npu}, {devices} device(s)",
        "zh": "虚拟 NPU：torch {torch}，torch_npu {torch_npu}，设备 {devices} 个",
    },
    "leg.original": {"en": "original", "zh": "原程序"},
    "leg.ported": {"en": "port", "zh": "迁移后"},
    "running": {"en": "running the {leg}", "zh": "正在运行：{leg}"},
    "ended.ended": {"en": "ran to its end", "zh": "正常结束"},
    "ended.failed": {"en": "exit code {detail}", "zh": "退出码 {detail}"},
    "ended.signal": {"en": "killed by {detail}", "zh": "被信号 {detail} 终止"},
    "ended.timeout": {"en": "stopped at the time limit", "zh": "超时终止"},
    "steps": {"en": "optimiser steps", "zh": "优化器步数"},
    "error": {"en": "{kind} at {where}: {text}", "zh": "{where} 处 {kind}：{text}"},
    "error.nowhere": {"en": "{kind}: {text}", "zh": "{kind}：{text}"},
    "error.rank": {"en": "rank {rank}: ", "zh": "rank {rank}："},
    "stuck": {"en": "when its time was up it was at {where}", "zh": "超时之时停在 {where}"},
    "output": {"en": "Last lines of its output:", "zh": "输出的最后几行："},
    "known": {"en": "porter had said of this place:", "zh": "porter 对此处的提示："},
    "series": {"en": "recorded", "zh": "记录项"},
    "series.more": {"en": "... and {n} more that agree", "zh": "……另有 {n} 项，均一致"},
    "points": {"en": "points", "zh": "点数"},
    "same": {"en": "bit-equal", "zh": "逐比特一致"},
    "furthest": {"en": "largest relative difference", "zh": "最大相对误差"},
    "saved": {"en": "saved tensors", "zh": "保存的张量"},
    "parts": {
        "en": "{name} parts at step {step}: {original} ({original_where}), {ported} ({ported_where})",
        "zh": "{name} 从第 {step} 步开始不一致：原程序 {original}（{original_where}），迁移后 {ported}（{ported_where}）",
    },
    "parts.value": {
        "en": "{name} parts at its value {step}: {original} ({original_where}), {ported} ({ported_where})",
        "zh": "{name} 从第 {step} 个值开始不一致：原程序 {original}（{original_where}），迁移后 {ported}（{ported_where}）",
    },
    "parts.count": {
        "en": "{name}: {original} recorded by the original, {ported} by the port",
        "zh": "{name}：原程序记录 {original} 个，迁移后记录 {ported} 个",
    },
    "parts.saved": {"en": "saved tensors that differ: {names}", "zh": "不一致的已保存张量：{names}"},
    "exchanged": {
        "en": "The port runs fused operators that the original does not ({names}): compared with a relative tolerance "
        "of {tolerance} over the first {steps} steps.",
        "zh": "迁移后的程序使用了原程序没有的融合算子（{names}）：前 {steps} 步按相对误差 {tolerance} 比较。",
    },
    "operators.fallback": {"en": "Would run on the CPU (slow):", "zh": "在 NPU 上会回退到 CPU 执行（慢）的算子："},
    "operators.sync": {
        "en": "The host waits for the device, in the training step:",
        "zh": "训练步内主机等待设备（同步）的位置：",
    },
    "operators.shapes": {
        "en": "New shapes after the second step (dynamic shapes; on a real NPU each may cost a compilation):",
        "zh": "第二步之后仍出现新形状（动态 shape，在真实 NPU 上每个新形状都可能触发编译）：",
    },
    "operators.unexplained": {
        "en": "Of these, at lines of which no finding speaks (batches of other sizes, say):",
        "zh": "其中没有任何发现提到的位置（例如各 batch 大小不同）：",
    },
    "operators.row": {"en": "{where}  {name}  {calls} calls", "zh": "{where}  {name}  {calls} 次"},
    "operators.row.shapes": {
        "en": "{where}  {name}  {shapes} shapes, e.g. {example}",
        "zh": "{where}  {name}  {shapes} 种形状，例如 {example}",
    },
    "operators.more": {
        "en": "... and {n} more (--format json lists all)",
        "zh": "另有 {n} 处（--format json 列出全部）",
    },
    "operators.inside": {"en": "(not in the user's files)", "zh": "（不在用户代码中）"},
    "verdict.equal": {
        "en": "VERIFIED: the port ran to its end, everything recorded has the same bits.",
        "zh": "通过：迁移后的程序正常运行结束，所有记录逐比特一致。",
    },
    "verdict.close": {
        "en": "VERIFIED within tolerance: the port ran to its end, the curves agree.",
        "zh": "在容差内通过：迁移后的程序正常运行结束，曲线一致。",
    },
    "verdict.smoke": {
        "en": "The port ran to its end. Nothing was compared.",
        "zh": "迁移后的程序正常运行结束；未做比较。",
    },
    "verdict.apart": {"en": "NOT VERIFIED: the curves part.", "zh": "未通过：曲线不一致。"},
    "verdict.silent": {
        "en": "NOT VERIFIED: both ran, but neither called backward() nor an optimiser, nor saved or logged a number; "
        "`from virtual_npu.record import value; value('name', number)` records one.",
        "zh": "未通过：两者均运行结束，但没有调用 backward() 或优化器，也没有保存或记录任何数值；"
        "可用 `from virtual_npu.record import value; value('name', number)` 主动记录。",
    },
    "verdict.port": {
        "en": "NOT VERIFIED: the port did not run to its end.",
        "zh": "未通过：迁移后的程序没有正常结束。",
    },
    "verdict.original": {
        "en": "NOT VERIFIED: the original did not run to its end on the same device, there is nothing to compare with. "
        "--smoke runs the port alone.",
        "zh": "未通过：原程序在同一虚拟设备上没有正常结束，无从比较。可用 --smoke 只运行迁移后的程序。",
    },
    "proves": {
        "en": "What this proves: the port goes through the real torch_npu {torch_npu} (names, devices, autograd, AMP, "
        "communication). What it does not: NPU numerics, speed, dtype support. The arithmetic was done by CPU kernels.",
        "zh": "这证明了：迁移后的程序能走通真实的 torch_npu {torch_npu}（接口名、设备、自动求导、AMP、通信）。"
        "没有证明：NPU 上的数值精度、速度与 dtype 支持——计算由 CPU 完成。",
    },
    "ported": {
        "en": "Ported for this run, in a copy: {files} file(s), {auto} auto edits{review}; left by hand: {manual}.",
        "zh": "本次运行在副本中完成迁移：{files} 个文件，自动改动 {auto} 处{review}；需手工处理 {manual} 处。",
    },
    "ported.review": {"en": ", {n} review edits", "zh": "，待复核改动 {n} 处"},
    "setup.torch_npu": {
        "en": "fetching torch_npu for torch {torch}",
        "zh": "正在下载与 torch {torch} 配套的 torch_npu",
    },
    "setup.standins": {"en": "making stand-ins for the libraries of CANN", "zh": "正在生成 CANN 各动态库的替身"},
    "setup.kernels": {"en": "compiling the kernels", "zh": "正在编译算子"},
    "setup.try": {"en": "trying a first tensor on the device", "zh": "正在设备上试算第一个张量"},
    "setup.done": {
        "en": "The virtual NPU is set up: torch {torch}, torch_npu {torch_npu}; it took {seconds} s.",
        "zh": "虚拟 NPU 已就绪：torch {torch}，torch_npu {torch_npu}；用时 {seconds} 秒。",
    },
}


def say(key: str, lang: str, **values: object) -> str:
    return WORDS[key][lang].format(**values)
