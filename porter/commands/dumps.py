"""`porter compare --dumps GPU_DIR NPU_DIR`: the first module whose outputs differ by more than its inputs account for."""

from __future__ import annotations

from porter.commands.output import KINDS, exit_of, output_kind, put_out
from porter.commands.settings import settings_here
from porter.dumps.compared import Comparison, compare
from porter.dumps.document import document
from porter.dumps.show import lines
from porter.errors import UserError, check_choice
from porter.files.documents import Json

_NEAR = 20


def dumps(
    baseline: str, candidate: str | None, rerun: str | None, repo: str | None, output: str | None, format: str | None,
    target: str | None, lang: str | None, no_cache: bool,
) -> int:  # fmt: skip
    if rerun:
        raise UserError("--rerun is for logs, not for --dumps", "--rerun 用于日志，不能与 --dumps 同用")
    if candidate is None:
        raise UserError("two dumps are compared: give both folders", "比较需要两份 dump：请给出两个目录")
    check_choice("--format", format, KINDS)
    output_kind(output)
    lang = settings_here(target, lang)[0].lang
    found = compare(baseline, candidate)
    about = _repository(found, repo, target, lang, no_cache) if repo else None
    value = document(found, lang, about)
    put_out(value, lambda: lines(value, lang), lambda: _page(found, value), output, format)
    return exit_of(value["outcome"])


def _page(found: Comparison, value: Json) -> str:
    from porter.dumps.page import page

    return page(found, value)


def _repository(found: Comparison, repo: str, target: str | None, lang: str, no_cache: bool) -> Json:
    """Porter's findings at the lines of the stack, and of the stage in the same files."""
    from porter.checks.registry import load
    from porter.commands.diagnose import repository_of
    from porter.compare.verdict import CODES

    repository, prefix, root = repository_of(repo, target, lang, no_cache, load().texts)
    result = found.result
    spots = [spot for frame in reversed(result.stack) if (spot := repository.spot(frame)) is not None]
    pair = result.verdict.pair
    stage = "backward" if pair and pair.one.name.direction != "forward" else "forward"
    places = repository.at(spots)
    files = {spot.path for spot in spots}
    near = [
        one
        for one in repository.places
        if one.path in files and one.code.startswith(CODES[stage]) and one not in places
    ]
    rows = [[{**one._asdict(), "path": prefix + one.path} for one in part] for part in (places, near[:_NEAR])]
    return {
        "root": root,
        "spots": [{"path": prefix + spot.path, "line": spot.line} for spot in reversed(spots)],
        "places": rows[0],
        "near": rows[1],
    }
