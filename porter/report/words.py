"""What the reports say, in both languages; what a finding says is in rules/*.toml."""

from __future__ import annotations

WORDS: dict[str, dict[str, str]] = {
    "blocker": {"en": "blocker", "zh": "阻断"},
    "wrong": {"en": "wrong", "zh": "结果错误"},
    "slow": {"en": "slow", "zh": "性能"},
    "note": {"en": "note", "zh": "提示"},
    "auto": {"en": "auto", "zh": "自动"},
    "review": {"en": "review", "zh": "待复核"},
    "manual": {"en": "manual", "zh": "手工"},
    "minutes": {"en": "minutes", "zh": "数分钟"},
    "hours": {"en": "hours", "zh": "数小时"},
    "rewrite": {"en": "rewrite", "zh": "需重写"},
    "total": {"en": "total", "zh": "合计"},
    "target": {
        "en": "Target: torch_npu {torch_npu}, soc {soc}, style {style} ({origin})",
        "zh": "迁移目标：torch_npu {torch_npu}，芯片 {soc}，改写风格 {style}（{origin}）",
    },
    "origin.command-line": {"en": "from the command line", "zh": "来自命令行"},
    "origin.configuration": {"en": "from the configuration", "zh": "来自配置文件"},
    "origin.default": {"en": "the default", "zh": "默认值"},
    "origin.file": {"en": "from the torch version in {place}", "zh": "依据 {place} 中的 torch 版本"},
    "files": {
        "en": "Files: {scanned} scanned, {parsed} parsed, {found} with findings",
        "zh": "文件：扫描 {scanned} 个，解析 {parsed} 个，有问题 {found} 个",
    },
    "readiness": {
        "en": "Ported by porter itself: {auto} of {all} CUDA-dependent places ({percent} %)",
        "zh": "可自动迁移：{all} 处 CUDA 依赖中的 {auto} 处（{percent}%）",
    },
    "readiness.none": {"en": "Nothing CUDA-dependent found.", "zh": "未发现依赖 CUDA 的代码。"},
    "hidden.suppressed": {
        "en": "Suppressed in the source: {n} (listed with --format json)",
        "zh": "源码中已标注忽略：{n} 处（用 --format json 查看）",
    },
    "hidden.baseline": {
        "en": "Known from the baseline: {n} (listed without --baseline)",
        "zh": "基线中已有：{n} 处（去掉 --baseline 即可查看）",
    },
    "hidden.notes": {"en": "+ {n} of severity note (-v shows them)", "zh": "另有 {n} 条提示（加 -v 查看）"},
    "refused": {"en": "Not analysed, or left as they were: {n}", "zh": "未能分析，或保持原样：{n} 处"},
    "left-out": {"en": "Left out for the name alone: {names}", "zh": "仅因名称而未纳入：{names}"},
    "left-out.many": {
        "en": "Left out for the name alone: {n} directories (-v lists them)",
        "zh": "仅因名称而未纳入：{n} 个目录（加 -v 列出）",
    },
    "findings": {"en": "{n} findings", "zh": "{n} 处"},
    "findings.one": {"en": "1 finding", "zh": "1 处"},
    "symptom": {"en": "at run time: {text}", "zh": "运行时表现：{text}"},
    "look": {
        "en": "an edit is ready, look at it first; `porter explain {code}` says why",
        "zh": "改动已备好，请先复核；原因见 `porter explain {code}`",
    },
    "do": {
        "en": "by hand: {effort}; `porter explain {code}` says how",
        "zh": "手工处理：{effort}；做法见 `porter explain {code}`",
    },
    "end": {
        "en": "{all} findings: {auto} auto, {review} review, {manual} manual.",
        "zh": "共 {all} 处：自动 {auto}，待复核 {review}，手工 {manual}。",
    },
    "optional": {"en": "optional", "zh": "可选"},
    "end.optional": {
        "en": "{n} of them optional: ways to be faster, which porter never applies.",
        "zh": "其中 {n} 处为可选优化，porter 不会自动应用。",
    },
    "optional.more": {
        "en": "an opportunity, not a fault; `porter explain {code}` says when it pays",
        "zh": "属于优化机会，并非问题；适用条件见 `porter explain {code}`",
    },
    "end.next": {
        "en": "Next: `porter migrate` shows the edits, `porter explain {code}` says more.",
        "zh": "下一步：`porter migrate` 查看改动，`porter explain {code}` 查看说明。",
    },
    "paths": {"en": "Paths start at the root of the project.", "zh": "路径从工程根目录算起。"},
    "diff.review": {
        "en": "Edits that a person should look at (made with --unsafe); they apply on top of the ones above:",
        "zh": "以下改动需人工复核（加 --unsafe 才会写入），在上面的改动之后应用：",
    },
    "migrate.would": {
        "en": "Files to change: {files} (auto edits: {auto}{review}). --inplace writes them, --out DIR writes a copy.",
        "zh": "待修改文件：{files} 个（自动改动 {auto} 处{review}）。--inplace 直接写入，--out DIR 写到副本。",
    },
    "migrate.done": {
        "en": "Files changed: {files} (auto edits: {auto}{review}). `{undo}` takes them back.",
        "zh": "已修改文件：{files} 个（自动改动 {auto} 处{review}）。可用 `{undo}` 撤销。",
    },
    "migrate.copied": {
        "en": "Copy written to {out}; files changed in it: {files} (auto edits: {auto}{review}).",
        "zh": "副本已写入 {out}，其中修改了 {files} 个文件（自动改动 {auto} 处{review}）。",
    },
    "migrate.unverified": {"en": "Nothing was written.", "zh": "未写入任何文件。"},
    "migrate.none": {"en": "Nothing to change.", "zh": "无需改动。"},
    "migrate.reviewed": {"en": ", review edits: {n}", "zh": "，复核类改动 {n} 处"},
    "migrate.left": {"en": "Left: {parts}.", "zh": "尚余：{parts}。"},
    "left.review": {"en": "{n} to review (--unsafe makes these edits)", "zh": "待复核 {n} 处（加 --unsafe 写入）"},
    "left.manual": {"en": "{n} to port by hand", "zh": "需手工迁移 {n} 处"},
    "annotated": {"en": "Files with new or changed annotations: {n}.", "zh": "{n} 个文件的注解有更新。"},
    "dirty": {
        "en": "changes that git does not have in: {names}; commit or stage them, or pass --allow-dirty",
        "zh": "以下文件含有 git 尚未记录的改动：{names}；请先提交或暂存，或加 --allow-dirty",
    },
    "more": {"en": " and {n} more", "zh": " 等（另有 {n} 个）"},
    "undone": {"en": "Files restored: {n}.", "zh": "已恢复 {n} 个文件。"},
    "explain.before": {"en": "Before", "zh": "迁移前"},
    "explain.after": {"en": "After", "zh": "迁移后"},
    "explain.example": {"en": "Example", "zh": "示例"},
    "explain.by_hand": {"en": "By hand", "zh": "手工迁移"},
    "explain.symptom": {"en": "At run time", "zh": "运行时表现"},
    "explain.messages": {"en": "Findings", "zh": "检查项"},
    "explain.reference": {"en": "Reference", "zh": "参考"},
    "explain.severity": {"en": "severity {severity}, effort {effort}", "zh": "级别：{severity}，工作量：{effort}"},
    "explain.off": {
        "en": "Off by default; `--select {code}` turns it on.",
        "zh": "默认关闭；用 `--select {code}` 打开。",
    },
    "explain.suppress": {
        "en": "Silence one place with `# porter: ignore[{code}] reason`.",
        "zh": "单处忽略：`# porter: ignore[{code}] 原因`。",
    },
    "explain.becomes": {"en": "{api} becomes {to}", "zh": "{api} 改为 {to}"},
    "explain.none": {"en": "{api} has no counterpart.", "zh": "{api} 没有对应接口。"},
    "compare": {
        "en": "{fixed} fixed, {new} new, {left} still there.",
        "zh": "已解决 {fixed} 处，新增 {new} 处，仍存在 {left} 处。",
    },
    "compare.ready": {
        "en": "Ported by porter itself: {before} before, {after} after.",
        "zh": "可自动迁移：之前 {before}，之后 {after}。",
    },
    "compare.new": {"en": "New:", "zh": "新增："},
    "compare.fixed": {"en": "Fixed:", "zh": "已解决："},
    "progress": {"en": "analysing", "zh": "分析中"},
    "baseline.written": {"en": "{file}: {n} findings written.", "zh": "{file}：已写入 {n} 条。"},
    "cache.cleaned": {"en": "Cache removed.", "zh": "缓存已清除。"},
    "cache.empty": {"en": "There was no cache.", "zh": "没有缓存。"},
}


def say(key: str, lang: str, **values: object) -> str:
    return WORDS[key][lang].format(**values)
