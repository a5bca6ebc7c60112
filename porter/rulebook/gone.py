"""[[gone]]: names, members and keywords that are no more, as the table has them."""

from __future__ import annotations

from typing import Any

from porter.rulebook.errors import RuleError

_NEAR = 400  # characters from the name of a call to a keyword
ANSWER = "="  # `call(=)`: the call's answer takes the place of its object, `data = data.append(rows)`
Row = tuple[tuple[str, str], ...]


def of_keyword(call: str, keyword: str) -> str:
    """The pattern of a call with a keyword, by the last word of its name. It may match what is none, and is asked before parsing."""
    return rf"{call.rpartition('.')[2]}\([\s\S]{{0,{_NEAR}}}?\b{keyword}[ \t]*=(?!=)"


def of_answer(call: str) -> str:
    """The pattern of a method whose answer is kept. It may match what is none, as the former; a plain sign at its head makes the search fast."""
    return rf"=[ \t]*[A-Za-z_][\w.]*\.{call}\("


def gone(where: str, stanza: dict[str, Any]) -> dict[str, Row]:
    """`gone:` and a full name; `lost:` and a member, or `call(keyword)`, or `call(=)`: see ANSWER."""
    who = (stanza["by"], stanza["since"]), ("package", stanza.get("package", ""))
    found: dict[str, Row] = {}
    for kind in ("same", "instead", "module", "moved"):
        found |= {f"gone:{name}": (*who, (kind, new)) for name, new in stanza.get(kind, {}).items()}
    members, keywords, calls = stanza.get("member", {}), stanza.get("keyword", {}), stanza.get("call", ())
    answers = stanza.get("answer", {})
    if (members or keywords or answers) and "import" not in stanza or bool(keywords) != bool(calls):
        raise RuleError(f"{where}: a member has its 'import', and a keyword its 'call' as well")
    theirs = ("import", stanza.get("import", "")), ("unless", "|".join(stanza.get("unless", ())))
    asked = {**members, **{f"{call}({name})": new for call in calls for name, new in keywords.items()}}
    asked |= {f"{call}({ANSWER})": new for call, new in answers.items()}
    return found | {f"lost:{name}": (*who, ("new", new), *theirs) for name, new in asked.items()}
