"""Text that looks like a key is masked; text that only looks random is not."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.summaries.redaction import redacted


def noise(length: int, letters: str = string.ascii_letters + string.digits, seed: int = 7) -> str:
    """Characters that look random, with a digit and letters of both cases first; never a real
    key.
    """
    return "a1B" + "".join(random.Random(seed).choices(letters, k=length - 3))


KEYS = {
    "sk-proj-" + noise(48): "api key",
    "sk-ant-api03-" + noise(60): "api key",
    "sk_live_" + noise(24): "api key",
    "AIza" + noise(35): "api key",
    "gh" + "p_" + noise(36): "access token",
    "github_pat_" + noise(60): "access token",
    "glpat-" + noise(20): "access token",
    "xox" + "b-" + noise(30): "access token",
    "hf_" + noise(34): "access token",
    "AKIA" + noise(16, string.ascii_uppercase + string.digits).upper(): "access key",
    f"eyJ{noise(20)}.eyJ{noise(40)}.{noise(43)}": "token",
}


@pytest.mark.parametrize(("key", "kind"), KEYS.items(), ids=[key[:8] for key in KEYS])
@pytest.mark.parametrize(
    "frame", ["{}", "use {} for it", "'{}'", "KEY={}\n", "(see {})", '{{"a": "{}"}}']
)
def test_keys_are_masked_at_any_position(key: str, kind: str, frame: str) -> None:
    assert redacted(frame.format(key)) == frame.format(f"[REDACTED {kind}]")


def test_a_key_that_is_longer_than_its_format_is_masked_as_a_whole() -> None:
    key = "glptt-" + noise(40, "abcdef0123456789").lower()
    assert redacted(f"use {key}7fx for it") == "use [REDACTED access token] for it"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password=hunter2", "password=[REDACTED password]"),
        ("DB_PASSWORD=correcthorse rest", "DB_PASSWORD=[REDACTED password] rest"),
        ('{"password": "open-sesame"}', '{"password": "[REDACTED password]"}'),
        ('"{\\"passwd\\": \\"s3cret!\\"}"', '"{\\"passwd\\": \\"[REDACTED password]\\"}"'),
        ("api_key: 8f14e45fceea167a5a36dedd4bea2543", "api_key: [REDACTED key]"),
        ("apiKey = 'a1b2c3d4e5f6g7h8'", "apiKey = '[REDACTED key]'"),
        ("X-Auth-Token: a1b2c3d4e5f6g7h8", "X-Auth-Token: [REDACTED key]"),
        ("aws_secret_access_key=wJalrXUtnFEMI/K7MDENG+b", "aws_secret_access_key=[REDACTED key]"),
        ("Authorization: Bearer abcdef1234567890abcdef", "Authorization: Bearer [REDACTED token]"),
        ("postgres://admin:pa55word@db:5432/x", "postgres://admin:[REDACTED password]@db:5432/x"),
        ("Cookie: basket=a1b2c3d4e5f6g7h8", "Cookie: basket=[REDACTED cookie]"),
        ("mysql -pcorrect -phorse", "mysql -p[REDACTED password] -p[REDACTED password]"),
        (
            f"curl -H 'X-Note: {'tide ' * 100}' -u ann:correcthorse",
            f"curl -H 'X-Note: {'tide ' * 100}' -u ann:[REDACTED password]",
        ),
    ],
)
def test_values_of_secret_names_are_masked(text: str, masked: str) -> None:
    assert redacted(text) == masked


def test_a_private_key_is_masked_as_a_whole_even_without_its_end() -> None:
    body = "\n".join(noise(64, seed=number) for number in range(12))
    whole = f"before\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\nafter"
    assert redacted(whole) == "before\n[REDACTED private key]\nafter"
    escaped = whole.replace("\n", "\\n")
    assert redacted(escaped) == "before\\n[REDACTED private key]\\nafter"
    comment = whole.replace("\n", "\n * ")
    assert redacted(comment) == "before\n * [REDACTED private key]\n * after"
    cut = f"-----BEGIN PRIVATE KEY-----\n{body}\nThat was all."
    assert redacted(cut) == "[REDACTED private key]\nThat was all."


@pytest.mark.parametrize(
    "text",
    [
        "the request 550e8400-e29b-41d4-a716-446655440000 failed",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 (HEAD -> main)",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  empty.txt",
        "max_tokens: 4096, total_tokens=128000",
        "def login(user: str, password: str) -> Token:",
        "password = getpass()",
        "api_key=os.environ['KEY']",
        "password: required",
        "token = self.tokens[index]",
        "PWD=/home/me/project1",
        "the primary key: user_id_2_and_more",
        "class=sk-loading-indicator-container",
        "-----BEGIN CERTIFICATE-----",
        "https://example.com:8080/a@b",
        "bearer of bad news arrived yesterday",
        "https://$TOKEN@github.com/acme/app.git",
        "https://robot:${TOKEN}@github.com/acme/app.git",
        "postgres://user:<password>@db/app",
        "docker://alpine:3.18@sha256:e3b0c44298fc1c149afbf4c8996fb924",
        "http://localhost:8080/packages/@acme/app",
        "git clone git@github.com:acme/app.git",
        "Authorization: Bearer $TOKEN",
        "Authorization: token <your-token>",
        'headers["Authorization"] = f"Bearer {token2_of_the_user}"',
        "authorization = base64.decodebytes(header)",
        "Basic authentication is required here",
        "Cookie: theme=dark; lang=en",
        "document.cookie = `session=${session}`",
        '"auth": "required"',
        "a login form with a password field",
        "docker run -u 1000:1000 image",
        "ls -pa && mkdir -p a/b",
        "gcc -lmysqlclient -pthread a.c",
        "the --password option sets it",
        "--username and --password options",
        "tool --password PASSWORD --token TOKEN",
        "--max-tokens 4096 --token-limit 100",
        "password = '${DB_PASSWORD}'",
        "password: 'Enter your password'",
        "TOKEN=xxxxxxxxxxxxxxxxxxxx",
        "token = parse_token(header)",
        'token = "some words of prose"',
        'token: "use 3 tokens of the pool"',
        "tool --token=$TOKEN_2 --secret=<your-secret-1>",
        "tool --token=$(cat token1.txt)",
        "const apiKey = process.env.API_KEY_2;",
        "tokenizer: o200k_base_2024",
        "import secrets; secrets.token_hex(16)",
        '"sessionId": "550e8400-e29b-41d4-a716-446655440000"',
        "hooks.slack.com/services/T00000000/B00000000/XXXXXXXX",
        "if text.startswith('-----BEGIN PRIVATE KEY-----'):",
        "passed: 12, pass: true",
        "token: https://vault.example/v1/tide",
        f'password: "{"tall ships sail past green buoys " * 4}"',
    ],
)
def test_texts_without_a_secret_are_kept(text: str) -> None:
    assert redacted(text) == text


def test_a_private_key_without_a_beginning_is_masked() -> None:
    body = "\n".join(noise(64, seed=number) for number in range(12))
    rest = f"tail -n 14 key.pem\n{body}\n{noise(20)}==\n-----END RSA PRIVATE KEY-----\nafter"
    assert redacted(rest) == "tail -n 14 key.pem\n[REDACTED private key]\nafter"
    escaped = rest.replace("\n", "\\n")
    assert redacted(escaped) == "tail -n 14 key.pem\\n[REDACTED private key]\\nafter"
    last_line = f"$ tail -n 2 key.pem\n{noise(44)}\n-----END PRIVATE KEY-----"
    assert redacted(last_line) == "$ tail -n 2 key.pem\n[REDACTED private key]"
    in_a_line = f"...{noise(30)}\n{body}\n-----END PRIVATE KEY-----"
    assert redacted(in_a_line) == "...[REDACTED private key]"
    mention = "It ends with\n-----END PRIVATE KEY-----"
    assert redacted(mention) == mention


def test_a_private_key_without_an_end_is_masked_up_to_its_last_line() -> None:
    lines = [noise(64, seed=number) for number in range(6)]
    numbered = "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 2))
    cut = f"     1→-----BEGIN PRIVATE KEY-----\n{numbered}\n     8→{noise(20)}"
    assert redacted(cut) == "     1→[REDACTED private key]"
    encrypted = (
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
        f"AES-128-CBC,A1\n\n{lines[0]}"
    )
    assert redacted(encrypted) == "[REDACTED private key]"
    putty = f"Private-Lines: 2\n{lines[0]}\n{lines[1]}\nPrivate-MAC: 1"
    assert redacted(putty) == "[REDACTED private key]\nPrivate-MAC: 1"


PIECES = (
    "password=", "--password ", "token: ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE "
"KEY-----", "Bearer ", "@",
    "://", ":", "Cookie: ", "a=", "; ", "Authorization: ", "token ", "curl -u a:", "mysql -p",
    "sshpass "
"-p ", "'", '"',
    "\\", "&sig=", "hooks.slack.com/services/",
    "machine a login b password ", "auth: ", noise(24), noise(64), "\n", "=",
)  # fmt: skip


@given(
    st.lists(st.one_of(st.text(max_size=20), st.sampled_from([*KEYS, *PIECES]))),
    st.sampled_from(["", " "]),
)
def test_masking_again_changes_nothing(pieces: list[str], between: str) -> None:
    once = redacted(between.join(pieces))
    assert redacted(once) == once
    if between:
        assert not any(key in once for key in KEYS)
