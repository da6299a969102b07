"""Who may import whom: the rule of the house, read from the sources."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What the modules of a layer may import of ours; the longest name that fits a module counts.
ALLOWED: dict[str, tuple[str, ...]] = {
    "perdure.memory": ("perdure.memory",),
    "perdure.errors": (),
    "perdure.contract": ("perdure.memory",),
    "perdure.entrance": ("perdure.contract", "perdure.memory"),
    "perdure.settings": ("perdure.errors",),
    "perdure.model": (
        "perdure.model",
        "perdure.memory",
        "perdure.contract",
        "perdure.errors",
    ),
    "perdure.archive": (
        "perdure.archive",
        "perdure.memory",
        "perdure.contract",
        "perdure.settings",
        "perdure.errors",
    ),
    "perdure.tools": (
        "perdure.tools",
        "perdure.memory",
        "perdure.contract",
        "perdure.entrance",
        "perdure.errors",
    ),
    "perdure.past": ("perdure.archive", "perdure.memory", "perdure.contract", "perdure.errors"),
    # Asked for by a client, and work with a model: it runs in the client's process.
    "perdure.shadow": (
        "perdure.past",
        "perdure.model",
        "perdure.memory",
        "perdure.contract",
        "perdure.errors",
    ),
    "perdure.recall": (
        "perdure.recall",
        "perdure.memory",
        "perdure.contract",
        "perdure.archive",
        "perdure.model.tokens",
        "perdure.errors",
    ),
    "perdure.scheduled": (),
    "workflows": (
        "workflows",
        "perdure.memory",
        "perdure.contract",
        "perdure.entrance",
        "perdure.scheduled",
    ),
    "perdure.zones": ("perdure.memory",),
    "activities": (
        "activities",
        "perdure.zones",
        "perdure.memory",
        "perdure.contract",
        "perdure.entrance",
        "perdure.model",
        "perdure.archive",
        "perdure.past",
        "perdure.tools",
        "perdure.recall",
        "perdure.errors",
    ),
    "perdure.local": ("perdure.local", "perdure.errors"),
    "perdure.cli": ("perdure", "worker"),
    "perdure.demo": ("perdure", "worker"),
    "perdure": ("perdure",),
    "worker": ("perdure", "workflows", "activities"),
}
OURS = ("perdure", "workflows", "activities", "worker")


def modules() -> Iterator[tuple[str, Path]]:
    for top in ("perdure", "workflows", "activities"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path
    yield "worker", ROOT / "worker.py"


def imported(module: str, path: Path) -> set[str]:
    """Every module of ours that `path` imports, wherever in it the import stands."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            # "from perdure import errors" imports a module, "from perdure.errors import X" none.
            found.update(f"{base}.{alias.name}" if base in OURS else base for alias in node.names)
    return {name for name in found if name.split(".")[0] in OURS}


def within(name: str, layer: str) -> bool:
    return name == layer or name.startswith(f"{layer}.")


def layer_of(module: str) -> str:
    return max((layer for layer in ALLOWED if within(module, layer)), key=len)


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=[name for name, _ in modules()])
def test_a_module_imports_only_what_its_layer_may(module: str, path: Path) -> None:
    allowed = ALLOWED[layer_of(module)]
    wrong = [
        name
        for name in sorted(imported(module, path))
        if not any(within(name, layer) for layer in allowed)
    ]
    assert not wrong, f"{module} imports {', '.join(wrong)}"


def test_every_layer_of_the_rule_exists() -> None:
    names = [name for name, _ in modules()]
    assert len(names) > 40
    for layer in ALLOWED:
        assert any(within(name, layer) for name in names), layer


def test_importing_the_contract_loads_no_client_and_no_provider() -> None:
    """The workflow's sandbox imports it, so nothing with I/O may come along."""
    reached: set[str] = set()
    waiting = ["perdure.contract"]
    paths = dict(modules())
    while waiting:
        module = waiting.pop()
        if module in reached or module not in paths:
            continue
        reached.add(module)
        waiting += imported(module, paths[module])
    assert all(within(m, "perdure.memory") or m == "perdure.contract" for m in reached)
