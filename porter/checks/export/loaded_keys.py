"""Which keys are read of the dictionary that `torch.load` answers with, and who saves them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from porter.checks.export.loaded_objects import is_other_branch
from porter.checks.export.loaded_uses import named, part
from porter.checks.export.names_set_again import until_set_again
from porter.engine.checkpoints import Saved
from porter.engine.rule_file import RuleFile
from porter.project.saved_dictionaries import records
from porter.project.saved_objects import possibly_saved_with, restored_with, saved_with
from porter.python.blocks import once_for_file
from porter.python.evidence import call_name, constant, given_flags
from porter.python.index import FUNCTIONS, Link, Node, ancestors, parents
from porter.python.walks import walk
from porter.regex import lazy
from porter.rulebook.table import hint

_PUBLISHED = hint("published-weights")
_PRETRAINED = lazy(r"(?i)pre_?trained(?:_?path|_?file)?")


def keys(call: Link, file: RuleFile) -> frozenset[str]:
    """All that is read of a dictionary that a call answers with: `load(path)["a"]`, `x["a"]` and `x.get("a")`. What the function
    around it gives back is read by its callers in the file."""
    return _needed(*_read(call, file))


def _needed(read: set[str], tried: set[str], handled: set[str]) -> frozenset[str]:
    return frozenset(read - tried - handled or read)


def _read(call: Link, file: RuleFile) -> tuple[set[str], set[str], set[str]]:
    """All keys that are read; which of them the dictionary may lack, and which are read where it lacks others."""
    value, key = part(call)
    if key:
        return {key}, set(), set()
    uses = _uses(value, file)
    uses += [use for given in _given_back(call, uses, file) for use in _uses(part(given)[0], file)]
    read = {part(use)[1] or _first_of_several(use, file) for use in uses}
    read.update(field for use in uses for field in _fields(use, file))
    return read - {""}, *_optional(uses, call)


def _uses(value: Link, file: RuleFile) -> list[Link]:
    uses = [use for uses in named(value, file) for use in until_set_again(value, uses)]
    # in the other branch the name is another checkpoint
    uses = [use for use in uses if use[0].ctx.__class__ is ast.Load and not is_other_branch(value, use)]
    return [*uses, value, *_of_attribute(value, file)]


def _given_back(call: Link, uses: list[Link], file: RuleFile) -> list[Link]:
    """The calls of the function around a load, where it gives back what it has loaded, whole."""
    function = next((node for node in parents(call) if node.__class__ in FUNCTIONS[:2]), None)
    if function is None or not any(use[1] is not None and use[1][0].__class__ is ast.Return for use in uses):
        return []
    spelled = (link for link in file.names.spelled(function.name) if link[1] is not None)
    return [link[1] for link in spelled if getattr(link[1][0], "func", None) is link[0]]


def _optional(uses: list[Link], call: Link) -> tuple[set[str], set[str]]:
    """Keys that a dictionary may lack: `try: x = loaded["a"]`, `except KeyError: x = loaded["b"]`, those that are tried and those
    that are read instead. A `try` around the load tells nothing of its keys."""
    needed: set[str] = set()
    spelled: dict[Node, tuple[set[str], set[str]]] = {}  # by `try`: in it, and where it fails
    around = {*parents(call)}
    for use in uses:
        key, is_handled, is_tried = part(use)[1], False, False
        for node in parents(use):
            if node.__class__ is ast.Try and node not in around and _asks(node):
                spelled.setdefault(node, (set(), set()))[is_handled].add(key)
                is_tried = True
            is_handled = node.__class__ is ast.ExceptHandler
        needed |= set() if is_tried else {key}
    may_lack = {key for tried, handled in spelled.values() for key in tried - handled} - needed
    return may_lack, {key for tried, handled in spelled.values() for key in handled - tried} - needed


def _asked_for(uses: list[Link]) -> tuple[list[str], set[str]]:
    """Keys that are read only where the dictionary has them: `if "model" in loaded: x = loaded["model"]`, and those that are read
    where it has none of them: `else: x = loaded["state"]`."""
    found, instead = list[str](), set[str]()
    for use in uses:
        key, child = part(use)[1], use[0]
        for node in parents(use):
            if key and node.__class__ is ast.If and child is not node.test:
                asked = _asked_in(node.test, use)
                if child in node.body and key in asked:
                    found.append(key)
                elif child in node.orelse and asked:
                    instead.add(key)
            child = node
    return found, instead


def _asked_in(test: Node, use: Link) -> set[object]:
    """The keys of which a condition asks whether the dictionary has one: `"model" in loaded`, `"model" in loaded.keys()`."""
    asked = (node for node in walk(test) if node.__class__ is ast.Compare and node.ops[0].__class__ is ast.In)
    name, found = getattr(use[0], "id", None), set[object]()
    for one in asked:
        whole: Node = one.comparators[0]
        whole = whole.func.value if whole.__class__ is ast.Call and call_name(whole.func) == "keys" else whole
        found |= {constant(one.left)} if getattr(whole, "id", "") == name else set()
    return found


def _asks(tried: Node) -> bool:
    """Whether a `try` goes on where a key is missing: it names the error, or holds one statement and takes any error."""
    caught = [one.type for one in tried.handlers]
    names = {getattr(node, "id", "") for one in caught if one is not None for node in walk(one)}
    return "KeyError" in names or len(tried.body) == 1 and (None in caught or "Exception" in names)


def _of_attribute(value: Link, file: RuleFile) -> list[Link]:
    """For `self.loaded = torch.load(path)`: where the class reads `self.loaded`."""
    above = value[1]
    target: Node = above[0].targets[0] if above is not None and above[0].__class__ is ast.Assign else None
    if target.__class__ is not ast.Attribute or getattr(target.value, "id", "") != "self":
        return []
    owner = _class(value)
    spelled = [link for link in file.buckets[ast.Attribute] if link[0].attr == target.attr]
    own = [link for link in spelled if getattr(link[0].value, "id", "") == "self" and _class(link) is owner]
    stored = [link for link in own if link[0].ctx.__class__ is ast.Store]
    return [link for link in own if link not in stored] if owner is not None and len(stored) == 1 else []


def _class(link: Link) -> Node | None:
    return next((node for node in parents(link) if node.__class__ is ast.ClassDef), None)


def _first_of_several(use: Link, file: RuleFile) -> str:
    """`model` of `for key in args.model_key.split("|"): loaded[key]`, where `model|module` is the default of the option, and
    what `loaded[args.key]` is by default."""
    above = use[1] and use[1][0]
    if above.__class__ is not ast.Subscript or above.value is not use[0]:
        return ""
    if above.slice.__class__ is ast.Attribute:
        return _defaults(file).get(above.slice.attr, "")
    if above.slice.__class__ is not ast.Name:
        return ""
    loops = (link[0] for link in ancestors(use) if link[0].__class__ is ast.For)
    loop = next((one for one in loops if getattr(one.target, "id", "") == above.slice.id), None)
    return _first(loop.iter, file) if loop is not None else ""


def _first(listed: Node, file: RuleFile) -> str:
    if listed.__class__ in (ast.Tuple, ast.List):
        words = [constant(word) for word in listed.elts[:1]]
        return words[0] if words and isinstance(words[0], str) else ""
    if listed.__class__ is not ast.Call or call_name(listed.func) != "split" or len(listed.args) != 1:
        return ""
    option = listed.func.value
    word = _defaults(file).get(option.attr) if option.__class__ is ast.Attribute else constant(option)
    sign = constant(listed.args[0])
    return word.split(sign)[0] if isinstance(word, str) and isinstance(sign, str) and sign else ""


@once_for_file
def _defaults(file: RuleFile) -> dict[str, str]:
    """Of options of the command line, what they are where nobody gives them."""
    calls = (link[0] for link in file.buckets.get(ast.Call, ()) if call_name(link[0].func) == "add_argument")
    found = ((call, constant(k.value)) for call in calls for k in call.keywords if k.arg == "default")
    texts = [(call, text) for call, text in found if isinstance(text, str)]
    return {flag.lstrip("-").replace("-", "_"): text for call, text in texts for flag in given_flags(call)}


def _fields(use: Link, file: RuleFile) -> Iterator[str]:
    """The fields of `State(**loaded)`, a namedtuple of the file."""
    call = use[1] and use[1][1] and use[1][1][0]
    if use[1][0].__class__ is ast.keyword and use[1][0].arg is None and call.__class__ is ast.Call:
        yield from _records(file).get(call_name(call.func), ())


@once_for_file
def _records(file: RuleFile) -> dict[str, tuple[str, ...]]:
    return records([file.source.utf8])


def _named_by_callers(call: Link, file: RuleFile) -> Node | None:
    """The function around a load of which it reads what the keywords of its callers name:
    `for key, value in kwargs.items(): value.load_state_dict(loaded[key])`."""
    function = next((node for node in parents(call) if node.__class__ in FUNCTIONS[:2]), None)
    if function is None or function.args.kwarg is None:
        return None
    uses = (use for uses in named(part(call)[0], file) for use in uses)
    return function if any(_key_in(use) == function.args.kwarg.arg for use in uses) else None


def _key_in(use: Link) -> str:
    """`kwargs` of `for key, value in kwargs.items(): loaded[key]`."""
    above = use[1] and use[1][0]
    if above.__class__ is not ast.Subscript or above.slice.__class__ is not ast.Name:
        return ""
    for loop in (link[0] for link in ancestors(use) if link[0].__class__ is ast.For):
        names = getattr(loop.target, "elts", None) or [None]  # `for () in ...` is Python, too
        is_its = getattr(names[0], "id", "") == above.slice.id
        if is_its and loop.iter.__class__ is ast.Call and call_name(loop.iter.func) == "items":
            return getattr(loop.iter.func.value, "id", "")
    return ""


def _is_from_outside(call: Link, file: RuleFile) -> bool:
    """Whether somebody else has trained what is loaded: a function that builds a model loads what its parameter `pretrained` names, or
    the file is called as published weights are."""
    path: Node = call[0].args[0] if call[0].args else None
    if path.__class__ is ast.Call and call_name(path.func) == "open" and path.args:
        path = path.args[0]
    if path.__class__ is not ast.Name:
        return _is_published(path)
    set_to = (getattr(place[1][0], "value", None) for place in file.names.bindings(path.id, call) if place[1])
    if any(map(_is_published, set_to)):
        return True
    function = next((node for node in parents(call) if node.__class__ in FUNCTIONS[:2]), None)
    if function is None or not _PRETRAINED.fullmatch(path.id):
        return False
    return any(argument.arg == path.id for argument in (*function.args.args, *function.args.kwonlyargs))


def _is_published(path: Node) -> bool:
    texts = (constant(part) for part in walk(path)) if path.__class__ in (ast.Constant, ast.JoinedStr) else ()
    return any(isinstance(text, str) and _PUBLISHED.search(text) for text in texts)


def _is_resumed(call: Link, file: RuleFile) -> bool:
    """`checkpoint = torch.load(args.resume)`, and nothing reads it: what is resumed was saved by the program all the same."""
    path: Node = call[0].args[0] if call[0].args else None
    above = call[1] and call[1][0]
    if path.__class__ is not ast.Attribute or path.attr != "resume" or above.__class__ is not ast.Assign:
        return False
    names = named(call, file)
    return len(above.targets) == len(names) == 1 and not any(use[0].ctx.__class__ is ast.Load for use in names[0])


def is_on_host(call: Link, file: RuleFile) -> bool:
    """Whether the program moves to the CPU all that it saves under the keys that are read, or all, where no key is."""
    known = {key for program, key in file.facts.checkpoints.on_host if file.path.startswith(program)}
    read = keys(call, file) if known else frozenset[str]()
    return not known.isdisjoint(read) and read <= known if read else "" in known


def possibly_saved(call: Link, file: RuleFile) -> Saved | None:
    """A dictionary with an object that this call may read: it has all the keys, as others without an object have."""
    if _is_from_outside(call, file):
        return None
    return possibly_saved_with(file.facts.checkpoints.saved, keys(call, file), file.path)


def saved_elsewhere(call: Link, file: RuleFile) -> Saved | None:
    """A dictionary with an object, of whatever file, that this call reads by what it asks for."""
    if _is_from_outside(call, file):
        return None
    read, tried, handled = _read(call, file)
    if (saved := saved_with(file.facts.checkpoints.saved, _needed(read, tried, handled), file.path)) is not None:
        return saved
    # what the file itself saves has the keys, too, that it may find missing in the checkpoints of others
    whole = saved_with(file.facts.checkpoints.saved, frozenset(read - handled), file.path) if tried else None
    if whole is not None and whole.path == file.path:
        return whole
    # of keys that it asks for before it reads them, one is enough
    asked, instead = _asked_for(_uses(part(call)[0], file))
    if asked and read <= {*asked, *instead}:
        found = (saved_with(file.facts.checkpoints.saved, frozenset({key}), file.path) for key in asked)
        return next(filter(None, found), None)
    if _is_resumed(call, file):
        held = [row for row in file.facts.checkpoints.saved if file.path.startswith(row.program)]
        return held[0] if held and all(row.held for row in held) else None
    function = _named_by_callers(call, file)
    if function is None:
        return None
    own = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    calls = [row for row in file.facts.checkpoints.restored if row.function == function.name]
    return restored_with(file.facts.checkpoints.saved, ((row.path, frozenset(row.keywords) - own) for row in calls))
