"""The command as people run it, on bytes: in this process, which is fast, or in a process of its
own.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader, BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from byte_level import tokenizer_json
from fake_server import Server
from hypothesis import HealthCheck, Phase, settings
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension

from ctxtrim.cli.app import command_line
from ctxtrim.cli.exit_codes import exit_code_of
from ctxtrim.io.sessions import PROGRAMS

for name, number in (("quick", 10), ("exhaustive", 100)):
    settings.register_profile(
        name,
        deadline=None,
        max_examples=number,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        phases=[
            phase for phase in Phase if phase is not Phase.explain
        ],  # takes an hour for a transcript
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    text = (
        "run every generated case and the whole corpus; the default is a tenth of the cases "
        "and no corpus"
    )
    parser.addoption("--exhaustive", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("exhaustive" if config.getoption("--exhaustive") else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without `--exhaustive`, leave out the tests that are marked so."""
    if config.getoption("--exhaustive"):
        return
    slow = [item for item in items if item.get_closest_marker("exhaustive")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]


ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
AGENT_FOLDERS = {variable for program in PROGRAMS for variable, _ in program.folders}


def changes_results(name: str) -> bool:
    """Whether ctxtrim, a library that it calls or Python's streams read an environment variable.

    Such variables of the user must not reach the tests.
    """
    return (
        name.startswith(("CTXTRIM_", "OPENAI_", "GITHUB_"))
        or name.lower().endswith("_proxy")
        or name in AGENT_FOLDERS
        or name in ("PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONUTF8")
    )


NOBODY = tempfile.TemporaryDirectory()
"""Empty configuration and state folders of a user, for every started process."""
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not changes_results(name)},
    "XDG_CONFIG_HOME": f"{NOBODY.name}/config",
    "XDG_DATA_HOME": f"{NOBODY.name}/data",
    "PYTHONDONTWRITEBYTECODE": "",  # modules are compiled once, as in an installation
    "COLUMNS": "100",
    "NO_COLOR": "1",
    "TERM": "dumb",
}
COMMAND = (sys.executable, "-m", "ctxtrim")


@dataclass(frozen=True)
class Ran:
    """The result of a command: exit code, bytes on standard output, text on standard error."""

    code: int
    out: bytes
    err: str


Run = Callable[..., Ran]


def default_signals() -> None:
    """Undo in a new process that a shell ignores signals for commands in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def run_process(*words: object, stdin: bytes = b"", cwd: Path = ROOT, **environment: str) -> Ran:
    """Run `ctxtrim` with these arguments in a separate process.

    No run of any test may show a traceback.
    """
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=ENVIRONMENT | environment,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return Ran(done.returncode, done.stdout, done.stderr.decode())


def run(*words: object, stdin: bytes = b"", cwd: Path = ROOT, **environment: str) -> Ran:
    """Run `ctxtrim` with these words in this process, with streams, environment and folder of its
    own.
    """
    source = TextIOWrapper(BufferedReader(BytesIO(stdin)), encoding="utf-8")
    out, err = (
        TextIOWrapper(BytesIO(), encoding="utf-8"),
        TextIOWrapper(BytesIO(), "utf-8", "backslashreplace"),
    )
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            patch.delenv(name)
        for name, value in (ENVIRONMENT | environment).items():
            patch.setenv(name, value)
        patch.chdir(cwd)
        patch.setattr(sys, "argv", ["ctxtrim", *map(str, words)])
        for name, stream in {"stdin": source, "stdout": out, "stderr": err}.items():
            patch.setattr(sys, name, stream)
        patch.setattr(tempfile, "tempdir", None)  # it is read from the environment once
        # it closes this process's output
        patch.setattr("ctxtrim.cli.exit_codes.silence_stdout", lambda: None)
        code = exit_code_of(command_line)
    written = [_bytes_of(stream) for stream in (out, err)]
    assert b"Traceback" not in written[1], written[1].decode()
    return Ran(code, written[0], written[1].decode())


def _bytes_of(stream: TextIOWrapper) -> bytes:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, BytesIO)
    return buffer.getvalue()


@pytest.fixture(scope="session")
def ctxtrim() -> Run:
    return run


@pytest.fixture(scope="session")
def process() -> Run:
    """Like `ctxtrim`, in a separate process: for signals, descriptors, locale and start-up."""
    return run_process


class Bytes(SingleFileSnapshotExtension):
    """A snapshot is a separate file with every byte unchanged."""

    file_extension = "txt"


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Bytes)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without keys, addresses and proxies."""
    for name in [*os.environ]:
        if changes_results(name):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def tokenizer_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a small tokenizer file."""
    file = tmp_path_factory.mktemp("own") / "tokenizer.json"
    file.write_text(json.dumps(tokenizer_json()))
    return str(file)


@pytest.fixture
def server(bare: None) -> Iterator[Server]:
    server = Server()
    yield server
    server.close()
