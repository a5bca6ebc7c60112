"""`porter COMMAND --help --lang zh`: the help of every command and option in Chinese."""

from __future__ import annotations

HELP = {
    "Port PyTorch training code from NVIDIA GPUs to Ascend NPUs.": "把 PyTorch 训练代码从 NVIDIA GPU 迁移到昇腾 NPU。",
    "Show the version and exit.": "显示版本号并退出。",
    "Show this message and exit.": "显示本帮助并退出。",
    "Install completion for the current shell.": "为当前 shell 安装命令补全。",
    "Show completion for the current shell, to copy it or customize the installation.": "输出当前 shell 的补全脚本，便于复制或自行安装。",
    "What stands in the way, ranked.": "列出迁移障碍，最严重的在前。",
    "Directories or files; '-' is standard input.": "目录或文件；“-”表示标准输入。",
    "On stdout: json, html, sarif, markdown, github, csv; analyze: text (default).": "标准输出的格式：json、html、sarif、markdown、github、csv；analyze 默认 text。",
    "Also write FILE: .html, .json, .sarif, .md, .csv, .txt; repeatable.": "另写入文件：.html、.json、.sarif、.md、.csv、.txt；可重复。",
    "Only these: codes, prefixes (PRT1) or slugs, with commas.": "只看这些：编号、前缀（PRT1）或名称，以逗号分隔。",
    "Not these.": "不看这些。",
    "Leave out what matches; syntax of .gitignore.": "排除匹配的文件；语法同 .gitignore。",
    "Also leave out files that are named outright.": "明确指定的文件也适用排除规则。",
    "Exit 1 from this severity: blocker, wrong (default), slow, note.": "达到该级别即返回 1：blocker、wrong（默认）、slow、note。",
    "Port for torch_npu=VERSION,soc=A2; default: the repository's torch pin.": "迁移目标 torch_npu=VERSION,soc=A2；默认依据仓库锁定的 torch 版本。",
    "rename (default) or portable.": "rename（默认）或 portable。",
    "Analyse a package, as installed or checked out: what of it ends in CUDA, as JSON.": "分析一个（已安装或检出的）第三方包：其中哪些函数最终依赖 CUDA，以 JSON 输出。",
    "What --library wrote of a library that is used here; repeatable.": "--library 为所用第三方库写出的事实文件；可重复。",
    "Findings in FILE stay quiet.": "FILE 中已有的问题不再报告。",
    "Write all findings to FILE and exit 0.": "把全部问题写入 FILE，返回 0。",
    "What '-' is called.": "标准输入所代表的文件名。",
    "Processes; 0 = one for each core.": "进程数；0 表示每个核一个。",
    "en (default) or zh.": "en（默认）或 zh。",
    "Less: one line for each finding, no summary.": "精简：每个问题一行，不输出汇总。",
    "More: symptoms, efforts, notes, what was left out.": "详细：现象、工作量、提示、被排除的目录。",
    "Neither read nor write the cache.": "不读写缓存。",
    "The same run as a diff; --inplace or --out writes it.": "同一次分析，以 diff 给出改动；--inplace 或 --out 写入文件。",
    "Write the files.": "写入文件。",
    "Write a ported copy of the tree.": "写出一份迁移后的副本。",
    "Also make the edits a person should look at.": "同时应用需要人工复核的改动。",
    "Also write fused operators in, where nothing else can change.": "同时写入融合算子，仅限不影响其他代码之处。",
    "Write nothing; exit 1 if something would change.": "不写文件；若有改动则返回 1。",
    "Put `# PRT110: ...` above what has to be ported by hand in Python files.": "在 Python 文件中需手工迁移处的上方写入 `# PRT110: ...`。",
    "Write files that have unstaged changes.": "允许写入有未暂存修改的文件。",
    "Keep nothing for `porter undo`.": "不为 `porter undo` 保留任何数据。",
    "Write only if `porter verify` is green.": "仅当 `porter verify` 通过时才写入。",
    "One code, API or package: what happens to it, and why.": "查询某个编号、API 或第三方包：如何处理，为什么。",
    "PRT201, process-group-backend, torch.cuda.Event, NCCL_DEBUG, flash_attn.": "如 PRT201、process-group-backend、torch.cuda.Event、NCCL_DEBUG、flash_attn。",
    "All codes.": "列出全部编号。",
    "text (default) or json.": "text（默认）或 json。",
    "A report of earlier findings, made elsewhere.": "由先前保存的结果生成报告。",
    "What `porter verify --output` wrote: a chapter in HTML.": "`porter verify --output` 写出的文件：在 HTML 报告中成为一章。",
    "What `porter analyze --output findings.json` wrote.": "`porter analyze --output findings.json` 写出的文件。",
    "What got fixed between two reports, and what is new.": "两份报告之间解决了什么，新增了什么。",
    "findings.json of then.": "先前的 findings.json。",
    "findings.json of now.": "现在的 findings.json。",
    "Take back the last `migrate --inplace`.": "撤销最近一次 `migrate --inplace`。",
    "Anything inside the project.": "项目内的任一路径。",
    "What of python, torch, torch_npu and CANN is here, and whether it fits together.": "检查本机的 python、torch、torch_npu 和 CANN，以及版本是否配套。",
    "Write the environment variables that this repository needs on NPUs, each with its reason.": "写出本仓库在 NPU 上所需的环境变量，并逐条说明理由。",
    "The repository; default: here.": "仓库路径；默认为当前目录。",
    "The file to write; - shows it.": "要写入的文件；“-”表示只显示。",
    "NPUs of a host: binds cores to them.": "每台主机的 NPU 数：据此绑核。",
    "CPU cores of a host.": "每台主机的 CPU 核数。",
    "Run the port on a virtual NPU and compare its losses with the original's.": "在虚拟 NPU 上运行迁移后的程序，与原程序逐步比较 loss。",
    "The program: train.py and its options, or -- torchrun ... train.py.": "要运行的程序：train.py 及其参数，或 -- torchrun ... train.py。",
    "Make the virtual NPU first (network, C++ compiler).": "先搭建虚拟 NPU（需要网络和 C++ 编译器）。",
    "Compare two trees: the program as it was, as ported.": "比较两个目录：原程序与迁移后的程序。",
    "Only run the program as it stands; compare with nothing.": "只运行现有程序，不做比较。",
    "Port with the edits a person should look at.": "迁移时包含需要人工复核的改动。",
    "Stop after N optimiser steps; 0: run to the end.": "优化器执行 N 步后停止；0 表示运行到结束。",
    "Stop each run after this many seconds.": "每次运行的时限（秒）。",
    "Memory limit of each process in GB; 0: none.": "每个进程的内存上限（GB）；0 表示不限。",
    "NPUs there are; default: what the launcher's options name.": "NPU 个数；默认取启动命令中的数量。",
    "Relative; default: 0, or 1e-3 where the port has fused operators.": "相对误差；默认 0，使用融合算子时为 1e-3。",
    "The interpreter that has torch; default: porter's own.": "装有 torch 的解释器；默认为 porter 自身的解释器。",
    "With --setup: a torch_npu wheel at hand.": "与 --setup 同用：本地的 torch_npu wheel 包。",
    "Also write the result as JSON.": "另把结果写为 JSON。",
    "The cache of earlier analyses: dir, clean.": "分析结果缓存：dir、clean。",
    "Where it is.": "显示所在目录。",
    "Remove it.": "删除缓存。",
    "What each torch_npu offers: list, show, diff, build.": "各 torch_npu 版本提供的接口：list、show、diff、build。",
    "The versions there are, and the wheels they were read from.": "已有的版本，及其来源 wheel 包。",
    "One API: in which versions it exists, its signature, and what runs it.": "某个 API：哪些版本有、参数、由什么算子执行。",
    "torch.cuda.nvtx.range_push, torch.linalg.eigh, torch_npu.npu_rms_norm.": "如 torch.cuda.nvtx.range_push、torch.linalg.eigh、torch_npu.npu_rms_norm。",
    "What two versions do not have in common.": "两个版本的差异。",
    "A torch_npu version.": "一个 torch_npu 版本。",
    "Another.": "另一个版本。",
    "Read one or more versions anew from their wheels, which pip fetches.": "从 wheel 包重新读取一个或多个版本（由 pip 下载）。",
    "Repeatable.": "可重复。",
    "Default: porter's own rules/catalog.": "默认为 porter 自带的 rules/catalog。",
    "Wheels that are here; nothing is fetched.": "使用本地 wheel 包，不下载。",
    "Record the checksums of these wheels in sources.toml.": "把这些 wheel 包的校验和记入 sources.toml。",
    "What matters for precision and speed once the port runs: only what this repository calls for.": "精度对齐与性能优化建议：只给出本仓库涉及的内容。",
    "text (default), json or markdown.": "text（默认）、json 或 markdown。",
    "What a log or traceback shows: cause, place and cure. Exit 0: a cause is named; 1: none is known.": "从日志或调用栈找出原因、代码位置与处理办法。返回 0：已找到原因；1：未知。",
    "A log or a traceback, also gzipped; - is standard input.": "日志或调用栈，可为 .gz；“-”表示标准输入。",
    "The code it is of; default: here, if this is the root of a project.": "对应的代码仓库；当前目录为项目根目录时默认取当前目录。",
    "Instead: what `porter analyze -o findings.json` wrote.": "或改用 `porter analyze -o findings.json` 写出的结果。",
}  # fmt: skip
EPILOG = """\b
示例：
  porter analyze .                       在 NPU 上运行本仓库有哪些障碍
  porter analyze . -o report.html        生成可传阅的单页报告
  porter migrate src/                    同一次分析，以 diff 显示，不写文件
  porter migrate src/ --inplace          写入改动；用 `porter undo` 撤销
  porter migrate . --out ../ported       写出一份迁移后的副本
  porter explain PRT201                  查询编号、API（torch.cuda.Event）或第三方包（flash_attn）

\b
返回值：0 正常；1 有达到 --fail-on 级别的问题（migrate --check：会有改动）；
2 用法或配置错误；123 porter 自身出错，或因改动违反保证而拒绝写入。
配置：pyproject.toml 的 [tool.porter] 或 porter.toml；命令行优先。
"""
_HEADINGS = {"Options": "选项", "Arguments": "参数", "Commands": "命令"}


def localise(command) -> None:
    """`command` and all below it, as typer made them."""
    command.help = HELP.get(command.help, command.help)
    command.short_help = HELP.get(command.short_help, command.short_help)
    command.epilog = EPILOG if command.epilog else None
    for parameter in command.params:
        if help := getattr(parameter, "help", None):
            parameter.help = HELP.get(help, help)
    context = command.context_class
    formatter = type("Formatter", (_Chinese, context.formatter_class), {})
    command.context_class = type("Context", (context,), {"formatter_class": formatter})
    for below in getattr(command, "commands", {}).values():
        localise(below)


class _Chinese:
    """What click itself writes into a help page."""

    def write_usage(self, prog, args="", prefix=None):
        super().write_usage(prog, args, prefix or "用法：")

    def write_heading(self, heading):
        super().write_heading(_HEADINGS.get(heading, heading))

    def write_dl(self, rows, *args, **kwargs):
        super().write_dl([(first, HELP.get(second, second)) for first, second in rows], *args, **kwargs)
