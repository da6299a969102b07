"""The memory is a pure function of what was said; the workflows know only Temporal's clock."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MEMORY = sorted((ROOT / "perdure" / "memory").rglob("*.py"))
WORKFLOWS = sorted((ROOT / "workflows").rglob("*.py"))

# Clock, chance, environment, and the ways out of the process.
IMPURE = {
    "time",
    "random",
    "secrets",
    "uuid",
    "os",
    "platform",
    "getpass",
    "tempfile",
    "socket",
    "subprocess",
    "multiprocessing",
    "locale",
    "gettext",
    "http",
    "urllib.request",
    "pathlib",
    "shutil",
    "importlib",
    "sys",
    "logging",
}
MEMORY_TOO = {"asyncio", "threading", "concurrent", "temporalio", "anthropic", "weakref", "gc"}
CLOCKS = {"now", "utcnow", "today", "time", "monotonic", "perf_counter", "getrandom", "urandom"}
BUILTINS = {"open", "input", "print", "id", "hash", "vars", "globals", "eval", "exec", "breakpoint"}
CACHES = {"cache", "lru_cache"}
# What takes its argument's items in their order.
ORDERED = {"list", "tuple", "enumerate", "iter", "next", "map", "filter", "zip", "reversed", "sum"}
SETS = (ast.Set, ast.SetComp)


def imports(tree: ast.AST, forbidden: set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            if any(name == bad or name.startswith(f"{bad}.") for bad in forbidden):
                yield f"line {getattr(node, 'lineno', '?')}: imports {name}"


def clocks(tree: ast.AST) -> Iterator[str]:
    """Calls of a clock on anything but `workflow`, which replays it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            replayed = isinstance(owner, ast.Name) and owner.id == "workflow"
            if node.func.attr in CLOCKS and not replayed:
                yield f"line {node.lineno}: calls .{node.func.attr}()"


def calls(tree: ast.AST, names: set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield f"line {node.lineno}: calls {node.func.id}()"


def caches(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "functools":
            for alias in node.names:
                if alias.name in CACHES:
                    yield f"line {node.lineno}: imports functools.{alias.name}"
        elif isinstance(node, ast.Attribute) and node.attr in CACHES:
            yield f"line {node.lineno}: uses .{node.attr}"


def _is_set(node: ast.AST, known: set[str]) -> bool:
    if isinstance(node, SETS):
        return True
    if isinstance(node, ast.Name):
        return node.id in known
    if isinstance(node, ast.BinOp) and isinstance(
        node.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor
    ):
        return _is_set(node.left, known) or _is_set(node.right, known)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("set", "frozenset")
    )


def _annotated_as_set(node: ast.AST | None) -> bool:
    return node is not None and ast.unparse(node).split("[")[0].strip() in (
        "set",
        "frozenset",
        "AbstractSet",
        "Set",
    )


def _named_sets(tree: ast.AST) -> set[str]:
    """Names that are bound to a set somewhere in the module, as far as the text tells."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_set(node.value, found):
            found.update(t.id for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if _annotated_as_set(node.annotation):
                found.add(node.target.id)
        elif isinstance(node, ast.arg) and _annotated_as_set(node.annotation):
            found.add(node.arg)
    return found


def set_orders(tree: ast.AST) -> Iterator[str]:
    """Places where the order of a set's items would show; `sorted` and `in` are fine."""
    known = _named_sets(tree)
    for node in ast.walk(tree):
        taken: list[ast.AST] = []
        if isinstance(node, ast.For | ast.comprehension):
            taken = [node.iter]
        elif isinstance(node, ast.Starred):
            taken = [node.value]
        elif isinstance(node, ast.Call):
            joins = isinstance(node.func, ast.Attribute) and node.func.attr == "join"
            orders = isinstance(node.func, ast.Name) and node.func.id in ORDERED
            pops = isinstance(node.func, ast.Attribute) and node.func.attr == "pop"
            if joins or orders:
                taken = list(node.args)
            elif pops and not node.args and isinstance(node.func, ast.Attribute):
                taken = [node.func.value]
        for item in taken:
            if _is_set(item, known):
                yield f"line {getattr(item, 'lineno', '?')}: depends on the order of a set"


def faults(tree: ast.AST, *, memory: bool) -> list[str]:
    forbidden = IMPURE | MEMORY_TOO if memory else IMPURE
    found = [*imports(tree, forbidden), *clocks(tree), *calls(tree, BUILTINS), *set_orders(tree)]
    return [*found, *caches(tree)] if memory else found


def _id(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MEMORY, ids=_id)
def test_the_memory_is_pure(path: Path) -> None:
    assert not faults(ast.parse(path.read_text(encoding="utf-8")), memory=True)


@pytest.mark.parametrize("path", WORKFLOWS, ids=_id)
def test_the_workflows_take_time_and_chance_from_temporal(path: Path) -> None:
    assert not faults(ast.parse(path.read_text(encoding="utf-8")), memory=False)


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from os import environ",
        "import urllib.request",
        "from datetime import datetime\ndatetime.now()",
        "import datetime\ndatetime.date.today()",
        "open('x')",
        "hash('x')",
        "for x in {1, 2}: pass",
        "[x for x in set(y)]",
        "', '.join({'a', 'b'})",
        "list({1} | z)",
        "seen: set[str] = set()\nlist(seen)",
        "def f(s: frozenset[str]) -> None:\n    for x in s: pass",
        "s = {1}\ns.pop()",
        "[*{1, 2}]",
        "from functools import lru_cache",
        "import functools\n@functools.cache\ndef f(): pass",
    ],
)
def test_the_lint_finds_what_it_looks_for(source: str) -> None:
    assert faults(ast.parse(source), memory=True)


@pytest.mark.parametrize(
    "source",
    [
        "sorted({1, 2})",
        "1 in {1, 2}",
        "len(set(x))",
        "from functools import cached_property",
        "workflow.now()",
        "seen = set()\nseen.add(1)\nif 1 in seen: pass",
    ],
)
def test_the_lint_lets_pass_what_is_deterministic(source: str) -> None:
    assert not faults(ast.parse(source), memory=True)
