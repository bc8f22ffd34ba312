"""The notices that the package contains: the source and the licence of all adopted data."""

import json
import re
import tomllib

from conftest import ROOT

PACKAGE = ROOT / "ctxtrim"
NOTICE = (PACKAGE / "NOTICE").read_text()
LICENSED = re.compile(r"([\w.-]+)(?: [\d.]+)?(?:'s model list)? \(MIT\)")


def test_the_wheel_contains_the_licence_and_every_notice() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    notices = {str(path.relative_to(ROOT)) for path in PACKAGE.rglob("NOTICE")}
    assert set(project["license-files"]) == {"LICENSE", *notices}


def test_the_notice_names_the_sources_of_the_registry() -> None:
    sources = json.loads((PACKAGE / "tokens" / "registry.json").read_text())["sources"].values()
    names = {name for source in sources for name in LICENSED.findall(source["text"])}
    assert names == {"litellm", "models.dev", "genai-prices"}
    for name in names:
        assert re.search(
            rf"^{re.escape(name)} \(https://.*\n.*\n  Copyright ", NOTICE, re.MULTILINE
        )


def test_the_notice_names_the_source_of_the_key_formats() -> None:
    assert re.search(
        r"^gitleaks \(https://.*\n.*/key_formats\.py\n  Copyright ", NOTICE, re.MULTILINE
    )


def test_the_notice_of_the_vocabularies_names_every_file() -> None:
    folder = PACKAGE / "tokenizers" / "vocabularies"
    text = (folder / "NOTICE").read_text()
    assert all(path.name in text for path in folder.glob("*.tiktoken"))
    assert "Copyright (c)" in text and "MIT License" in text
