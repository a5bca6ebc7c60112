"""`porter report` and `porter diff`: from what `--output findings.json` wrote, without the repository."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from porter.commands.output import show_bytes, write_text
from porter.errors import UserError, check_choice
from porter.exits import OK
from porter.files.documents import Json
from porter.report import FORMATS, PAGES, format_of, render_document
from porter.report.read import Templates, read

KINDS = tuple(name for name in FORMATS if name != "text")


def report(
    file: str, output: Sequence[str] | None, format: str | None, lang: str | None, verified: str | None = None
) -> int:
    outputs = _outputs(output, file)
    check_choice("--format", format or None, KINDS)
    with _intact(file):
        document = spoken(read(file), lang)
    if verified:
        if "html" not in (format, *(kind for _, kind in outputs)):
            raise UserError(
                "--verified: only a report of format html shows a run; ask for one with --output report.html",
                "--verified：只有 html 报告会展示运行结果；请加 --output report.html",
            )
        from porter.report.late_shapes import joined
        from porter.verify.result import read as read_run

        run = read_run(verified)
    with _intact(file):
        page = joined(document, run) if verified else document
        texts = [(name, render_document(page if kind == "html" else document, kind)) for name, kind in outputs]
        if format or not outputs:
            show_bytes(render_document(page if format == "html" else document, format or "markdown"))
    for name, text in texts:
        write_text(name, text)
    return OK


@contextmanager
def _intact(file: str) -> Iterator[None]:
    """Says of a report that lacks something that it does, instead of an error inside porter."""
    try:
        yield
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise UserError(
            f"{file}: damaged, or of another version ({why}); write it anew",
            f"{file}：文件损坏或版本不同（{why}）；请重新生成",
        ) from None


def _outputs(output: Sequence[str] | None, file: str) -> list[tuple[str, str]]:
    """What to write of a report that is read from a file, and in which format."""
    outputs = [(name, format_of(name)) for name in output or ()]
    for name, kind in outputs:
        if kind == PAGES:
            raise UserError(
                f"--output {name}: pages show whole files, which {file} does not hold; ask porter analyze for them",
                f"--output {name}：页面需要完整源码，{file} 中没有；请用 porter analyze 生成",
            )
        if kind not in KINDS:
            known = ", ".join(KINDS)
            raise UserError(
                f"--output {name}: a report from a file is one of {known}",
                f"--output {name}：由文件生成的报告只支持 {known}",
            )
    return outputs


def diff(before: str, after: str, output: Sequence[str] | None, format: str | None, lang: str | None) -> int:
    from porter.report.compare import compare, render
    from porter.report.progress import of_documents

    check_choice("--format", format, ("text", "json"))
    outputs = _outputs(output, after)
    second = read(after)
    lang = lang or second["language"]
    with _intact(before):
        first = spoken(read(before), lang)
    with _intact(after):
        second = spoken(second, lang)
    show_bytes(render(compare(first, second), second["language"], format or "text"))
    if outputs:
        made = of_documents(first, os.path.basename(before), second)
        document = {**second, "progress": made.document if made else None}
        for name, text in [(name, render_document(document, kind)) for name, kind in outputs]:
            write_text(name, text)
    return OK


def spoken(document: Json, lang: str | None) -> Json:
    """The document in another language: its rules hold the messages in both."""
    if lang is None or lang == document["language"]:
        return document
    check_choice("--lang", lang, ("en", "zh"))
    from porter.rulebook.portable_texts import STYLE, followed, unnamed
    from porter.rulebook.texts import fill

    templates, findings = Templates(document), []
    is_portable = document["target"]["style"] == STYLE
    for f in document["findings"]:
        message = fill(templates.of(f, lang), f["values"], f["code"], strict=False)
        details = fill(templates.details(f, lang), f["values"], f["code"], strict=False)
        if is_portable:
            done = f["status"] == "auto"
            message, details = unnamed(message, done=done), followed(message, details, lang, done=done)
        findings.append({**f, "message": message, "details": details})
    return {**document, "language": lang, "findings": findings}
