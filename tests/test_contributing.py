"""The recipes of CONTRIBUTING.md work: a test follows each recipe literally in a copy of the
package and runs its test.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENVIRONMENT, ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
BLOCK = re.compile(r'```(python|diff) title="([^"]+)"\n(.*?)```', re.DOTALL)
RECIPES = {
    # The new modules of the package, and its files that get a row.
    "Add a stage": (["stages/strip_blanks.py"], ["stages/__init__.py", "api/configs.py"]),
    "Add a format": (["formats/chat_log.py"], ["formats/__init__.py"]),
    "Add a target": (["formats/conversion/plain_prompt.py"], ["formats/conversion/__init__.py"]),
    "Add a report": (["reports/tsv.py"], ["reports/__init__.py"]),
    "Add an option": ([], ["config/output_options.py"]),
}
COMMAND = "python scripts/generated.py"
GUARDS = (
    # of what all options, stages, formats, targets and reports share
    "tests/api/test_typed.py::test_configs_have_every_setting_and_alias",
    "tests/api/test_typed.py::test_every_run_setting_is_a_key_of_a_config_or_an_error",
    "tests/cli/test_help.py::test_the_help_of_run_fits_two_screens",
    "tests/config/test_schema.py::test_the_schema_is_a_schema_and_is_printed",
    "tests/config/test_template.py::test_the_template_has_every_setting_and_changes_nothing",
    "tests/formats/conversion/test_tools_of_targets.py"
    "::test_schemas_of_every_provider_become_those_of_every_other",
    "tests/test_generated.py::test_groff_accepts_the_man_page",
)


def blocks(recipe: str) -> list[tuple[str, str, str]]:
    """The titled code blocks of a recipe: language, path, text."""
    section = TEXT.partition(f"\n## {recipe}\n")[2].partition("\n## ")[0]
    return BLOCK.findall(section)


def patched(text: str, hunks: str) -> str:
    """A text after a diff: new lines follow the context lines or replace the removed lines."""
    lines = text.splitlines()
    position = 0
    for line in hunks.splitlines():
        if line[0] == "+":
            lines.insert(position, line[1:])
            position += 1
        else:
            position = lines.index(line[1:]) + 1
            if line[0] == "-":
                position -= 1
                del lines[position]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_works_if_followed_literally(recipe: str, tmp_path: Path) -> None:
    caches = shutil.ignore_patterns("__pycache__", "__snapshots__")
    for folder in ("ctxtrim", "docs", "fixtures", "man", "scripts", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=caches)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    tests = []
    for language, name, text in blocks(recipe):
        path = tmp_path / name
        if language == "diff":
            text = patched(path.read_text(), text)
        else:
            assert not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        tests += [name] if path.name.startswith("test_") and language == "python" else []
    assert len(tests) == 1
    assert COMMAND in TEXT
    words = ("-n", "0", "-p", "no:cacheprovider", *tests, *GUARDS)
    names = [name for _, name, _ in blocks(recipe)]
    for command in (
        COMMAND.split()[1:],
        ["-m", "pytest", *words],
        ["-m", "ruff", "check", "--no-cache", *names],
        ["-m", "ruff", "format", "--check", "--no-cache", *names],
    ):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=ENVIRONMENT | {"PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_touches_one_module_and_the_rows_of_its_tables(recipe: str) -> None:
    modules, tables = RECIPES[recipe]
    package = [
        (language, name) for language, name, _ in blocks(recipe) if name.startswith("ctxtrim/")
    ]
    assert [name for language, name in package if language == "python"] == [
        f"ctxtrim/{name}" for name in modules
    ]
    assert [name for language, name in package if language == "diff"] == [
        f"ctxtrim/{name}" for name in tables
    ]
