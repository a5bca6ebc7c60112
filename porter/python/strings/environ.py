"""Finds strings that name environment variables: keys of os.environ, of a copy of it, or of the `env` of a process. Only the
exact name of a variable counts, and only as a key. Log texts, help texts and shell commands do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from porter.python.blocks import BODIES, once, place, within
from porter.python.evidence import call_name, constant, is_log
from porter.python.index import FUNCTIONS, Link, Node, ancestors, strings
from porter.python.searches import Sought, lines_with
from porter.python.strings.listed_variables import listed
from porter.regex import lazy
from porter.rulebook.variable_values import by_default

if TYPE_CHECKING:
    from porter.python.file import Parsed


# how the names of variables begin that porter knows
HEADS = r"(?:CUDA|NCCL|CUDNN|CUBLAS|NVIDIA|NVCC|TORCH|PYTORCH|TF_CUDNN|VLLM_(?:WORKER|ATTENTION)|FORCE_CUDA|DISABLE_ADDMM_CUDA)"
_WORDS = ("CUDA", "NCCL", "CUDNN", "CUBLAS", "NVIDIA", "NVCC", "TORCH", "VLLM_")  # every head holds one of them
# searches for lines that may hold such a name, as a string or as a keyword
_BYTES = tuple(Sought(rf"{word}\w*(?:[\"']|\s*=)") for word in _WORDS)
_NAME = lazy(rf"{HEADS}[A-Z0-9_]*$")
# variables that count even if no stanza has them
UNKNOWN = lazy(r"(?:TORCH_NCCL|PYTORCH_CUDA|NCCL|CUDA|CUDNN|CUBLAS|CUBLASLT)_[A-Z0-9_]+$")
# names of objects that are an environment; names of functions that read or set a variable
_LIKE = lazy(r"(?i)(?:^|_)(?:env|envs|environ|environment|env_?(?:vars?|variables|dict|map|overrides))$")
_HELPER = lazy(
    r"(?i)(?:^|_)(?:get|set|read|del|unset|pop|has|check|require|parse)?_?env(?:iron(?:ment)?)?(?:$|_)|^(?:get|set|put)env$"
)
_FUNCTIONS = frozenset({"os.getenv", "os.putenv", "os.unsetenv"})
_METHODS = frozenset({"get", "pop", "setdefault", "__getitem__", "__setitem__", "__delitem__", "__contains__"})
_READS = frozenset({"get", "pop", "getenv"})  # the value beside the name is a default
_COPIES = frozenset({"dict", "copy", "deepcopy", "ChainMap", "OrderedDict"})  # functions that copy a mapping
KNOWN, NAMED = "known", "named"  # how sure it is: by what the code does, or only by a name


class Variable(NamedTuple):
    """A place that names an environment variable."""

    link: Link  # of the string, or of the keyword argument
    kind: Literal["variable"]
    role: str  # key | keyword | command
    certain: bool
    name: str
    set: bool  # the variable is set to that value, not only read
    value: str | None  # the value or default beside the name, if that is a literal
    listed: int = 0  # the line of a list by which the file sets it as well; 0 where there is none


def variables(file: Parsed) -> dict[int, Variable]:
    """The variables of a file, by offset. The tree is walked only if the text holds such a name."""
    lines = lines_with(file.source, *_BYTES)
    return Environment(file, lines).variables if lines else {}


class Environment:
    def __init__(self, file: Parsed, lines: list[int]) -> None:
        self.file, self.names = file, file.names
        self.wanted = file.rules.tables.variables
        self.variables: dict[int, Variable] = {}
        self._listed = listed(file, texts := strings(file.tree, lines, _NAME))
        self._known: dict[ast.AST, frozenset[bytes]] = {}
        self._mappings: dict[tuple[ast.AST, int], str | None] = {}
        for link in texts:
            if self._wanted(link[0].value) and (answer := self._key(link)):
                self._take(link, "key", link[0].value, *answer)
        for link in file.buckets[ast.Call]:
            named = [k for k in link[0].keywords if k.arg and _NAME.match(k.arg) and self._wanted(k.arg)]
            if named and (certainty := self._keywords(link)):
                for keyword in named:
                    self._take((keyword, link), "keyword", keyword.arg, certainty, keyword.value)

    def _wanted(self, name: str) -> bool:
        return name in self.wanted or UNKNOWN.match(name) is not None

    def _take(self, link: Link, role: str, name: str, certainty: str, value: Node) -> None:
        row = self.wanted.get(name)
        if row is None or row.to is None or not self._paired(link, name, row.to):
            text = str(constant(value)) if type(constant(value)) in (str, int) else None
            read = value is None or call_name(getattr(link[1][0], "func", value)) in _READS
            sure, listed = certainty == KNOWN, self._listed.get(name, 0)
            variable = Variable(link, "variable", role, sure, name, not read, text, listed)
            self.variables[self.file.source.span(link[0])[0]] = variable

    def _paired(self, link: Link, name: str, to: str) -> bool:
        """Whether the code sets the NPU's variable `to` already, in an entry beside it or in the same statement again."""
        for above in ancestors(link):
            node = above[0]
            if node.__class__ in (ast.Dict, ast.Call) and to in _entries(node):
                return True
            if isinstance(node, ast.stmt):
                wanted, known = self._text(node).replace(name.encode(), to.encode()), self._texts(above[1][0])
                return wanted in known or by_default(wanted.decode()).encode() in known
        return False

    def _texts(self, owner: Node) -> frozenset[bytes]:
        """The texts of all statements in the blocks of a node."""
        if owner not in self._known:
            blocks: Iterator[Node] = (getattr(owner, field, None) for field in BODIES)
            inside = (s for block in blocks if block.__class__ is list for s in block if isinstance(s, ast.stmt))
            self._known[owner] = frozenset(map(self._text, inside))
        return self._known[owner]

    def _text(self, statement: Node) -> bytes:
        start, end = self.file.source.span(statement)
        return self.file.source.utf8[start:end]

    # ---- where a string is a key

    def _key(self, link: Link) -> tuple[str, ast.AST | None] | None:
        """If the string is a key of an environment: how sure that is, and the value beside it."""
        node, up = link[0], link[1]
        parent = up[0]
        kind = parent.__class__
        if kind is ast.Subscript and parent.slice is node:
            certainty, above = self._certainty(parent.value, up), up[1] and up[1][0]
            value = above.value if above.__class__ is ast.Assign and within(above, parent, "targets") else None
            return (certainty, value) if certainty else None
        if kind is ast.Compare and node is parent.left and isinstance(parent.ops[0], (ast.In, ast.NotIn)):
            certainty = self._certainty(parent.comparators[0], up)
            return (certainty, None) if certainty else None
        if kind is ast.Dict and within(parent, node, "keys"):
            value = parent.values[place(parent, node)[1]]
            certainty = KNOWN if self._echoes(node, value, up) else self._mapping(up, 0)
            return (certainty, value) if certainty else None
        if kind is ast.Call and parent.args and parent.args[0] is node:
            return self._argument(parent, up)
        if kind is ast.keyword and parent.arg in ("envvar", "env_var"):
            return KNOWN, None
        if kind in (ast.Assign, ast.AnnAssign) and node is parent.value:
            return self._constant(parent, up)
        return None

    def _echoes(self, key: Node, value: Node, link: Link) -> bool:
        """Whether a value reads the variable of its key: `{"X": os.getenv("X", "1")}`."""
        if value.__class__ is not ast.Call or not value.args or constant(value.args[0]) != constant(key):
            return False
        return self.names.resolve(value.func, link) in (*_FUNCTIONS, "os.environ.get")

    def _argument(self, call: ast.Call, link: Link) -> tuple[str, ast.AST | None] | None:
        """The same for the first argument of a call."""
        func: Node = call.func
        value = call.args[1] if len(call.args) > 1 else None
        callee = call_name(func)
        if self.names.resolve(func, link) in _FUNCTIONS:
            return KNOWN, value
        if func.__class__ is ast.Attribute and callee in _METHODS:
            certainty = self._certainty(func.value, link)
            return (certainty, value) if certainty else None
        if func.__class__ is ast.Attribute and callee in ("setenv", "delenv"):  # pytest's monkeypatch
            return KNOWN, value
        if _HELPER.search(callee) and not is_log(func, callee):
            return NAMED, value
        return None

    def _constant(self, statement: Node, link: Link) -> tuple[str, None] | None:
        """The same for `KEY = "CUDA_VISIBLE_DEVICES"`, by the uses of KEY."""
        targets = statement.targets if statement.__class__ is ast.Assign else [statement.target]
        if len(targets) != 1 or targets[0].__class__ is not ast.Name:
            return None
        name, certainties = targets[0].id, []
        if name in self.names.imports or len(self.names.others.get(name, ())) != 1:
            return None
        for use in self.names.spelled(name):
            if use[0].ctx.__class__ is not ast.Load:
                continue
            answer = None if use[1][0].__class__ in (ast.Assign, ast.AnnAssign) else self._key(use)
            certainties.append(answer and answer[0])
        return (KNOWN if all(s == KNOWN for s in certainties) else NAMED, None) if any(certainties) else None

    # ---- what is an environment

    def _certainty(self, node: Node, link: Link, depth: int = 0) -> str | None:
        """How sure it is that an expression is an environment: KNOWN, NAMED by its words, or None."""
        if depth > 4:
            return None
        kind = node.__class__
        if self.names.resolve(node, link) == "os.environ":
            return KNOWN
        if kind is ast.Call:
            return self._made(node, link, depth)
        if kind is ast.Dict:
            certainties = (self._certainty(v, link, depth + 1) for k, v in zip(node.keys, node.values) if k is None)
            return next((KNOWN for certainty in certainties if certainty == KNOWN), None)
        if kind is ast.BinOp and isinstance(node.op, ast.BitOr):
            return self._certainty(node.left, link, depth + 1) or self._certainty(node.right, link, depth + 1)
        if kind is ast.BoolOp:
            return next((certainty for v in node.values if (certainty := self._certainty(v, link, depth + 1))), None)
        if kind is ast.Name:
            return self._bound(node, link, depth) or (NAMED if _LIKE.search(node.id) else None)
        return NAMED if kind is ast.Attribute and _LIKE.search(node.attr) else None

    def _made(self, call: ast.Call, link: Link, depth: int) -> str | None:
        """How sure it is that a call copies an environment or lists it: `dict(os.environ, X="1")`, `os.environ.keys()`."""
        func: Node = call.func
        callee = call_name(func)
        if callee in ("copy", "keys") and func.__class__ is ast.Attribute and not call.args:
            return self._certainty(func.value, link, depth + 1)
        if callee not in _COPIES:
            return None
        inside = [*call.args, *(k.value for k in call.keywords if k.arg is None)]
        return next((KNOWN for a in inside if self._certainty(a, link, depth + 1) == KNOWN), None)

    def _bound(self, node: ast.Name, link: Link, depth: int) -> str | None:
        """How sure it is that a name is an environment, by its bindings and by uses as `env=name`."""
        bindings = self.names.bindings(node.id, link)
        question = ("environment", depth)
        return self.names.once(question, bindings, lambda: self._look_at(node.id, bindings, depth))

    def _look_at(self, name: str, bindings: list[Link], depth: int) -> str | None:
        for link in bindings:
            above = link[1] and link[1][0]
            if (
                above.__class__ in (ast.Assign, ast.AnnAssign)
                and above.value is not None
                and link[0] is not above.value
            ):
                if self._certainty(above.value, link, depth + 1) == KNOWN:
                    return KNOWN
        for use in self.names.spelled(name) if bindings else ():
            if use[1][0].__class__ is ast.keyword and use[1][0].arg == "env":
                if self.names.bindings(name, use) is bindings:
                    return KNOWN
        return None

    # ---- where a mapping goes

    def _mapping(self, link: Link, depth: int) -> str | None:
        """How sure it is that a dict literal is an environment, by its parts and by where it goes. Kept for all of its keys."""
        key = link[0], depth
        if key not in self._mappings:
            self._mappings[key] = self._look_above(link, depth)
        return self._mappings[key]

    def _look_above(self, link: Link, depth: int) -> str | None:
        node, up = link[0], link[1]
        if depth > 6 or up is None:
            return None
        if node.__class__ is ast.Dict and self._certainty(node, link) == KNOWN:
            return KNOWN
        parent, kind = up[0], up[0].__class__
        if kind in (ast.IfExp, ast.BoolOp, ast.BinOp):
            return self._certainty(parent, up) or self._mapping(up, depth + 1)
        if kind is ast.Dict and within(parent, node, "values"):
            key = parent.keys[place(parent, node)[1]]
            if key is None:
                return self._mapping(up, depth + 1)
            return NAMED if isinstance(constant(key), str) and _LIKE.search(key.value) else None
        if kind is ast.keyword:
            if parent.arg is None:
                return self._keywords(up[1])
            return KNOWN if parent.arg in ("env", "env_vars") else NAMED if _LIKE.search(parent.arg) else None
        if kind is ast.Call and within(parent, node, "args"):
            return self._handed(parent, up, place(parent, node)[1], depth)
        if kind in (ast.Assign, ast.AnnAssign) and node is parent.value:
            targets = parent.targets if kind is ast.Assign else [parent.target]
            return next((certainty for t in targets if (certainty := self._certainty(t, up))), None)
        if kind is ast.Return:
            function = next((a[0] for a in ancestors(up) if isinstance(a[0], FUNCTIONS[:2])), None)
            return NAMED if function is not None and _LIKE.search(function.name) else None
        return None

    def _handed(self, call: ast.Call, link: Link, index: int, depth: int) -> str | None:
        """The same for a dict literal that is the argument of a call at this index."""
        func: Node = call.func
        callee = call_name(func)
        if callee == "update" and func.__class__ is ast.Attribute:
            return self._certainty(func.value, link)
        if func.__class__ is ast.Attribute and callee == "dict" and index == 1:  # mock.patch.dict(os.environ, {...})
            first = call.args[0]
            return KNOWN if constant(first) == "os.environ" else self._certainty(first, link)
        if callee in _COPIES:
            return self._made(call, link, 0) or self._mapping(link, depth + 1)
        return None

    def _keywords(self, link: Link | None) -> str | None:
        """How sure it is that the keywords of a call are variables: `dict(os.environ, X="1")`, `os.environ.update(X="1")`."""
        if link is None or link[0].__class__ is not ast.Call:
            return None
        call = link[0]
        func: Node = call.func
        callee = call_name(func)
        if callee == "update" and func.__class__ is ast.Attribute:
            return self._certainty(func.value, link)
        if func.__class__ is ast.Attribute and callee == "dict" and call.args:
            return KNOWN if constant(call.args[0]) == "os.environ" else self._certainty(call.args[0], link)
        is_dict = func.__class__ is ast.Name and callee == "dict"
        return (self._made(call, link, 0) or self._mapping(link, 0)) if is_dict else None


@once
def _entries(node: ast.Dict | ast.Call) -> frozenset[str]:
    """The string keys of a dict, or the keywords of a call."""
    names = map(constant, node.keys) if isinstance(node, ast.Dict) else (k.arg for k in node.keywords)
    return frozenset(name for name in names if isinstance(name, str))
