"""What a person is told about files: one line that names the file, the cause and the cure."""

from __future__ import annotations

from functools import partial

from porter.errors import UserError

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
        "{path}: cannot be written: {error}; some files are ported already; the next `porter migrate --inplace` or "
        "`porter undo` puts them back",
        "{path}：无法写入：{error}；部分文件已被改写，下一次 `porter migrate --inplace` 或 `porter undo` 会继续恢复",
    ),
    "half-unkept": (
        "{path}: cannot be written: {error}; some files are ported already and could not be put back; see what version "
        "control says",
        "{path}：无法写入：{error}；部分文件已被改写且未能恢复，请用版本控制工具核对",
    ),
    "locked": (
        "{path}: another porter process (pid {pid}) is writing here; wait for it to end",
        "{path}：另一个 porter 进程（pid {pid}）正在写入，请等待其结束",
    ),
    "foreign-journal": (
        "{path}: not written by porter on this machine, for this user, in this place; nothing was changed; look at the "
        "files, then delete .porter and run porter again",
        "{path}：不是 porter 在本机、此处为当前用户写下的日志；未修改任何文件；请检查文件内容，删除 .porter 后重新运行 porter",
    ),
    "damaged-journal": (
        "{path}: damaged since porter wrote it; nothing was changed; some files may be ported and others not: look at "
        "them, then delete .porter and run porter again",
        "{path}：porter 写下之后已损坏；未修改任何文件；可能有部分文件已迁移、部分尚未迁移，请检查后删除 .porter 并重新运行 porter",
    ),
    "ignored-journal": (
        "{path}: not written by porter on this machine, for this user, in this place; it is ignored and can be deleted",
        "{path}：不是 porter 在本机、此处为当前用户写下的日志；已忽略，可以删除",
    ),
    "unfinished": (
        "an earlier run was interrupted, or another one is writing: files may be half ported; "
        "`porter migrate --inplace` finishes it, `porter undo` takes it back",
        "先前的一次运行被中断，或另一次运行正在写入：文件可能只迁移了一半；"
        "`porter migrate --inplace` 会将其补完，`porter undo` 会将其撤销",
    ),
    "unfinished-tree": (
        "{path}: an earlier run was interrupted, or another one is writing: files may be half ported; finish it with "
        "`porter migrate --inplace`, or take it back with `porter undo`, before a copy is made",
        "{path}：先前的一次运行被中断，或另一次运行正在写入，文件可能只迁移了一半；"
        "请先用 `porter migrate --inplace` 补完，或用 `porter undo` 撤销，再生成副本",
    ),
    "unkept": (
        "a run with --no-undo was interrupted: some files may be ported and others not; see what version control says; "
        "a .porter-*.tmp beside them is a leftover",
        "一次使用 --no-undo 的运行被中断：可能有部分文件已迁移、部分尚未迁移；请用版本控制工具核对；同目录下的 .porter-*.tmp 为残留文件",
    ),
    # what proves a journal
    "state": (
        "{path}: cannot be used: {error}; `porter undo` needs it: name a folder of yours in PORTER_STATE_DIR, or go "
        "without undo (--no-undo)",
        "{path}：无法使用：{error}；`porter undo` 需要它：请用 PORTER_STATE_DIR 指定一个自己的目录，或放弃撤销（--no-undo）",
    ),
    "state-shared": (
        "{path}: not yours alone (owner, permissions) or damaged; `porter undo` needs it: cure that or delete it, name "
        "another folder in PORTER_STATE_DIR, or go without undo (--no-undo)",
        "{path}：并非只归你所有（属主、权限），或已损坏；`porter undo` 需要它：请修正或删除，"
        "用 PORTER_STATE_DIR 指定其他目录，或放弃撤销（--no-undo）",
    ),
    "state-inside": (
        "{path}: lies inside the tree that is ported, which could have brought it; `porter undo` needs another folder: "
        "name it in PORTER_STATE_DIR, or go without undo (--no-undo)",
        "{path}：位于被迁移的目录之内，可能随该目录而来；`porter undo` 需要其他目录："
        "请用 PORTER_STATE_DIR 指定，或放弃撤销（--no-undo）",
    ),
    "recover-failed": (
        "{path}: an interrupted run could not be completed: {error}; nothing is lost, cure it and run porter again",
        "{path}：上次中断的运行未能补完：{error}；数据没有丢失，排除故障后请重新运行 porter",
    ),
    "edited": (
        "{path}: changed since porter wrote it; left as it is",
        "{path}：porter 写入之后文件已被修改，保持不变",
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
        "{path}: not empty and not a copy that this porter made; choose another directory",
        "{path}：目录非空，且不是此版本 porter 生成的副本；请换一个目录",
    ),
    "out-inside": (
        "{path}: lies inside the tree that is ported; choose a directory outside of it, or exclude it",
        "{path}：位于被迁移的目录之内；请选择其外部的目录，或将其排除",
    ),
    "out-edited": (
        "{path}: changed by someone since porter wrote it; choose another directory, or delete the file",
        "{path}：porter 写入之后，该文件被人修改过；请换一个目录，或删除该文件",
    ),
    "out-foreign": (
        "{path}: not written by porter and in the way; choose another directory, or delete the file",
        "{path}：不是 porter 写入的文件，却占用了目标位置；请换一个目录，或删除该文件",
    ),
    "out-reserved": (
        "{path}: porter uses this name for its record of a copy; rename the folder, or exclude it in .gitignore",
        "{path}：porter 用此名称保存副本的记录；请重命名该目录，或在 .gitignore 中将其排除",
    ),
    # --output DIR/
    "pages-not-empty": (
        "{path}: not empty and not a report that porter wrote; choose another folder",
        "{path}：目录非空，且不是 porter 写下的报告；请换一个目录",
    ),
    "cache": (
        "{path}: the cache is not used: others own it or can write to it; chmod 700 it, or set PORTER_CACHE_DIR",
        "{path}：未使用缓存：该目录属于他人，或他人可以写入；请执行 chmod 700，或另设 PORTER_CACHE_DIR",
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

    def __reduce__(self) -> tuple[partial[FilesError], tuple[()]]:
        key, values = self.args
        return partial(FilesError, key, **values), ()


def about_file(name: str, en: str, zh: str) -> UserError:
    """One line about a file that is read, or a folder."""
    return UserError(f"{printable(name)}: {en}", f"{printable(name)}：{zh}")


def reason(error: Exception) -> str:
    return getattr(error, "strerror", "") or type(error).__name__


def printable(text: str) -> str:
    """File names may hold bytes that no terminal encoding can show, and control characters that it would obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
