"""A later compaction keeps the facts of digests (S3-10)."""

import builders
from builders import contents, conversation, says, step, user
from harness import run

from ctxtrim.conversation.turns import shape
from ctxtrim.summaries import digests, markers
from ctxtrim.summaries.facts import facts_of
from ctxtrim.summaries.sections import TOOLS

LONG = "row of the table\n" * 60


def test_s3_10_the_summary_includes_commands_files_and_errors_of_digests() -> None:
    messages = [user("Mend it.")]
    for position in range(6):
        messages += step(
            f"r{position}", f"{position} {LONG}", name="Read", file_path=f"/app/{position}.py"
        )
    messages += step("m", "make: *** [all] Error 2\nexit code 2\n" + LONG, command="make all")
    messages += [
        says("Mended."),
        user("And the docs?"),
        says("word " * 2000),
        user("now"),
        says("yes"),
    ]
    pipeline = [("cutoff", {"tool_cutoff": 0}), ("compact", {"session_tokens": 3000})]
    ran = run(conversation(messages), pipeline)
    text = contents(ran.data)[0]
    assert text.startswith(markers.TITLE)
    assert markers.STEP not in text
    assert "> Mend it." in text
    assert "- /app/3.py" in text
    assert "make all" in text
    assert "- Read × 6" in text
    assert run(ran.data or b"", pipeline).data == ran.data


def test_s3_10_the_summary_counts_the_calls_that_a_digest_only_counts() -> None:
    digest = (
        f"{markers.DIGEST}\n{digests.DID}\n25 earlier tool results: Edit × 9, Bash × 16\n\n"
        "[✓ Bash: make lamp | exit 0 | 3 lines]"
    )
    messages = builders.transcript([user(digest), *step("a", "lit", command="ls")]).messages
    found = facts_of(shape(messages), redacts=True)
    assert found.lines[TOOLS.name] == ("Bash × 17", "Edit × 9", "bash × 1")
