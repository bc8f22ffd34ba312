"""Imports point in a single direction, from the command line down to plain values."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import Field
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest
from msgspec import Struct

from ctxtrim.stages import STAGES

PACKAGE = Path(__file__).resolve().parents[1] / "ctxtrim"

# A layer may import the layers above it in this list, and itself. Those before `io` are pure
# values and functions.
LAYERS = (
    "version",
    "errors",
    "loading",
    "text",
    "model",
    "conversation",
    "tokens",
    "clipping",
    "evidence",
    "summaries",
    "findings",
    "stage",
    "metering",
    "stages",
    "pipeline",
    "io",
    "tokenizers",
    "formats",
    "config",
    "summarizers",
    "archive",
    "reports",
    "stream",
    "api",
    "testing",
    "cli",
    "__main__",
)
CORE = set(LAYERS[: LAYERS.index("io")])
# modules of `stages` that several stages use
SHARED = (
    "common_settings",
    "compaction_trigger",
    "events",
    "keep_rules",
    "largest",
    "placement",
    "placeholder",
    "reasoning",
    "structure",
)
# Which parts of the house may import which packages from outside, and which parts of the standard
# library.
OUTSIDE = {
    "orjson": {"text", "tokenizers"},
    "tiktoken": {"tokenizers"},
    "gigatoken": {"tokenizers"},
    "regex": {"text", "tokenizers"},
    "ctok": {"tokenizers"},
    "click": {"cli"},
    "openai": {"summarizers"},
    "os": {"archive", "cli", "io", "summarizers"},
    "sys": {"cli", "io", "testing"},
    "subprocess": {"summarizers"},
    "threading": {"cli", "summarizers", "tokenizers"},
    "signal": {"cli", "io", "summarizers"},
    "fcntl": {"io"},
    "pytest": {"testing"},
    "syrupy": {"testing"},
    "pathlib": {"api", "archive", "cli", "config", "io", "testing", "tokenizers", "tokens"},
    "time": {"cli", "io", "summarizers"},
    "tempfile": {"archive", "io"},
    "platformdirs": {"archive"},
    "tomllib": {"config"},
    "zstandard": {"io"},
    "sqlite3": {"archive", "io"},
    "zipfile": {"io"},
    "importlib": {"api", "cli", "loading", "reports", "tokenizers"},
}
NEVER = {"logging", "random", "socket", "urllib", "http", "requests", "datetime"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def layer(path: Path) -> str:
    """The module or folder directly inside the package that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """All modules that a file imports, at any position."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            modules.add(node.module or "")
            if node.module == "ctxtrim":
                modules |= {
                    f"ctxtrim.{alias.name}" for alias in node.names if alias.name != "__version__"
                }
    return modules


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(PACKAGE)) for path in MODULES])
def test_imports_point_down_and_dependencies_stay_in_their_layers(path: Path) -> None:
    mine = layer(path)
    for module in imports(path):
        package, _, rest = module.partition(".")
        if package == "ctxtrim":
            other = rest.split(".")[0]
            if other and mine != "__init__":
                assert LAYERS.index(other) <= LAYERS.index(mine), (
                    f"{mine} imports {other}, which is above it"
                )
            if mine == "stages" and path.stem != "__init__" and other == "stages":
                inside = rest.split(".")[1:2] or [path.parent.name]
                assert inside[0] in (path.parent.name, *SHARED), "a stage imports another stage"
        else:
            assert package not in NEVER, f"{mine} imports {package}"
            assert mine in OUTSIDE.get(package, {mine}), f"{mine} imports {package}"
    if mine in CORE and path.name != "models.py":  # the registry of models is a file of the package
        assert {"os", "sys", "pathlib", "time", "io"}.isdisjoint(imports(path))


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(PACKAGE)) for path in MODULES])
def test_no_module_uses_open_or_print_and_only_the_command_line_exits(path: Path) -> None:
    names = {
        node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)
    }
    assert "print" not in names
    assert "open" not in names
    assert layer(path) in ("cli", "__main__") or "SystemExit" not in names


def module_name(path: Path) -> str:
    """The dotted name of a module; that of the folder for a package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not even inside functions or for types."""
    names = {module_name(path) for path in MODULES}
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        imported = graph.setdefault(module_name(path), set())
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in names:
                members = (f"{node.module}.{alias.name}" for alias in node.names)
                imported |= {name if name in names else node.module for name in members}
    TopologicalSorter(graph).prepare()


def lazy_rows(path: Path) -> Iterator[tuple[str, str, str]]:
    """The rows of the lazy tables in a file: package, module and attribute."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(func=ast.Name("module_table"), args=[package, rows]):
                for value in ast.literal_eval(rows).values():
                    yield ast.literal_eval(package), *value.split(":")


def test_a_lazy_row_is_a_value_in_a_module_of_its_own_package() -> None:
    rows = [(path, *row) for path in MODULES for row in lazy_rows(path)]
    assert len(rows) > 30
    for path, package, module, attribute in rows:
        assert package == ".".join(path.parent.relative_to(PACKAGE.parent).parts)
        assert hasattr(import_module(f"{package}.{module}"), attribute)


