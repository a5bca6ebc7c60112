"""What `porter catalog` says, in both languages."""

from __future__ import annotations

WORDS: dict[str, dict[str, str]] = {
    "default": {"en": "the default target", "zh": "默认目标"},
    "counts": {
        "en": "torch {torch}; torch.npu names: {npu}; operators of its own: {custom}; of torch's: {native} native, {cpu} on the CPU",
        "zh": "torch {torch}；torch.npu 名称 {npu} 个；自定义算子 {custom} 个；torch 算子：原生 {native} 个，回退到 CPU {cpu} 个",
    },
    "every": {"en": "in every version, {first} to {last}", "zh": "{first} 至 {last} 的所有版本均有"},
    "some": {"en": "in {names}", "zh": "存在于 {names}"},
    "never": {"en": "in no version from {first} to {last}", "zh": "{first} 至 {last} 的各版本均无"},
    "unknown": {"en": "the catalogue cannot tell", "zh": "目录中没有记录，无法判断"},
    "exists": {"en": "exists", "zh": "是否存在"},
    "signature": {"en": "signature", "zh": "参数"},
    "runs": {"en": "runs", "zh": "执行方式"},
    "native": {"en": "natively", "zh": "原生算子"},
    "cpu": {"en": "on the CPU: copied there and back at every call", "zh": "回退到 CPU：每次调用都要来回拷贝"},
    "composite": {"en": "composed of other operators, which decide", "zh": "由其他算子组合而成，取决于这些算子"},
    "mixed": {"en": "not always the same way", "zh": "视重载或分支而定"},
    "native.one": {"en": "native", "zh": "原生"},
    "cpu.one": {"en": "on the CPU", "zh": "CPU"},
    "composite.one": {"en": "composite", "zh": "组合"},
    "says_cpu": {
        "en": "its library also warns that it may run on the CPU",
        "zh": "库内另有提示：部分情况在 CPU 上执行",
    },
    "counterpart": {"en": "counterpart", "zh": "对应接口"},
    "none": {"en": "none", "zh": "无"},
    "transfer": {"en": "transfer_to_npu", "zh": "transfer_to_npu"},
    "transfer.none": {"en": "does not touch it", "zh": "不处理"},
    "transfer.replaced": {"en": "replaces it with {to}", "zh": "替换为 {to}"},
    "transfer.wrapped": {"en": "replaces it with a wrapper of its own", "zh": "替换为自带的包装函数"},
    "transfer.arguments": {
        "en": "turns CUDA devices among its arguments into NPU ones",
        "zh": "把参数中的 CUDA 设备改为 NPU 设备",
    },
    "transfer.disabled": {"en": "switches it off", "zh": "使其失效"},
    "transfer.left": {"en": "leaves it to CUDA", "zh": "仍为 CUDA 自身的实现"},
    "transfer.shielded": {
        "en": "lets it see CUDA's own torch.cuda.is_available",
        "zh": "其内部看到的仍是 CUDA 原本的 torch.cuda.is_available",
    },
    "transfer.gone": {"en": "{to} does not exist", "zh": "但 {to} 不存在"},
    "deprecated": {"en": "deprecated", "zh": "已废弃"},
    "deprecated.use": {"en": "use {to} instead", "zh": "改用 {to}"},
    "deprecated.bare": {"en": "nothing is named in its place", "zh": "未给出替代接口"},
    "documents": {"en": "documents", "zh": "官方文档"},
    "documents.silent": {"en": "do not mention it", "zh": "未提及"},
    "supported": {"en": "supported", "zh": "支持"},
    "constrained": {"en": "supported with limits", "zh": "有约束地支持"},
    "unsupported": {"en": "not supported, or not verified", "zh": "不支持或未经验证"},
    "dtypes": {"en": "dtypes {names}", "zh": "数据类型 {names}"},
    "may_run_on_cpu": {"en": "may run on the CPU", "zh": "可能在 CPU 上执行"},
    "inference_only": {"en": "inference only", "zh": "仅限推理"},
    "diff.names": {"en": "names", "zh": "名称"},
    "diff.operators": {"en": "operators", "zh": "算子"},
    "diff.signatures": {"en": "signatures", "zh": "参数"},
    "diff.kernels": {"en": "kernels", "zh": "算子实现"},
    "added": {"en": "added", "zh": "新增"},
    "removed": {"en": "removed", "zh": "移除"},
    "changed": {"en": "changed", "zh": "变更"},
    "same": {"en": "No difference.", "zh": "没有差异。"},
}


def say(key: str, lang: str, **values: object) -> str:
    return WORDS[key][lang].format(**values)
