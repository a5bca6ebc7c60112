"""What the user can cure: one line on stderr, exit code 2. And what keeps porter from a file."""

from __future__ import annotations

from collections.abc import Iterable


class UserError(Exception):
    """The same sentence in both languages."""

    def __init__(self, en: str, zh: str):
        super().__init__(en, zh)

    def text(self, lang: str) -> str:
        text: str = self.args[lang == "zh"]
        return text

    def __str__(self) -> str:
        return self.text("en")


def suggestion(word: str, known: Iterable[str]) -> tuple[str, str]:
    """`; did you mean X?` in both languages, or nothing."""
    import difflib

    near = difflib.get_close_matches(word, sorted(known), 1, 0.6)
    return (f"; did you mean {near[0]!r}?", f"；是否想写 {near[0]!r}？") if near else ("", "")


def check_choice(option: str, value: str | None, known: Iterable[str]) -> None:
    """Raises where an option's value is none of those there are."""
    known = tuple(known)
    if value is not None and value not in known:
        en, zh = suggestion(value, known)
        names = ", ".join(known)
        raise UserError(
            f"{option}: {value!r} is none of {names}{en}", f"{option}：{value!r} 不在可选值之内：{names}{zh}"
        )


class Unreadable(Exception):
    """The file is left alone. `key` is a message of PRT002."""

    def __init__(self, key: str, error: str = "", line: int = 1):
        super().__init__(key, error, line)
        self.key, self.error, self.line = key, error, line


class Broken(Exception):
    """A promise that the edits of a file would break; the file stays as it was. `key` is a message of PRT003, or of `code`."""

    def __init__(self, key: str, line: int = 1, code: str = "PRT003", **values: str):
        super().__init__(key, values)
        self.key, self.line, self.code, self.values = key, line, code, values
