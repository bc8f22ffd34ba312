"""Every module runs the number of generated cases that the command line asks for."""

import pytest
from hypothesis import settings


def test_no_module_loads_a_profile_of_its_own(pytestconfig: pytest.Config) -> None:
    """It would be that of all modules that are read after it."""
    name = "exhaustive" if pytestconfig.getoption("--exhaustive") else "quick"
    assert settings.default is settings.get_profile(name)
