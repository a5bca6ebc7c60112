"""The comparison as one page that needs no network, in both languages."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from porter.dumps.compared import Comparison
from porter.dumps.document import document, say, shown
from porter.dumps.show import aligned_text, floor_text, frame_text, heads, repository_key
from porter.files.documents import Json
from porter.report.html import both_texts, label_of, world
from porter.report.page import unmarked
from porter.rulebook.table import LANGUAGES


def page(found: Comparison, value: Json) -> str:
    lang, about = value["language"], value["repository"]
    documents = {one: document(found, one, about) for one in LANGUAGES}
    made = world(lang, {"name": "", "commit": ""})
    made.globals["s"] = lambda key, **values: both_texts({one: say(key, one, **values) for one in LANGUAGES})
    made.globals["label_of"] = partial(label_of, say)

    def each(texts: dict[str, list[str]]) -> list[dict[str, str]]:
        return [dict(zip(LANGUAGES, rows)) for rows in zip(*(texts[one] for one in LANGUAGES))]

    titles = [say("page.title", one) for one in LANGUAGES]
    place = value["place"] if value["outcome"] != "none" else None
    role = value["stack"]["of"]
    context = {
        "f": value,
        "title": say("page.title", lang),
        "sentence": {one: d["sentence"] for one, d in documents.items()},
        "where": {one: d["place"]["text"] for one, d in documents.items()} if place else None,
        "evidence": each({one: [fact["text"] for fact in d["evidence"]] for one, d in documents.items()}),
        "nexts": each({one: d["next"] for one, d in documents.items()}),
        "stack_title": {one: say("stack", one, role=say(role, one)) for one in LANGUAGES},
        "frames": [frame_text(frame) for frame in value["stack"]["frames"]],
        "found_key": repository_key(about) if about else "",
        "shown": shown,
        "read": each(
            {
                one: [*heads(d, one), aligned_text(d, one), *([floor_text(d, one)] if d["floor"] else [])]
                + [note["text"] for note in d["notes"]]
                for one, d in documents.items()
            }
        ),
        "data": Markup(unmarked({"findings": [], "words": {}, "title": titles, "project": ""})),
    }
    return made.get_template("dumps.html.j2").render(context) + "\n"
