"""Regular expressions that are compiled when they are first asked: porter holds hundreds, and a run on a few files asks few."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Lazy:
    """Stands for a `re.Pattern`. A method that was asked once is an attribute, and costs what it costs of a pattern."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self.pattern, self.flags = text, flags  # the flags that were given, without those in the text

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = self.__dict__.get("_compiled")
        if compiled is None:
            compiled = self.__dict__["_compiled"] = re.compile(self.pattern, self.flags)
        value = self.__dict__[name] = getattr(compiled, name)
        return value

    def __reduce__(self) -> tuple[object, ...]:
        return _Lazy, (self.pattern, self.flags)

    def __repr__(self) -> str:
        return f"lazy({self.pattern!r})"


def lazy(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    return cast("re.Pattern[AnyStr]", _Lazy(text, flags))
