"""Files with instructions to the agent, as clients send them in plain message lists."""

import json

import pytest
from builders import says, user
from harness import read, run

from ctxtrim.conversation.tasks import current_task, opening_task
from ctxtrim.evidence.agent_instructions import is_instructions
from ctxtrim.model import Message

RULES = "Run the linter before each commit.\nNever touch the generated files."
CARRIERS = [
    f"# AGENTS.md instructions for /srv/shop\n\n<INSTRUCTIONS>\n{RULES}\n</INSTRUCTIONS>",
    f"# AGENTS.md\n\n{RULES}",
    f"# ./docs/CLAUDE.md\n{RULES}",
    f"<user_instructions>\n{RULES}\n</user_instructions>\n\n<environment_context>\n/srv\n</environment_context>",
    "<system-reminder>\nUse this context:\n# claudeMd\nContents of /srv/CLAUDE.md "
    "(project instructions):\n"
    f"{RULES}\n</system-reminder>",
    f"Contents of /srv/shop/CLAUDE.md (project instructions):\n\n{RULES}",
    f"Instructions from: /srv/shop/AGENTS.md\n{RULES}",
    f"--- Context from: src/GEMINI.md ---\n{RULES}",
]
TYPED = [
    "Please write an AGENTS.md for this project.",
    "# How to read AGENTS.md\nis what I want to know",
    "I moved the CLAUDE.md files.\n# AGENTS.md",
    "<system-reminder>The list of tasks is empty.</system-reminder>\nGo on.",
    f"<user_instructions>\n{RULES}\n</user_instructions>\nNow fix the login form.",
]


def openai(*texts: str) -> bytes:
    return json.dumps(
        {"messages": [user(texts[0]), user("fix the login form"), says("done"), user("and now?")]}
    ).encode()


def anthropic(text: str) -> bytes:
    blocks = [{"type": "text", "text": text}]
    talk = [
        {"role": "user", "content": blocks},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}],
        },
        {"role": "user", "content": [{"type": "text", "text": "fix the login form"}]},
    ]
    return json.dumps({"system": "You help.", "messages": talk}).encode()


def messages(data: bytes) -> list[Message]:
    return [
        message
        for chunk in read(data)
        for transcript in chunk.transcripts
        for message in transcript.messages
    ]


@pytest.mark.parametrize("text", CARRIERS)
@pytest.mark.parametrize("spell", [openai, anthropic])
def test_s1_4_a_message_with_an_instructions_file_is_not_a_task(text: str, spell: object) -> None:
    parsed_messages = messages(openai(text) if spell is openai else anthropic(text))
    position = next(
        position for position, message in enumerate(parsed_messages) if message.role == "user"
    )
    assert is_instructions(parsed_messages[position])
    opening = opening_task(parsed_messages)
    assert opening is not None
    assert parsed_messages[opening].parts[0].text == "fix the login form"


@pytest.mark.parametrize("text", TYPED)
def test_text_of_a_person_about_an_instructions_file_is_the_task(text: str) -> None:
    assert opening_task(messages(openai(text))) == 0
    assert current_task(messages(json.dumps({"messages": [user(text)]}).encode())) == 0


def test_a_block_next_to_the_prompt_holds_instructions() -> None:
    blocks = [{"type": "text", "text": CARRIERS[0]}, {"type": "text", "text": "fix the login form"}]
    (message, _) = messages(
        json.dumps({"messages": [{"role": "user", "content": blocks}, says("done")]}).encode()
    )
    assert is_instructions(message)
    assert not message.is_injected


@pytest.mark.parametrize("text", CARRIERS)
def test_s1_4_instructions_are_dropped_after_old_chat(text: str) -> None:
    old = [
        message
        for number in range(20)
        for message in (user(f"question {number} " * 20), says(f"answer {number} " * 20))
    ]
    data = json.dumps({"messages": [user(text), *old, user("and now?")]}).encode()
    done = run(data, [("trim", {})], limit=300).data
    assert done is not None
    assert json.loads(done)["messages"][0]["content"] == text