def test_the_library_loads_no_command_line_and_no_tokenizer() -> None:
    import subprocess
    import sys

    code = (
        "import ctxtrim, sys; [getattr(ctxtrim, name) for name in ctxtrim.__all__]; "
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"click", "tiktoken", "gigatoken", "numpy"}.isdisjoint(done.stdout.split())


def test_the_public_names_are_sorted_and_complete() -> None:
    import ctxtrim

    names = ctxtrim.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name))
    assert all(getattr(ctxtrim, name) is not None for name in names)


def test_public_names_have_the_types_of_the_modules_that_they_are_loaded_from() -> None:
    from ctxtrim.api import _NAMES

    (types,) = [
        node
        for node in ast.parse((PACKAGE / "api/__init__.py").read_text()).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    ]
    typed = {
        (node.module, alias.name)
        for node in types.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    loaded = {(f"ctxtrim.{module}", name) for module, names in _NAMES.items() for name in names}
    assert typed == loaded | {("ctxtrim", "tokenizers")}


def test_no_file_is_long() -> None:
    assert {
        str(path.name): lines
        for path in MODULES
        if (lines := len(path.read_text().splitlines())) > 360
    } == {}


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(PACKAGE)) for path in MODULES])
def test_no_conditional_expression_contains_another(path: Path) -> None:
    conditionals = [
        node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.IfExp)
    ]
    nested = [
        ast.unparse(outer)
        for outer in conditionals
        if sum(isinstance(node, ast.IfExp) for node in ast.walk(outer)) > 1
    ]
    assert nested == []


def test_few_modules_are_at_the_root_and_every_layer_is_listed() -> None:
    assert len([path for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")]) <= 10
    assert {layer(path) for path in MODULES} == {*LAYERS, "__init__"}


# The modules that know stages by name, and words that mean something else where they are.
KNOW_STAGES = ("stages/", "config/presets.py", "cli/app.py", "cli/commands/", "cli/examples.py")
OTHER_MEANINGS = {
    ("formats/agents/kimi_replay.py", "count"),  # the number of turns to undo
    ("stage.py", "check"),  # the check of a setting
}


def decisive(path: Path) -> Iterator[str]:
    """The texts that a file compares or uses as keys."""
    for node in ast.walk(ast.parse(path.read_text())):
        values: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            values = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
        elif isinstance(node, ast.Subscript):
            values = [node.slice]
        elif isinstance(node, ast.Dict):
            values = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.MatchValue):
            values = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            values = [*node.args[:1]] if node.func.attr in ("get", "pop", "setdefault") else []
        for value in values:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def test_no_module_knows_a_stage_by_name() -> None:
    places = [(path.relative_to(PACKAGE).as_posix(), path) for path in MODULES]
    known = {
        (place, text)
        for place, path in places
        if not place.startswith(KNOW_STAGES)
        for text in decisive(path)
        if text in STAGES
    }
    assert known == OTHER_MEANINGS


def public_types(path: Path) -> Iterator[str]:
    """The public classes and type aliases of a module, whose names are in camel case."""
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.ClassDef(name):
                pass
            case ast.Assign([ast.Name(name)], value=value):
                if isinstance(value, ast.Call):  # a type variable
                    continue
            case _:
                continue
        if name[0].isupper() and not name.isupper():
            yield name


def test_no_two_public_types_share_a_name() -> None:
    modules: dict[str, list[str]] = {}
    for path in MODULES:
        for name in public_types(path):
            modules.setdefault(name, []).append(path.relative_to(PACKAGE).as_posix())
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}


def test_defaults_of_structs_are_values() -> None:
    for module in MODULES:
        if "Struct" in module.read_text():
            import_module(".".join(module.relative_to(PACKAGE.parent).with_suffix("").parts))
    classes = [Struct]
    for struct in classes:
        classes += struct.__subclasses__()
    fields = [default for struct in classes[1:] for default in struct.__struct_defaults__]
    assert len(classes) > 20
    assert [default for default in fields if isinstance(default, Field)] == []


# The names that several modules have: providers; stages, also as commands; things of several
# layers.
REPEATED = {
    *("anthropic", "gemini", "openai", "openai_responses", "strands"),
    "stage",
    *("errors", "facts", "files", "fit", "markers", "messages"),
    *("models", "numbers", "pieces", "reasoning", "request", "requests", "session"),
    *("sessions", "summary"),
}


def test_no_other_modules_share_a_name() -> None:
    stems = Counter(path.stem for path in MODULES if path.stem != "__init__")
    assert {stem for stem, number in stems.items() if number > 1} == REPEATED


def test_module_names_are_nouns() -> None:
    """A verbal noun is fine, a participle is not: `reading`, but not `recorded`."""
    participles = [path.stem for path in MODULES if path.stem.endswith("ed")]
    assert participles == []
