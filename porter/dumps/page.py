"""The comparison as one page that needs no network, in both languages."""

from __future__ import annotations

from porter.dumps.compared import Comparison
from porter.dumps.document import document, say, shown
from porter.dumps.show import frame_text, heads, repository_key, tails
from porter.files.documents import Json
from porter.report.html import by_language, of_room
from porter.rulebook.table import LANGUAGES


def page(found: Comparison, value: Json) -> str:
    about, role = value["repository"], value["stack"]["of"]
    documents = {one: document(found, one, about) for one in LANGUAGES}
    is_place = value["place"] is not None and value["outcome"] != "none"
    context = {
        "f": value,
        "sentence": {one: d["sentence"] for one, d in documents.items()},
        "where": {one: d["place"]["text"] for one, d in documents.items()} if is_place else None,
        "evidence": by_language([fact["text"] for fact in d["evidence"]] for d in documents.values()),
        "nexts": by_language(d["next"] for d in documents.values()),
        "stack_title": {one: say("stack", one, role=say(role, one)) for one in LANGUAGES},
        "frames": [frame_text(frame) for frame in value["stack"]["frames"]],
        "found_key": repository_key(about) if about else "",
        "shown": shown,
        "read": by_language([*heads(d, one), *tails(d, one)] for one, d in documents.items()),
    }
    return of_room("dumps.html.j2", say, "page.title", value["language"], context)
