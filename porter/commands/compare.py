"""`porter compare`: two runs beside each other."""

from __future__ import annotations

from porter.errors import UserError


def compare(
    a: str, b: str | None, profiles: bool, repo: str | None, format: str | None, output: str | None, lang: str | None
) -> int:
    if not profiles:
        raise UserError("say what to compare: --profiles", "请说明比较什么：--profiles")
    from porter.commands.profiles import profiles as command

    return command(a, b, repo, format, output, lang)
