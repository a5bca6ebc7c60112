"""What a person is told about files: one line that names the file, the cause and the cure."""

from __future__ import annotations

MESSAGES = {
    # findings carry these keys; the engine has its own texts for them
    "missing": ("{path}: no such file or directory", "{path}：文件或目录不存在"),
    "unreadable": ("{path}: cannot be read: {error}", "{path}：无法读取：{error}"),
    "large": (
        "{path}: {size} MB is more than the {limit} MB porter reads of one file",
        "{path}：文件大小为 {size} MB，超过 porter 对单个文件 {limit} MB 的上限",
    ),
    "binary": ("{path}: binary content, not source code", "{path}：内容为二进制数据，不是源代码"),
    "special": ("{path}: not a regular file", "{path}：不是普通文件"),
    "outside": (
        "{path}: lies outside of {root}, so porter leaves it alone",
        "{path}：位于 {root} 之外，porter 不会处理",
    ),
    # writing
    "changed": (
        "{path}: changed since it was analysed; run porter again",
        "{path}：分析之后文件已被修改，请重新运行 porter",
    ),
    "vanished": ("{path}: vanished since it was analysed", "{path}：分析之后文件已不存在"),
    "read-only": (
        "{path}: read-only; make it writable, or leave it out with --exclude",
        "{path}：文件只读；请先赋予写权限，或用 --exclude 排除",
    ),
    "read-only-folder": (
        "{path}: its folder cannot be written to; make it writable, or write a copy with --out DIR",
        "{path}：所在目录不可写；请先赋予写权限，或用 --out DIR 输出副本",
    ),
    "protected": (
        "{path}: belongs to version control or to an installed environment; porter does not write there",
        "{path}：属于版本控制数据或已安装的环境，porter 不会写入",
    ),
    "unwritable": ("{path}: cannot be written: {error}", "{path}：无法写入：{error}"),
    # the journal
    "journal": (
        "{path}: porter's journal cannot be written: {error}; nothing was changed",
        "{path}：无法写入 porter 的日志：{error}；未修改任何文件",
    ),
    "rolled-back": (
        "{path}: cannot be written: {error}; the files already written were put back",
        "{path}：无法写入：{error}；已写入的文件均已恢复原状",
    ),
    "half-written": (
        "{path}: cannot be written: {error}; some files are ported already; the next porter command puts them back",
        "{path}：无法写入：{error}；部分文件已被改写，下一次运行 porter 时会继续恢复",
    ),
    "locked": (
        "{path}: another porter process (pid {pid}) is writing here; wait for it to end",
        "{path}：另一个 porter 进程（pid {pid}）正在写入，请等待其结束",
    ),
    "foreign-journal": (
        "{path}: not a journal that porter wrote here; delete it and run porter again",
        "{path}：不是 porter 在此处写下的日志；请删除后重新运行 porter",
    ),
    "recover-failed": (
        "{path}: an interrupted run could not be completed: {error}; nothing is lost, cure it and run porter again",
        "{path}：上次中断的运行未能补完：{error}；数据没有丢失，排除故障后请重新运行 porter",
    ),
    "nothing-to-undo": (
        "{root}: no finished `porter migrate --inplace` to undo here",
        "{root}：此处没有可撤销的 porter migrate --inplace 运行记录",
    ),
    "finished": (
        "an interrupted run was finished: all {count} files are ported now",
        "上次中断的运行已补完：{count} 个文件均已完成迁移",
    ),
    "finished-except": (
        "an interrupted run was finished: {count} files are ported; changed since and left alone: {paths}",
        "上次中断的运行已补完：已迁移 {count} 个文件；以下文件此后被修改过，保持不变：{paths}",
    ),
    "undo-finished": (
        "an interrupted undo was finished: all {count} files are as they were before porter",
        "上次中断的撤销已补完：{count} 个文件均已恢复到迁移之前的内容",
    ),
    "undo-finished-except": (
        "an interrupted undo was finished: {count} files are as they were; changed since and left alone: {paths}",
        "上次中断的撤销已补完：{count} 个文件已恢复到迁移之前的内容；以下文件此后被修改过，保持不变：{paths}",
    ),
    "discarded": (
        "an interrupted run had not written anything yet; its leftovers were removed",
        "上次中断的运行尚未修改任何文件，其残留数据已清除",
    ),
    "put-back": (
        "a failed run was undone: all {count} files are as they were",
        "上次失败的运行已撤销：{count} 个文件均已恢复原状",
    ),
    "put-back-except": (
        "a failed run was undone: {count} files are as they were; changed since and left alone: {paths}",
        "上次失败的运行已撤销：{count} 个文件已恢复原状；以下文件此后被修改过，保持不变：{paths}",
    ),
    # --out DIR
    "out-not-empty": (
        "{path}: not empty and not a copy that porter made; choose another directory",
        "{path}：目录非空，且不是 porter 生成的副本；请换一个目录",
    ),
    "out-inside": (
        "{path}: lies inside the tree that is ported; choose a directory outside of it, or exclude it",
        "{path}：位于被迁移的目录之内；请选择其外部的目录，或将其排除",
    ),
    "out-edited": (
        "{path}: changed by someone since porter wrote this copy; choose another directory, or delete the file",
        "{path}：porter 生成副本之后，该文件被人修改过；请换一个目录，或删除该文件",
    ),
    "out-foreign": (
        "{path}: not written by porter and in the way; choose another directory, or delete the file",
        "{path}：不是 porter 写入的文件，却占用了目标位置；请换一个目录，或删除该文件",
    ),
    # git
    "git": (
        "{root}: git cannot tell which files are committed: {error}; cure it, or go on with --allow-dirty",
        "{root}：git 无法判断哪些文件已提交：{error}；请排除故障，或使用 --allow-dirty 继续",
    ),
}


class Message:
    """A key and what its {placeholders} stand for; becomes text only where someone reads it."""

    def __init__(self, key: str, **values: object):
        self.key, self.values = key, {k: printable(str(v)) for k, v in values.items()}

    def text(self, lang: str = "en") -> str:
        return MESSAGES[self.key][lang == "zh"].format_map(self.values)


class FilesError(Exception):
    """Stops a run, or a file of it, with one line."""

    def __init__(self, key: str, **values: object):
        super().__init__(key, values)
        self.message = Message(key, **values)

    @property
    def key(self) -> str:
        return self.message.key

    @property
    def path(self) -> str:
        return str(self.args[1].get("path", ""))

    def text(self, lang: str = "en") -> str:
        return self.message.text(lang)

    def __str__(self) -> str:
        return self.text()

    def __reduce__(self):
        return _rebuild, self.args


def _rebuild(key: str, values: dict) -> FilesError:
    return FilesError(key, **values)


def reason(error: Exception) -> str:
    return getattr(error, "strerror", "") or type(error).__name__


def printable(text: str) -> str:
    """File names may hold bytes that no terminal encoding can show, and control characters that it would obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
