"""What a process of `porter fleet` does: one repository, or one library, comes in and is analysed as
`porter analyze` does it.

Its argument is the folder that it works in. The task is a line of standard input, which stays open: where it ends, so does
this process, with git and all else that it started, and the folder goes. The answer is JSON on standard output, which is a file
in that folder: porter/fleet/task.py keeps room for it, so that it can also tell of a full disk.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

from porter.commands.fleet_facts import analyse_library, facts_for, shared_of
from porter.errors import UserError
from porter.files.documents import Json
from porter.files.errors import FilesError
from porter.fleet import identity
from porter.fleet.entries import ARCHIVE, FOLDER, GIT, name_of
from porter.fleet.fetch import commit_there, fetch
from porter.fleet.layout import FINDINGS, LIBRARIES, REPORT, ROW, with_key
from porter.fleet.row import of_report
from porter.fleet.task import SAME


def main() -> None:
    work = sys.argv[1]
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        _end(work)
    task = {**json.loads(line), "work": work}
    threading.Thread(target=_watch, args=(work,), daemon=True).start()
    seconds, gigabytes = task["limits"]
    _limit(seconds, gigabytes)
    answer: object
    try:
        answer = _perform(task)
        if _was_short(gigabytes):  # then a file may be told as one that cannot be parsed
            raise MemoryError
    except (UserError, FilesError) as error:
        answer = {lang: error.text(lang) for lang in ("en", "zh")}
    except MemoryError:
        en, zh = (
            (f"{gigabytes} GB (--memory)", f" {gigabytes} GB（--memory）") if gigabytes else ("there is", "可用内存")
        )
        answer = {"en": f"it needs more memory than {en}", "zh": f"所需内存超过{zh}"}
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()


def _watch(work: str) -> None:
    with suppress(OSError, ValueError):
        while os.read(0, 4096):
            pass
    _end(work)


def _end(work: str) -> None:
    """The other end of standard input was closed: whoever waits for the result is gone."""
    for _ in range(3):  # the work goes on until the end, and may write meanwhile
        shutil.rmtree(work, ignore_errors=True)
    if sys.platform == "win32":
        os._exit(1)
    else:
        os.killpg(0, signal.SIGKILL)


def _limit(seconds: int, gigabytes: int) -> None:
    if sys.platform == "win32":
        return
    import resource

    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, seconds + 10)]
    limits += [(resource.RLIMIT_AS, gigabytes * 10**9)] if gigabytes else []
    for what, most in limits:
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _was_short(gigabytes: int) -> bool:
    """Whether the process came so near its limit that something may have been refused, and caught."""
    try:
        with open("/proc/self/status", encoding="ascii") as stream:
            peak = next(int(row.split()[1]) * 1024 for row in stream if row.startswith("VmPeak:"))
    except (OSError, StopIteration, ValueError):  # another system than Linux
        return False
    return gigabytes > 0 and peak > gigabytes * 10**9 * 15 // 16


def _perform(task: Json) -> str:
    kind, where, revision = task["kind"], task["where"], task["revision"]
    subject = _subject(kind, where, revision)
    if subject is not None and _key(task, subject) == task["known"]:
        return SAME
    os.mkdir(into := os.path.join(task["work"], "fetched"))  # what is fetched may be named as anything else of the work
    root, fetched = fetch(kind, where, revision, _folder_name(where), into)
    key = _key(task, fetched or subject or "")
    if key == task["known"]:
        return SAME
    result = os.path.join(task["work"], "result")
    if task["shelf"] == LIBRARIES:
        analyse_library(root, task["name"], task["options"], result, key)
    else:
        facts = facts_for(root, task["options"], shared_of(task), task["work"])
        _analyse(root, {**task["options"], "facts": facts}, result, key)
    return "done"


def _key(task: Json, subject: str) -> str:
    return identity.key(task["porter"], task["options"], [task["kind"], subject, _known(task)])


def _known(task: Json) -> list[str]:
    """What else decides the result: of a library how it is named, of a repository what is known of the libraries."""
    texts = [library.text for library in shared_of(task)]
    return [task["name"]] if task["shelf"] == LIBRARIES else [identity.of_text(text) for text in texts]


def _subject(kind: str, where: str, revision: str) -> str | None:
    """What of the input decides the result, as far as that is known before it is fetched."""
    if kind == FOLDER:
        return _of_folder(where)
    if kind == GIT:
        return commit_there(where, revision)
    if kind == ARCHIVE:
        return f"{name_of(where)} {identity.of_file(where)}" if os.path.isabs(where) else None
    return where  # a version of a package is published once


def _of_folder(folder: str) -> str:
    """With the configuration that holds for it, and the files that this names, wherever they are."""
    from porter.commands.settings import root_of
    from porter.files.commit import commit_of
    from porter.run import config

    root, table = root_of([folder])
    rows = [identity.of_folder(os.fspath(root)), commit_of(root)]
    if table:
        settings = config.read(table)
        rows += [os.fspath(table.file), table.text]
        rows += [
            identity.of_file(os.path.join(table.file.parent, name)) for name in (*settings.facts, settings.baseline)
        ]
    return "\n".join((os.path.relpath(folder, root), *rows))


def _folder_name(where: str) -> str:
    """As `git clone` chooses it."""
    name = "".join(c if c.isalnum() or c in "._-+=" else "_" for c in name_of(where))
    return name.strip(".") or "repository"


def _analyse(root: str, options: dict[str, Any], result: str, key: str) -> None:
    """The same calls as those of porter/commands/analyze.py, and so the same bytes."""
    from porter.commands.job import prepare
    from porter.commands.reports import outputs_of
    from porter.commands.view import report_of
    from porter.report import document_of

    job = prepare([root], jobs=1, no_cache=True, **options)
    report = report_of(job, job.run(quiet=True))
    for output in outputs_of([os.path.join(result, FINDINGS), os.path.join(result, REPORT)]):
        output.write(report)
    with open(os.path.join(result, ROW), "wb") as stream:
        stream.write(with_key(of_report(document_of(report)), key))
