"""What `porter doctor` says, in both languages. KEY.cure is what to do about KEY; left out where there is nothing."""

from __future__ import annotations

_WORDS: dict[str, tuple[str, str]] = {
    "name.python": ("python", "python"),
    "name.torch": ("torch", "torch"),
    "name.torch_npu": ("torch_npu", "torch_npu"),
    "name.cann": ("CANN", "CANN"),
    "name.driver": ("driver", "驱动"),
    "name.devices": ("NPUs", "NPU"),
    "status.ok": ("fits", "正常"),
    "status.absent": ("not here", "未安装"),
    "status.note": ("look", "请留意"),
    "status.wrong": ("does not fit", "不匹配"),
    "python": ("{version} on {system}", "{version}，{system}"),
    "torch": ("{version}", "{version}"),
    "torch.none": (
        "no torch for this Python; porter needs none to analyse or to migrate",
        "当前 Python 环境没有 torch；porter 的分析和迁移都不需要它",
    ),
    "torch.cuda": ("{version} is built for CUDA", "{version} 是 CUDA 版本"),
    "torch.cuda.cure": (
        "on a machine with NPUs, install the CPU build: pip install torch=={plain} --index-url"
        " https://download.pytorch.org/whl/cpu",
        "在 NPU 机器上请安装 CPU 版：pip install torch=={plain} --index-url https://download.pytorch.org/whl/cpu",
    ),
    "npu.none": ("no torch_npu for this Python", "当前 Python 环境没有 torch_npu"),
    "npu.install": ("no torch_npu for this Python", "当前 Python 环境没有 torch_npu"),
    "npu.install.cure": (
        "on a machine with NPUs: pip install torch-npu=={version}",
        "在 NPU 机器上执行：pip install torch-npu=={version}",
    ),
    "pair": ("{npu}, made for torch {wanted}", "{npu}，对应 torch {wanted}"),
    "pair.no-torch": ("{npu} needs torch {wanted}, and there is none", "{npu} 需要 torch {wanted}，但没有安装"),
    "pair.no-torch.cure": ("pip install torch=={wanted}", "pip install torch=={wanted}"),
    "pair.wrong": (
        "{npu} is made for torch {wanted}, not for {torch}: importing it fails with an undefined symbol",
        "{npu} 对应 torch {wanted}，而不是 {torch}：导入时会报 undefined symbol",
    ),
    "pair.wrong.cure": (
        "pip install torch=={wanted}, or the torch_npu of your torch",
        "pip install torch=={wanted}，或安装与现有 torch 对应的 torch_npu",
    ),
    "cann": ("{version} in {path}", "{version}，位于 {path}"),
    "cann.pair": ("{version} in {path}, listed for torch_npu {npu}", "{version}，位于 {path}，与 torch_npu {npu} 配套"),
    "cann.none": (
        "neither ASCEND_HOME_PATH nor a toolkit in /usr/local/Ascend",
        "未设置 ASCEND_HOME_PATH，/usr/local/Ascend 下也没有 toolkit",
    ),
    "cann.gone": ("{variable} names {path}, which is no directory", "{variable} 指向的 {path} 不是目录"),
    "cann.gone.cure": ("source the set_env.sh of the CANN that is installed", "请 source 已安装 CANN 的 set_env.sh"),
    "cann.no-variable": (
        "installed in {path}, but this shell does not know it: importing torch_npu fails with libhccl.so or libascendcl.so not found",
        "已安装在 {path}，但当前环境未加载：导入 torch_npu 时会找不到 libhccl.so 或 libascendcl.so",
    ),
    "cann.no-variable.cure": (
        "source {path}/set_env.sh, or the one beside it",
        "执行 source {path}/set_env.sh（或其上级目录中的同名脚本）",
    ),
    "cann.unknown": ("in {path}; no file there tells its version", "位于 {path}，未找到版本信息"),
    "cann.no-pair": (
        "{version} in {path}; the table of pairs does not list this torch_npu",
        "{version}，位于 {path}；配套表中没有该 torch_npu",
    ),
    "cann.wrong": (
        "{version} is not among those listed for torch_npu {npu}: {wanted}",
        "{version} 不在 torch_npu {npu} 的配套范围内：{wanted}",
    ),
    "cann.wrong.cure": (
        "install CANN {wanted}, or a torch_npu whose pair this CANN is: symbols or operators may be missing otherwise",
        "请安装 CANN {wanted}，或更换与现有 CANN 配套的 torch_npu；否则可能缺少符号或算子",
    ),
    "cann.newer": (
        "{version} is newer than the table of pairs; for torch_npu {npu} it lists {wanted}",
        "{version} 比配套表更新；表中 torch_npu {npu} 对应 {wanted}",
    ),
    "driver": ("{version}", "{version}"),
    "devices": ("{n} in /dev", "/dev 下共 {n} 个"),
    "devices.none": (
        "no /dev/davinci*: this machine has no NPU, or a container was not given any",
        "没有 /dev/davinci*：本机没有 NPU，或容器未映射设备",
    ),
    "fits": ("What is here fits together.", "已安装的组件相互匹配。"),
    "fits.nothing": (
        "Neither torch_npu nor CANN is here: there is nothing to fit.",
        "没有安装 torch_npu 和 CANN，无需检查配套。",
    ),
    "fits.not": ("Something here does not fit.", "存在不匹配的组件。"),
    "pairs": ("What belongs together:", "配套关系："),
}


def say(key: str, lang: str, **values: str) -> str:
    texts = _WORDS.get(key) if key.endswith(".cure") else _WORDS[key]
    return texts[lang == "zh"].format(**values) if texts else ""
