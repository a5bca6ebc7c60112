"""`porter compare`: two training runs in; the stage at which they part out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.commands.output import KINDS, exit_of, output_kind, put_out
from porter.errors import UserError, check_choice
from porter.files.documents import Json

if TYPE_CHECKING:
    from porter.compare.pair import Pair
    from porter.compare.verdict import Verdict


def compare(
    baseline: str,
    candidate: str | None,
    rerun: str | None,
    repo: str | None,
    output: str | None,
    format: str | None,
    target: str | None,
    lang: str | None,
    no_cache: bool,
) -> int:
    from porter.commands.settings import settings_here
    from porter.compare.pair import Pair
    from porter.compare.read import read
    from porter.compare.show import document, lines
    from porter.compare.tree import judge

    check_choice("--format", format, KINDS)
    output_kind(output)
    if [baseline, candidate, rerun].count("-") > 1:
        raise UserError(
            "'-' is standard input and names one log; give files for the others",
            "“-”表示标准输入，只能给出一份日志；其余请给出文件",
        )
    lang = settings_here(target, lang)[0].lang
    if candidate is None:
        raise UserError(
            "two logs are compared: give both, or --profiles for one performance profile",
            "比较需要两份日志，请全部给出；单份性能数据请使用 --profiles",
        )
    first, second, again = read(baseline), read(candidate), read(rerun) if rerun else None
    for name, run in ((candidate, second), (rerun, again)):
        if run is not None and not run.ranks.keys() & first.ranks.keys():
            raise UserError(
                f"{name}: none of its ranks is in {baseline}; give the logs of the same ranks",
                f"{name}：与 {baseline} 没有相同的进程；请给出相同进程的日志",
            )
    pair = Pair(first, second, again)
    verdict = judge(pair)
    places, root = _places(repo, target, lang, no_cache)
    found = document(pair, verdict, lang, places, root)
    put_out(found, lambda: lines(found, lang), lambda: _page(pair, verdict, found), output, format)
    return exit_of(verdict.outcome)


def _page(pair: Pair, verdict: Verdict, found: Json) -> str:
    from porter.compare.page import page

    return page(pair, verdict, found)


def _places(repo: str | None, target: str | None, lang: str, no_cache: bool) -> tuple[list[Json] | None, str]:
    if repo is None:
        return None, ""
    from porter.checks.registry import load
    from porter.commands.diagnose import repository_of

    repository, prefix, root = repository_of(repo, target, lang, no_cache, load().texts)
    return [{**place._asdict(), "path": prefix + place.path} for place in repository.places], root
