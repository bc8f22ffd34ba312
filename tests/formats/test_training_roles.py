"""Roles and members of data for training: Cohere, LLaMA-Factory, GLM-4, ChatGLM3, SmolTalk2."""

import json
from typing import Any

import pytest
from builders import conversation, says, user
from conftest import Run
from harness import read, unpaired

from ctxtrim.model import Transcript

CALL = json.dumps({"name": "depth", "arguments": {"buoy": "north"}})
MODEL = ("-m", "gpt-4o")


def message(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def transcript(data: bytes) -> Transcript:
    ((found,),) = [chunk.transcripts for chunk in read(data)]
    return found


@pytest.mark.parametrize(
    ("roles", "turns"),
    [
        (("System", "User", "Chatbot"), 2),
        (("system", "user", "chatbot"), 2),
    ],
)
def test_data_to_tune_models_of_cohere_counts_as_that_of_openai(
    ctxtrim: Run, roles: tuple[str, str, str], turns: int
) -> None:
    def talk(system: str, person: str, model: str) -> bytes:
        exchange = [message(person, "How deep? " * 40), message(model, "Nine metres. " * 40)]
        return conversation([message(system, "Be brief."), *exchange * turns])

    theirs, ours = talk(*roles), talk("system", "user", "assistant")
    counts = [ctxtrim("count", *MODEL, stdin=data).out for data in (theirs, ours)]
    assert counts[0] == counts[1]
    assert ctxtrim("check", "--strict", *MODEL, stdin=theirs).code == 0
    trimmed = [
        json.loads(ctxtrim("trim", *MODEL, "--budget", "300", stdin=data).out)["messages"]
        for data in (theirs, ours)
    ]
    assert [each["content"] for each in trimmed[0]] == [each["content"] for each in trimmed[1]]
    assert [each["role"] for each in trimmed[0]] == list(roles)


@pytest.mark.parametrize("call", [message("function_call", CALL), message("assistant", CALL)])
def test_an_observation_is_the_result_of_the_call_before_it(
    ctxtrim: Run, call: dict[str, Any]
) -> None:
    talk = [
        user("Sound the bay. " * 40),
        call,
        message("observation", "nine metres " * 40),
        says("Nine metres."),
        user("And the harbour?"),
    ]
    data = conversation(talk)
    found = transcript(data)
    assert [each.role for each in found.messages] == [
        "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert found.uncounted == 0
    assert not unpaired(found)
    ran = ctxtrim("trim", *MODEL, "--budget", "30", stdin=data)
    assert (ran.code, json.loads(ran.out)["messages"]) == (0, talk[-1:])


def test_a_function_call_counts_as_in_sharegpt() -> None:
    turns = [{"from": "human", "value": "How deep?"}, {"from": "function_call", "value": CALL}]
    sharegpt = transcript(json.dumps({"conversations": turns}).encode() + b"\n")
    roles = transcript(conversation([user("How deep?"), message("function_call", CALL)]))
    assert roles.messages == sharegpt.messages


def test_calls_next_to_a_text_in_sharegpt_are_reported(ctxtrim: Run) -> None:
    answer: dict[str, Any] = {"from": "gpt", "value": "I sound the bay."}
    calls = [{"id": "c1", "function": {"name": "depth", "arguments": CALL}}]
    plain, with_calls = (
        json.dumps({"conversations": [{"from": "human", "value": "How deep?"}, each]}).encode()
        for each in (answer, answer | {"tool_calls": calls})
    )
    assert ctxtrim("check", "--strict", *MODEL, stdin=plain).code == 0
    ran = ctxtrim("check", "--strict", *MODEL, stdin=with_calls)
    assert ran.code == 4
    assert b"1 message has an unknown role or form" in ran.out


def test_the_result_of_chatglm3_counts_and_its_call_is_reported(ctxtrim: Run) -> None:
    sounded = {"role": "tool", "name": "depth", "observation": "nine metres " * 400}
    talk = [user("How deep?"), sounded | {"parameters": {"buoy": "north"}}, says("Nine metres.")]
    data = conversation(talk)
    found = transcript(data)
    assert found.messages[1].parts[0].text == sounded["observation"]
    assert found.uncounted == 1
    ran = ctxtrim("truncate", *MODEL, "--max-tokens", "100", stdin=data)
    (_, result, _) = json.loads(ran.out)["messages"]
    assert len(result.pop("observation")) < 1000
    assert result == {key: value for key, value in talk[1].items() if key != "observation"}


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ({"custom_instructions": "Be brief."}, ["custom_instructions"]),
        ({"xml_tools": ["{}"], "python_tools": ["def f(): ..."]}, ["xml_tools", "python_tools"]),
        ({"enable_thinking": True, "xml_tools": [], "custom_instructions": ""}, []),
    ],
)
def test_texts_for_a_template_are_reported(
    ctxtrim: Run, arguments: dict[str, Any], reported: list[str]
) -> None:
    data = conversation([user("How deep?"), says("3 m.")], chat_template_kwargs=arguments)
    ran = ctxtrim("check", "--strict", *MODEL, stdin=data)
    assert ran.code == (4 if reported else 0)
    out = ran.out.decode()
    named = [f"`{name}` in `chat_template_kwargs` is not read; not counted" for name in reported]
    assert [text for text in named if text in out] == named
    assert out.count("chat_template_kwargs") == len(reported)
