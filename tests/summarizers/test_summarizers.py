"""Summarizers for real: commands that run, and the client of `openai` against a small server on
this machine.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import COMMAND, ENVIRONMENT
from fake_server import Answer, Server, breaks_off, completion, local, redirects, sends
from samples import line, long_chat

from ctxtrim.errors import SummaryError
from ctxtrim.summaries.summarizer import Reply
from ctxtrim.summarizers.command import Command
from ctxtrim.summarizers.endpoint import Endpoint

SECRET = "not-a-real-key-but-still-a-secret-0123456789"


def python(code: str, timeout: float = 30.0) -> Command:
    return Command(f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}", timeout)


def command_error(command: Command, prompt: str = "") -> str:
    with pytest.raises(SummaryError) as caught:
        command.summarize(prompt, 100)
    return str(caught.value)


def test_a_command_reads_the_prompt_and_writes_the_summary() -> None:
    code = (
        "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data[:10] + b' ' "
        "+ b'%d' % len(data))"
    )
    assert python(code).summarize("naïve 日 " + "x" * 300_000, 100) == Reply("naïve 日 300011")
    assert Command("cat | tr a-z A-Z").summarize("through a pipe", 100) == Reply("THROUGH A PIPE")


def test_a_command_can_ignore_its_prompt() -> None:
    assert python("print('never mind')").summarize("x" * 1_000_000, 100) == Reply("never mind")


def test_a_lone_surrogate_in_a_prompt_reaches_the_command_as_a_question_mark() -> None:
    assert Command("cat").summarize("a\ud800b", 100) == Reply("a?b")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("print('x'); raise SystemExit(3)", "--llm-command ended with status 3"),
        (
            "import sys; sys.exit('first\\nno model: password=hunter2\\n')",
            "--llm-command ended with status 1: no model: password=[REDACTED password]",
        ),
        (
            "import sys; sys.exit('first\\n' * 2000 + 'no berth is free')",
            "--llm-command ended with status 1: no berth is free",
        ),
        ("", "--llm-command wrote nothing; expected a summary on its standard output"),
        ("print(' ')", "--llm-command wrote nothing; expected a summary on its standard output"),
        (
            "import sys; sys.stdout.buffer.write(b'\\xff\\xfe')",
            "--llm-command wrote invalid UTF-8; expected a summary",
        ),
        (
            "while True: print('without an end ' * 1000)",
            "--llm-command wrote more than 1048576 bytes; expected a summary",
        ),
    ],
)
def test_a_failing_command_reports_its_reason(code: str, error: str) -> None:
    assert command_error(python(code)) == error


def test_endless_standard_error_of_a_command_is_only_a_timeout() -> None:
    code = "import sys\nwhile True: sys.stderr.write('x' * 10000)"
    assert command_error(python(code, 0.5)) == "--llm-command did not end within 0.5 s"


def test_a_missing_or_invalid_command_is_an_error() -> None:
    assert command_error(Command("no-such-command-anywhere")).startswith(
        "--llm-command ended with status 127: "
    )
    assert command_error(Command("a\0b")) == "--llm-command cannot be started: embedded null byte"


def test_a_late_command_is_killed_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "child"
    for seconds in (0.5, 2, 8, 32):  # a loaded machine may start nothing in the first
        command = Command(starts_child(file), seconds)
        assert command_error(command) == f"--llm-command did not end within {seconds} s"
        if file.exists():
            break
    assert is_soon_gone(int(file.read_text()))


def starts_child(file: Path) -> str:
    """A shell command that starts a child, writes its number into a file, and waits for it."""
    name = shlex.quote(str(file))
    return f"sleep 300 & echo $! >{name}.new; mv {name}.new {name}; wait"


def is_soon_gone(number: int) -> bool:
    """Whether a process ends within a minute."""
    deadline = time.monotonic() + 60
    while not is_gone(number) and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_gone(number)


def is_gone(number: int) -> bool:
    try:
        os.kill(number, 0)
        stat = Path(f"/proc/{number}/stat").read_text()
    except ProcessLookupError:
        return True
    except FileNotFoundError:  # it has ended since, or the system has no such files
        return Path("/proc/self").exists()
    # dead, and only not yet collected by whoever inherited it
    return stat.rpartition(")")[2].split()[0] == "Z"


def test_the_name_of_a_command_hides_its_arguments() -> None:
    assert Command("/opt/bin/llm --key hunter2").name == "llm"


def endpoint_error(endpoint: Endpoint) -> str:
    with pytest.raises(SummaryError) as caught:
        endpoint.summarize("Sum it up.", 100)
    seen: BaseException | None = caught.value
    while seen is not None:
        assert SECRET not in repr(seen)
        seen = seen.__cause__ or seen.__context__
    return str(caught.value)


@local
def test_an_endpoint_returns_a_summary_and_its_usage(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    monkeypatch.setenv("CTXTRIM_LLM_API_KEY", SECRET)
    server.answers = [
        completion(" In short. ", usage={"prompt_tokens": 12, "completion_tokens": 3})
    ]
    endpoint = Endpoint("small", server.url)
    assert endpoint.summarize("Sum it up: \ud800", 100) == Reply("In short.", 12, 3)
    headers, body = server.asked[0]
    assert headers["authorization"] == f"Bearer {SECRET}"
    assert body == {
        "path": "/v1/chat/completions",
        "model": "small",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Sum it up: ?"}],
    }
    assert SECRET not in repr(endpoint)


@local
def test_openai_gets_its_own_name_for_the_limit(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)  # in the place of its endpoint
    server.answers = [completion("In short.")]
    assert Endpoint("gpt-5-mini").summarize("Sum it up.", 100) == Reply("In short.")
    ((_, body),) = server.asked
    assert (body["max_completion_tokens"], "max_tokens" in body) == (100, False)


@local
def test_a_local_endpoint_needs_no_key(server: Server) -> None:
    server.answers = [completion("In short.")]
    assert Endpoint("small", server.url).summarize("Sum it up.", 100) == Reply("In short.")
    assert "authorization" not in server.asked[0][0]


@local
def test_an_endpoint_is_asked_again(server: Server) -> None:
    server.answers = [sends(b"{}", 500), completion("In short.")]
    assert Endpoint("small", server.url).summarize("Sum it up.", 100) == Reply("In short.")
    assert len(server.asked) == 2


@local
def test_all_attempts_have_one_deadline(server: Server) -> None:
    server.answers = [server.hangs]
    late = f"the endpoint {server.url} did not answer within 0.3 s"
    assert endpoint_error(Endpoint("small", server.url, timeout=0.3)) == late
    assert len(server.asked) <= 1  # a loaded machine may send nothing in time


@local
def test_an_endpoint_is_not_asked_again_after_the_deadline(server: Server) -> None:
    server.answers = [sends(b"{}", 503, {"Retry-After": "60"})]
    assert "answered HTTP 503" in endpoint_error(Endpoint("small", server.url, timeout=50))
    assert len(server.asked) == 1


@local
@pytest.mark.parametrize(
    ("status", "answer"),
    [(400, sends(b"{}", 400)), (429, sends(b"{}", 429, headers={"Retry-After": "3600"}))],
)
def test_an_endpoint_is_not_asked_again_if_that_is_in_vain(
    server: Server, status: int, answer: Answer
) -> None:
    server.answers = [answer, completion("In short.")]
    message = endpoint_error(Endpoint("small", server.url))
    assert message.startswith(f"the endpoint {server.url} answered HTTP {status}: ")
    assert len(server.asked) == 1


@local
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (
            sends(b"<html>It works!</html>"),
            "the endpoint {} returned an answer that is not a chat completion",
        ),
        (sends(b"[1, 2]"), "the endpoint {} returned an answer that is not a chat completion"),
        (
            sends(b'{"choices": []}'),
            "the endpoint {} returned an answer that is not a chat completion",
        ),
        (sends(b"\xff" * 99), "the endpoint {} returned an answer that is not a chat completion"),
        (sends(b"[" * 99999), "the endpoint {} returned an answer that is not a chat completion"),
        (completion(None), "the endpoint {} returned an answer without text"),
        (completion(" "), "the endpoint {} returned an answer without text"),
        (completion(["In", "short"]), "the endpoint {} returned an answer without text"),
        (completion("In", "length"), "the endpoint {} cut the summary at 100 tokens"),
        (completion(None, "length"), "the endpoint {} cut the summary at 100 tokens"),
        (breaks_off, "the endpoint {} broke off its answer"),
        (sends(b"{}", 500), "the endpoint {} answered HTTP 500: "),
        (
            sends(json.dumps({"error": {"message": f"no model for {SECRET}\n"}}).encode(), 404),
            "the endpoint {} answered HTTP 404: ",
        ),
        (
            sends(json.dumps({"error": {"message": f"wrong key: {SECRET}"}}).encode(), 401),
            "the endpoint {} refuses the key (HTTP 401); see CTXTRIM_LLM_API_KEY",
        ),
    ],
)
def test_an_invalid_answer_of_an_endpoint_is_an_error(
    server: Server, monkeypatch: pytest.MonkeyPatch, answer: Answer, error: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    server.answers = [answer]
    message = endpoint_error(Endpoint("small", server.url, retries=0))
    assert message.startswith(error.format(server.url))
    assert len(message) < 400
    assert "\n" not in message


@local
def test_a_slow_or_endless_endpoint_is_an_error(server: Server) -> None:
    late = f"the endpoint {server.url} did not answer within 0.3 s"
    for answer in (server.hangs, server.drips):
        server.answers = [answer]
        assert endpoint_error(Endpoint("small", server.url, timeout=0.3, retries=0)) == late
    server.answers = [server.floods]
    flood = f"the endpoint {server.url} sent more than 1,048,576 bytes"
    assert endpoint_error(Endpoint("small", server.url, timeout=30, retries=0)) == flood


@local
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/v1", "nonsense", "http://[bad", "ftp://127.0.0.1/"]
)
def test_an_invalid_endpoint_is_an_error(server: Server, url: str) -> None:
    assert endpoint_error(Endpoint("small", url, retries=0)).startswith(
        f"the endpoint {url} cannot be "
    )


@local
def test_the_address_is_shown_without_a_login(server: Server) -> None:
    url = "http://me:hunter2@127.0.0.1:1/v1?key=hunter2"
    message = endpoint_error(Endpoint("small", url, retries=0))
    assert "hunter2" not in message
    assert message.startswith("the endpoint http://127.0.0.1:1/v1 cannot be reached")


@local
def test_a_redirect_to_another_origin_is_refused_and_nothing_is_sent_there(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    other = Server()
    other.answers = [completion("stolen")]
    server.answers = [redirects(f"{other.url}/chat/completions")]
    try:
        message = endpoint_error(Endpoint("small", server.url, retries=0))
    finally:
        other.close()
    assert message.startswith(
        f"the endpoint {server.url} redirects to another origin (HTTP 307), which is refused"
    )
    assert other.asked == []


@local
def test_a_redirect_within_the_origin_is_followed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    server.answers = [redirects("/v2/chat/completions"), completion("In short.")]
    assert Endpoint("small", server.url).summarize("Sum it up.", 100) == Reply("In short.")
    assert [body["path"] for _, body in server.asked] == [
        "/v1/chat/completions",
        "/v2/chat/completions",
    ]
    server.asked.clear()
    server.answers = [redirects("/v1/chat/completions")]
    assert "redirects" in endpoint_error(Endpoint("small", server.url, retries=0))  # in a circle


@pytest.mark.parametrize(
    "url", ["http://192.0.2.1/v1", "http://models.example/v1", "http://localhost.example:80/v1"]
)
def test_the_key_is_not_sent_unencrypted_to_another_machine(
    bare: None, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert endpoint_error(Endpoint("small", url, retries=0)) == (
        f"the endpoint {url} would get the key unencrypted; use https:// or unset the key"
    )


@local
@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_requests_to_this_machine_use_no_proxy(
    server: Server, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)  # as if it were not there
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", f"{scheme}://127.0.0.1:1")
    server.answers = [completion("In short.")]
    assert Endpoint("small", server.url).summarize("Sum it up.", 100) == Reply("In short.")


def test_a_proxy_that_needs_a_package_is_an_error(
    bare: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)  # as if it were not there
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    error = endpoint_error(Endpoint("small", "https://models.example/v1"))
    assert error.startswith("the request to the endpoint https://models.example/v1 failed: ")
    assert "socks" in error


def test_without_a_key_openai_is_not_called(bare: None) -> None:
    assert endpoint_error(Endpoint("gpt-5-mini")) == (
        "no key; set CTXTRIM_LLM_API_KEY or OPENAI_API_KEY, or name a local endpoint"
    )


def test_without_the_package_the_error_names_the_extra(
    bare: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    assert (
        endpoint_error(Endpoint("small", "http://127.0.0.1:1/v1"))
        == "--llm-model needs the openai package; pip install 'ctxtrim[llm]'"
    )


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_and_its_children_end_with_the_program(
    tmp_path: Path, sent: signal.Signals
) -> None:
    file = tmp_path / "child"
    (tmp_path / "a.jsonl").write_bytes(line(long_chat()))
    words = ("summarize", "--keep-recent-turns", "1", "--llm-command", starts_child(file))
    process = subprocess.Popen(
        [*COMMAND, *words, tmp_path / "a.jsonl"], stdout=subprocess.PIPE, env=ENVIRONMENT
    )
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(sent)
    process.communicate()
    assert is_soon_gone(int(file.read_text()))
