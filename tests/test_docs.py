"""The documents agree with the code."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest
from harness import parse

from ctxtrim.api.retention import FULL_TURNS, HEAD_LINES, POINTER
from ctxtrim.config.presets import PRESETS
from ctxtrim.config.run_settings import OPTIONS, SHARED
from ctxtrim.findings import Code
from ctxtrim.formats import FORMATS
from ctxtrim.text.names import option_name

ROOT = Path(__file__).resolve().parents[1]
LIFECYCLE = (ROOT / "docs/architecture/context-management.md").read_text()
DESIGNS = (ROOT / "docs/from-the-designs.md").read_text()
FORMATS_DOCUMENT = (ROOT / "docs/formats.md").read_text()
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
DEFAULTS = parse("truncate", {}).settings
ROWS = re.findall(r"^\| `(\w+)` \| (`[^`]*`|none) \| .", LIFECYCLE, re.MULTILINE)


def in_markdown(value: object) -> str:
    """A value as the documents write it."""
    if value in ((), None):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_the_lifecycle_names_the_defaults_of_the_code(name: str) -> None:
    assert dict(ROWS)[name] == in_markdown(DEFAULTS[name])


@pytest.mark.parametrize("stage", ["trim", "compact"])
def test_the_lifecycle_names_the_defaults_of_the_stage(stage: str) -> None:
    table = LIFECYCLE.partition(f"| {stage} | default |\n")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (`[^`]*`|none) \|$", table, re.MULTILINE))
    settings = {name: in_markdown(value) for name, value in parse(stage, {}).settings.items()}
    if stage == "trim":
        rows = protection() | {"keep_small": "`0`"} | rows
    assert rows == settings


def protection() -> dict[str, str]:
    """The settings that protect a result, with their defaults in `truncate`."""
    section = LIFECYCLE.partition("## What protects a result\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (`[^`]*`|none) \| .", section, re.MULTILINE))


def test_every_setting_in_the_lifecycle_exists() -> None:
    assert len(ROWS) > 15
    assert {name for name, _ in ROWS} - DEFAULTS.keys() - PRESETS.keys() == set()


@pytest.mark.parametrize("name", ["rolling", "retention", "compact"])
def test_the_lifecycle_names_the_settings_of_the_presets(name: str) -> None:
    (row,) = re.findall(rf"^\| `{name}` \| `truncate` \| (.*) \|$", LIFECYCLE, re.MULTILINE)
    ours = {
        key: in_markdown(value).strip("`")
        for key, value in PRESETS[name].stages["truncate"].items()
    }
    assert dict(re.findall(r"`(\w+)=(\w+)`", row)) == ours


def test_the_options_that_configuration_cannot_set_are_listed() -> None:
    text = (ROOT / "docs/configuration.md").read_text().partition("\n| source |")[0]
    listed = re.findall(r"`--([a-z-]+)`", text)
    assert sorted(listed) == sorted(map(option_name, OPTIONS.keys() - SHARED.keys()))


def test_the_policy_and_the_preset_agree() -> None:
    settings = DEFAULTS | PRESETS["retention"].stages["truncate"]
    assert (settings["max_age"], settings["head_lines"], settings["pointer"]) == (
        FULL_TURNS,
        HEAD_LINES,
        POINTER,
    )


def test_the_lifecycle_names_the_formats_whose_digests_are_part_of_an_answer() -> None:
    (named,) = re.findall(r"whose roles must alternate \(([^)]*)\)", LIFECYCLE)
    alternating = [name for name in FORMATS if FORMATS[name].must_alternate]
    assert re.findall(r"`([\w-]+)`", named) == sorted(alternating)
    assert not any(FORMATS[name].visibility for name in alternating)


def test_every_test_named_in_the_designs_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", DESIGNS))
    there = {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    assert len(named) > 30
    assert named - there == set()


def test_every_row_of_the_designs_names_a_test() -> None:
    rows = [line for line in DESIGNS.splitlines() if line.startswith("| `")]
    assert len(rows) > 40
    assert [row for row in rows if "`test_" not in row] == []


def test_every_row_has_a_test_named_after_it() -> None:
    names = " ".join(
        re.findall(
            r"def (test_\w+)", "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
        )
    )
    rows = [f"s0_{number}" for number in range(1, 15)] + [f"s1_{number}" for number in range(1, 15)]
    rows += [f"s2_{number}" for number in range(1, 8)]
    rows += [f"s4_{number}" for number in range(1, 8)] + [f"s3_{number}" for number in range(1, 14)]
    assert [row for row in rows if f"test_{row}_" not in names] == []


def test_the_architecture_lists_the_layers_in_their_order() -> None:
    from test_layers import LAYERS

    layout = ARCHITECTURE.partition("\n## Layout\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", layout, re.MULTILINE) == [
        layer for layer in LAYERS if layer != "__main__"
    ]


def test_every_path_in_the_architecture_exists() -> None:
    paths = re.findall(
        r"`((?:tests|benchmarks|scripts)/[\w/.]+|[\w/]+\.py|[a-z]+/[\w/]+)`", ARCHITECTURE
    )
    assert len(paths) > 20
    assert [
        path
        for path in paths
        if not any((root / path).exists() for root in (ROOT, ROOT / "ctxtrim"))
    ] == []


def test_the_index_lists_every_document_and_links_resolve() -> None:
    index = (ROOT / "docs/README.md").read_text()
    listed = {(ROOT / "docs" / path).resolve() for path in re.findall(r"\]\(([^)#]+)\)", index)}
    assert {path for path in (ROOT / "docs").rglob("*.md") if path.name != "README.md"} <= listed
    assert "docs/README.md" in (ROOT / "README.md").read_text()
    for document in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *(ROOT / "docs").rglob("*.md"),
    ]:
        prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", prose):
            assert (document.parent / link).exists(), f"{document}: {link}"


def sections(document: Path) -> set[str]:
    """The targets of links to the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in headings}


def test_links_to_sections_resolve() -> None:
    links = 0
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
        for path, section in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", prose):
            target = document.parent / path if path else document
            assert section in sections(target), f"{document}: {path}#{section}"
            links += 1
    assert links > 50


def test_the_formats_are_in_the_order_of_their_table() -> None:
    table = FORMATS_DOCUMENT.partition("| format | layouts |\n")[2].partition("\n\n")[0]
    groups = [
        re.findall(r"\[`([\w-]+)`\]\(#\1\)", group)
        for group in re.split(r"^\| \*\*.*$", table, flags=re.MULTILINE)[1:]
    ]
    listed = [name for group in groups for name in group]
    assert all(group == sorted(group) for group in groups)
    assert listed == re.findall(r"^### (.*)$", FORMATS_DOCUMENT, re.MULTILINE)
    assert sorted(listed) == sorted(FORMATS)


def test_no_document_links_to_a_package_index() -> None:
    for document in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "benchmarks/README.md",
    ]:
        assert not re.search(r"https?://(?:www\.)?pypi", document.read_text()), document


def test_the_reports_explain_every_finding_code() -> None:
    section = (ROOT / "docs/reports.md").read_text().partition("## Finding codes\n")[2]
    rows = re.findall(r"^\| `([a-z-]+)` \| .", section.partition("\n## ")[0], re.MULTILINE)
    assert sorted(rows) == sorted(get_args(Code))


def test_every_finding_code_is_used() -> None:
    texts = {
        node.value
        for path in (ROOT / "ctxtrim").rglob("*.py")
        if path.name != "findings.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(get_args(Code)) - texts == set()
