"""A summary that only the provider can read stays, because no other summary can contain it."""

import json
from typing import Any

import pytest
from conftest import Run

SEALED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAABo" + "Qk9z" * 1200}
LATER = SEALED | {"id": "cmp_2"}
NOT_MERGED = "no other summary can contain it"


def turn(number: int) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": f"Mend gate {number}, which creaks. " * 20},
        {"role": "assistant", "content": f"Gate {number} is mended. " * 20},
    ]


LAST = {"role": "user", "content": "Thanks. Which gates are left?"}
TURNS = [message for number in range(6) for message in turn(number)]


def request(*items: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"model": "gpt-5.1", "input": items} | more).encode()


def items_of(data: bytes) -> list[Any]:
    items = json.loads(data)["input"]
    assert isinstance(items, list)
    return items


def texts(data: bytes) -> str:
    return json.dumps(items_of(data))


@pytest.mark.parametrize(
    "command",
    [
        ("summarize", "--keep-recent-turns", "1"),
        ("run", "-s", "compact", "-b", "2000"),
        ("trim", "--summarize", "-b", "1200"),
    ],
)
def test_a_new_summary_follows_one_that_only_the_provider_can_read(
    ctxtrim: Run, command: tuple[str, ...]
) -> None:
    ran = ctxtrim(*command, stdin=request(SEALED, *TURNS, LAST))
    first, second, *rest = items_of(ran.out)
    assert (ran.code, first, rest[-1]) == (0, SEALED, LAST)
    assert "summary" in second["content"][0]["text"].partition("\n")[0].lower()
    assert NOT_MERGED not in ran.err


def test_the_new_summary_follows_the_last_of_several(ctxtrim: Run) -> None:
    """Messages that the provider kept stand before its summary."""
    data = request(*turn(7), SEALED, *TURNS[:2], LATER, *TURNS[2:], LAST)
    ran = ctxtrim("summarize", "--keep-recent-turns", "1", stdin=data)
    first, second, summary, last = items_of(ran.out)
    assert [first, second, last] == [SEALED, LATER, LAST]
    assert summary["content"][0]["text"].startswith("[Summary of 14 earlier messages]")
    assert "gate 7" in texts(ran.out)


def test_the_report_does_not_call_it_merged(ctxtrim: Run) -> None:
    data = request(SEALED, *TURNS, LAST)
    ran = ctxtrim("summarize", "--keep-recent-turns", "1", "--json", "--dry-run", stdin=data)
    (row,) = json.loads(ran.out)["transcripts"]
    changes = row["steps"][0]["changes"]
    assert "merged" not in {change["action"] for change in changes}
    assert 0 not in [change["message"] for change in changes]  # the report names edits only


def test_a_summary_that_has_to_go_is_dropped_with_a_warning(ctxtrim: Run) -> None:
    data = request(SEALED, *TURNS, LAST)
    options = "trim", "--summarize", "-b", "200"
    ran = ctxtrim(*options, stdin=data)
    assert (ran.code, items_of(ran.out)[-1]) == (0, LAST)
    assert SEALED not in items_of(ran.out)
    assert "Summary of 12 earlier messages" in texts(ran.out)
    assert (
        f"warning: message 0: an encrypted summary was dropped for lack of room; {NOT_MERGED}"
        in (ran.err)
    )
    (row,) = json.loads(ctxtrim(*options, "--json", "--dry-run", stdin=data).out)["transcripts"]
    change = row["steps"][0]["changes"][0]
    assert change["message"] == 0
    assert change["action"] == "dropped"


def test_a_stored_summary_is_restored_after_it(ctxtrim: Run, tmp_path: Any) -> None:
    store = ("--summary-store", str(tmp_path / "store"))
    ctxtrim(
        "summarize", "--keep-recent-turns", "1", *store,
        stdin=request(SEALED, *TURNS, LAST, id="gates"),
    )  # fmt: skip
    later = request(SEALED, *TURNS[-2:], LAST, id="gates")
    first, summary, *rest = items_of(ctxtrim("trim", *store, stdin=later).out)
    assert [first, *rest] == [SEALED, *TURNS[-2:], LAST]
    assert summary["content"][0]["text"].startswith("[Summary of 12 earlier messages]")


def test_a_compaction_of_codex_stays(ctxtrim: Run) -> None:
    meta = {"type": "session_meta", "payload": {"id": "s1", "cwd": "/quay"}}
    messages = [
        {
            "type": "message",
            "role": each["role"],
            "content": [
                {
                    "type": "output_text" if each["role"] == "assistant" else "input_text",
                    "text": each["content"],
                }
            ],
        }
        for each in (*TURNS, LAST)
    ]
    lines = [meta, *({"type": "response_item", "payload": each} for each in (SEALED, *messages))]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    ran = ctxtrim("summarize", "--keep-recent-turns", "1", stdin=data)
    payloads = [json.loads(line)["payload"] for line in ran.out.splitlines()]
    assert (payloads[1], payloads[-1]) == (SEALED, messages[-1])
    assert payloads[2]["content"][0]["text"].startswith("[Summary of 12 earlier messages]")
