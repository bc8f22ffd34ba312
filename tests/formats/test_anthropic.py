"""Anthropic Messages: parsed content, the bytes of edits, and elements with several messages."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from msgspec.structs import replace
from pictures import PICTURE

from ctxtrim.conversation.tasks import current_task
from ctxtrim.conversation.turns import shape
from ctxtrim.formats import FORMATS
from ctxtrim.formats.self_check import check
from ctxtrim.formats.writing import rewrite
from ctxtrim.model import Media, Message, Part, Transcript

Value = dict[str, Any]


def user(content: Any) -> Value:
    return {"role": "user", "content": content}


def says(*blocks: Any) -> Value:
    return {
        "role": "assistant",
        "content": [text(block) if isinstance(block, str) else block for block in blocks],
    }


def text(words: str) -> Value:
    return {"type": "text", "text": words}


def tool_use(of: str, **arguments: Any) -> Value:
    return {"type": "tool_use", "id": of, "name": "bash", "input": arguments}


def result(of: str, content: Any = "out", **more: Any) -> Value:
    return {"type": "tool_result", "tool_use_id": of, "content": content} | more


def line(*elements: Value, **around: Any) -> bytes:
    return json.dumps(around | {"messages": elements}).encode() + b"\n"


def transcript(data: bytes) -> Transcript:
    return read(data)[0].transcripts[0]


def role_texts(transcript: Transcript) -> list[tuple[str, list[str]]]:
    return [
        (message.role, [part.text for part in message.parts]) for message in transcript.messages
    ]


def written(data: bytes, edit: Callable[[tuple[Message, ...]], Sequence[Message]]) -> bytes:
    """The file with its only transcript as it is meant, which it reads back as."""
    chunk = read(data)[0]
    transcript = chunk.transcripts[0]
    meant = replace(transcript, messages=tuple(edit(transcript.messages)))
    out = rewrite(FORMATS["anthropic"], chunk.lines, [meant]).pieces
    check(FORMATS["anthropic"], chunk.lines, out, [meant])
    return b"".join(out)


def elements(data: bytes) -> list[Any]:
    return json.loads(data)["messages"]


TALK = (
    user("list both"),
    says("Listing.", tool_use("a", command="ls"), tool_use("b")),
    user([result("a"), result("b", "two")]),
)


def test_each_result_and_the_text_next_to_them_is_a_message() -> None:
    talk = (
        *TALK[:2],
        user([*TALK[2]["content"], text("and now"), {"type": "image", "source": {}}, text("this")]),
    )
    parsed = transcript(line(*talk, system="Be brief."))
    assert role_texts(parsed) == [
        ("system", ["Be brief."]),
        ("user", ["list both"]),
        ("assistant", ["Listing.", '{"command":"ls"}', "{}"]),
        ("tool", ["out"]),
        ("tool", ["two"]),
        ("user", ["and now", "", "this"]),
    ]
    assert [part.media for part in parsed.messages[-1].parts] == [None, Media("image"), None]
    assert shape(parsed.messages).unanswered == ()


@pytest.mark.parametrize(
    ("element", "kinds", "texts"),
    [
        (user("x"), ["text"], ["x"]),
        (user([text("x"), text("y")]), ["text", "text"], ["x", "y"]),
        (user([]), [], []),
        (
            user([{"type": "document", "source": {"type": "base64", "data": "JVBERi0"}}]),
            ["attachment"],
            [""],
        ),
        (
            user([tool_use("a")]),
            ["text"],
            ['{"type":"tool_use","id":"a","name":"bash","input":{}}'],
        ),
        (says({"type": "thinking", "thinking": "hm", "signature": "c2ln"}), ["reasoning"], ["hm"]),
        (says({"type": "redacted_thinking", "data": "b3Bh"}), ["reasoning"], [""]),
        (says(tool_use("a", x=[1])), ["tool_call"], ['{"x":[1]}']),
        (
            says({"type": "server_tool_use", "id": "s"}),
            ["text"],
            ['{"type":"server_tool_use","id":"s"}'],
        ),
        (
            says({"type": "compaction", "content": None}),
            ["text"],
            ['{"type":"compaction","content":null}'],
        ),
        (
            user([result("a", [text("x"), {"type": "image", "source": {}}])]),
            ["tool_result", "attachment"],
            ["x", ""],
        ),
        (
            user([result("a", [{"type": "image", "source": {}}])]),
            ["tool_result", "attachment"],
            ["", ""],
        ),
        (user([{"type": "tool_result", "tool_use_id": "a"}]), ["tool_result"], [""]),
        ({"role": "system", "content": "from now on"}, ["text"], ["from now on"]),
        ({"role": "assistant", "content": "x"}, ["text"], ["x"]),
        ({"role": "assistant", "content": None}, [], []),
    ],
)
def test_every_shape_of_content_is_read(element: Value, kinds: list[str], texts: list[str]) -> None:
    message = transcript(line(user("first"), element, system="s")).messages[2]
    assert [part.kind for part in message.parts] == kinds
    assert [part.text for part in message.parts] == texts


def test_server_tools_stay_in_the_assistant_message() -> None:
    search = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    parsed = transcript(
        line(user("x"), says({"type": "server_tool_use", "id": "s"}, search, "Found."))
    )
    assert [message.role for message in parsed.messages] == ["user", "assistant"]
    assert not list(parsed.messages[1].calls)


@pytest.mark.parametrize(
    ("block", "links"),
    [
        ({"type": "server_tool_use", "id": "s"}, [("use", "s")]),
        ({"type": "mcp_tool_use", "id": "m"}, [("use", "m")]),
        ({"type": "mcp_tool_result", "tool_use_id": "m", "content": []}, [("result", "m")]),
        ({"type": "advisor_tool_result", "tool_use_id": "s"}, [("result", "s")]),
        (tool_use("a"), []),
        (tool_use("a") | {"caller": {"type": "direct"}}, []),
        (tool_use("a") | {"caller": {"tool_id": "s"}}, [("call", "s")]),
        (
            {"type": "server_tool_use", "id": "t", "caller": {"tool_id": "s"}},
            [("call", "s"), ("use", "t")],
        ),
        ({"type": "server_tool_use", "id": 1, "caller": "s"}, []),
        ({"type": ["mcp_tool_use"], "id": "m"}, []),
        ("text", []),
    ],
)
def test_blocks_of_server_tools_name_their_use(block: Any, links: list[tuple[str, str]]) -> None:
    (part,) = transcript(line(user("x"), says(block), system="s")).messages[2].parts
    assert list(part.server) == links


def test_a_fetched_pdf_is_a_document(ctxtrim: Run) -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x" * 4000}
    document = {"type": "document", "source": source}
    fetched = {"type": "web_fetch_result", "url": "https://bay.example", "content": document}
    use = {"type": "server_tool_use", "id": "s1", "name": "web_fetch", "input": {}}
    answer = {"type": "web_fetch_tool_result", "tool_use_id": "s1", "content": fetched}
    data = line(user("Read it."), says(use, answer, "Read."), user("And?"), model="claude-opus-4-6")
    part = transcript(data).messages[1].parts[1]
    assert (part.kind, part.media and part.media.kind) == ("attachment", "pdf")
    assert [link.kind for link in part.server] == ["result"]
    assert run(data).rows[0].count.exactness == "estimated"
    ran = ctxtrim("run", "-s", "drop-images:max-age=0", stdin=data)
    assert (ran.code, ran.out) == (0, data)
    converted = json.loads(ctxtrim("convert", "--to", "anthropic", stdin=data).out)
    assert converted["messages"][1]["content"][:2] == [use, answer]


def test_images_in_a_document_are_images(ctxtrim: Run) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    image = {"type": "image", "source": source}
    content = [text("The pier."), image, image]
    document = {"type": "document", "source": {"type": "content", "content": content}}
    talk = [user([document]), says(tool_use("a")), user([result("a", [document])])]
    data = line(*talk, model="claude-opus-4-6")
    for message in (transcript(data).messages[0], transcript(data).messages[2]):
        assert [part.media and part.media.pixels for part in message.parts] == [
            None, (1024, 768), (1024, 768),
        ]  # fmt: skip
        assert PICTURE not in message.parts[0].text and "The pier." in message.parts[0].text
    ran = ctxtrim("run", "-s", "drop-images:max-age=0", stdin=data)
    assert (ran.code, ran.out) == (0, data) and "3 old images or documents are kept" in ran.err
    same = json.loads(ctxtrim("convert", "--to", "anthropic", stdin=data).out)
    assert same["messages"] == talk
    other = json.loads(ctxtrim("convert", "--to", "gemini", stdin=data).out)
    assert len([part for part in other["contents"][0]["parts"] if "inlineData" in part]) == 2


def test_a_signature_is_not_counted() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    short, long = (
        line(user("x"), says(thought | {"signature": "c2ln" * many}, "y")) for many in (1, 1000)
    )
    assert run(short).rows[0].count == run(long).rows[0].count


def test_the_error_flag_of_a_block_marks_an_error() -> None:
    parsed = transcript(line(*TALK[:2], user([result("a", is_error=True), result("b")])))
    assert [message.result.is_error for message in parsed.messages if message.result] == [
        True,
        None,
    ]


@pytest.mark.parametrize("key", ["system", "system_prompt"])  # the second: Cline
@pytest.mark.parametrize("system", ["Be brief.", [text("Be "), text("brief.")]])
def test_the_system_prompt_is_the_first_message_and_is_never_dropped(key: str, system: Any) -> None:
    around = {"model": "claude-opus-4-6", key: system}
    data = line(user("old " * 200), says("so"), user("now"), **around)
    parsed = transcript(data)
    assert parsed.messages[0].role == "system"
    assert "".join(part.text for part in parsed.messages[0].parts) == "Be brief."
    left = json.loads(run(data, [("trim", {})], limit=30).data or b"")
    assert left == around | {"messages": [user("now")]}


@pytest.mark.parametrize("key", ["system", "system_prompt"])
def test_dropping_the_system_prompt_removes_its_member(key: str) -> None:
    around = {key: [text("Be brief.")]}
    data = line(user("x"), says(tool_use("a")), **around)
    assert written(data, lambda messages: messages[1:]) == line(user("x"), says(tool_use("a")))


def test_the_envelope_is_read() -> None:
    tools = [{"name": "bash", "input_schema": {}}]
    around = {
        "model": "claude-opus-4-6",
        "id": "t1",
        "tools": tools,
        "tool_choice": {"type": "tool", "name": "bash"},
    }
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 40,
        "cache_creation_input_tokens": 7,
        "output_tokens": 2,
    }
    parsed = transcript(line(*TALK, usage=usage, **around))
    assert (parsed.model, parsed.id, parsed.tools, parsed.tool_choice) == (
        "claude-opus-4-6",
        "t1",
        json.dumps(tools).replace(" ", ""),
        "bash",
    )
    assert parsed.usage is not None
    assert (parsed.usage.prompt_tokens, parsed.usage.completion_tokens) == (50, 2)
    assert transcript(line(*TALK, tool_choice={"type": "any"})).tool_choice == "any"


def test_a_tool_choice_of_chat_completions_is_read_next_to_blocks_of_anthropic() -> None:
    forced = {"type": "function", "function": {"name": "bash"}}
    assert transcript(line(*TALK, tool_choice="required")).tool_choice == "required"
    assert transcript(line(*TALK, tool_choice=forced)).tool_choice == "bash"


def test_stored_api_answers_provide_model_and_usage() -> None:
    answer = says("Done.") | {
        "type": "message",
        "id": "msg_1",
        "model": "claude-opus-4-6",
        "stop_reason": "end_turn",
    }
    usage = {"input_tokens": 5, "output_tokens": 1}
    parsed = transcript(line(*TALK, answer | {"usage": usage}))
    assert parsed.model == "claude-opus-4-6"
    assert parsed.usage is not None
    assert (parsed.usage.prompt_tokens, parsed.usage.message) == (5, 4)


def test_an_edit_changes_only_its_block() -> None:
    before = (
        '{"n": 1.10, '
        '"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":'
    )
    before += (
        '{"x":1.0}},{"type":"tool_use","id":"b","name":"f","input":{}}]},{"content": [ '
        '{"tool_use_id":"a","type":'
    )

    before += '"tool_result","content":"%s"},{"type":"tool_result","tool_use_id":"b","content":'
    before += '[{"type":"text","text":"%s"}'
    before += ']} ],"role":"user","extra":1e5}]}\n'
    long = "wort \\u00fc und ü " * 200
    out = (
        run((before % (long, long)).encode(), [("truncate", {"max_tokens": 50})]).data or b""
    ).decode()
    first, second, rest = before.split("%s")
    assert out.startswith(first)
    assert second in out
    assert out.endswith(rest)
    assert len(out) < len(before) + 1000


def test_metadata_of_a_result_is_stored_in_its_block() -> None:
    data = line(*TALK[:2], user([result("a", "x" * 9000), result("b")]))
    out = run(data, [("truncate", {"max_tokens": 50, "metadata": True})]).data or b""
    blocks = elements(out)[2]["content"]
    assert blocks[0]["_originalLength"] == 9000
    assert "_originalLength" not in blocks[1]


def test_the_rest_of_an_element_is_kept_and_an_empty_element_removed() -> None:
    data = line(*TALK[:2], user([*TALK[2]["content"], text("and now")]), system="s")
    assert elements(written(data, lambda messages: (*messages[:2], messages[5]))) == [
        TALK[0],
        user([text("and now")]),
    ]
    assert elements(written(data, lambda messages: (*messages[:3], *messages[3:5]))) == list(TALK)
    assert elements(written(data, lambda messages: messages[:2])) == [TALK[0]]
    assert elements(written(data, lambda messages: messages[2:5])) == list(TALK[1:])


def test_a_result_is_dropped_with_its_call_while_its_neighbour_text_is_kept() -> None:
    data = line(*TALK[:2], user([result("a", "word " * 400), result("b"), text("and now")]))
    out = run(data, [("trim", {})], limit=30).data or b""
    assert elements(out)[-1] == user([text("and now")])
    assert b"tool_" not in out


def test_thinking_is_removed_as_a_whole_block() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    data = line(user("x"), says(thought, "Listing.", tool_use("a")), user([result("a")]))

    def thoughtless(messages: tuple[Message, ...]) -> list[Message]:
        return [
            replace(message, parts=tuple(p for p in message.parts if p.kind != "reasoning"))
            for message in messages
        ]

    assert elements(written(data, thoughtless)) == [
        user("x"),
        says("Listing.", tool_use("a")),
        user([result("a")]),
    ]
    alone = line(user("x"), says(thought), user("go"))
    assert elements(written(alone, lambda messages: (messages[0], messages[2]))) == [
        user("x"),
        user("go"),
    ]


SUMMARY = Message("user", (Part("text", "In short."),), is_summary=True)
ANSWER = Message("tool", (Part("tool_result", "none", "b"),))
SHORT = user("In short.")


def test_an_inserted_result_joins_earlier_results_before_the_text() -> None:
    data = line(*TALK[:2], user([result("a"), text("and now")]))
    expected = [*TALK[:2], user([result("a"), result("b", "none"), text("and now")])]
    assert (
        elements(written(data, lambda messages: (*messages[:3], ANSWER, *messages[3:]))) == expected
    )


def test_an_inserted_result_joins_later_results_if_none_is_earlier() -> None:
    data = line(*TALK[:2], user([result("lone"), text("and now")]))
    expected = [*TALK[:2], user([result("b", "none"), result("lone"), text("and now")])]
    assert (
        elements(written(data, lambda messages: (*messages[:2], ANSWER, *messages[2:]))) == expected
    )


def test_inserted_results_without_neighbours_share_a_new_element() -> None:
    first = Message("tool", (Part("tool_result", "none", "a", is_error=True),))
    data = line(*TALK[:2], user("go on"))
    expected = [
        *TALK[:2],
        user([result("a", "none", is_error=True), result("b", "none")]),
        user("go on"),
    ]
    assert (
        elements(written(data, lambda messages: (*messages[:2], first, ANSWER, *messages[2:])))
        == expected
    )
    assert (
        elements(written(line(*TALK[:2]), lambda messages: (*messages, first, ANSWER)))
        == expected[:-1]
    )


def test_an_inserted_text_is_an_element_before_the_next() -> None:
    assert elements(written(line(*TALK), lambda messages: (SUMMARY, *messages))) == [SHORT, *TALK]
    assert elements(written(line(*TALK), lambda messages: (*messages, SUMMARY))) == [*TALK, SHORT]
    data = line(*TALK[:2], user([*TALK[2]["content"], text("and now")]))
    expected = [TALK[0], SHORT, user([text("and now")])]
    assert elements(written(data, lambda messages: (messages[0], SUMMARY, messages[4]))) == expected


def test_a_text_inserted_inside_an_element_splits_the_element() -> None:
    data = b'{"messages":[{"role":"assistant","content":'
    data += b'[{"type":"tool_use","id":"a","name":"f","input":{}}]},'
    data += (
        b'{"cache":1.10,"role":"user","content":[{"type":"tool_result","tool_use_id":"a"} , '
        b'%s],"at":1e5}]}\n'
    )
    now = b'{"type":"text","text":"now"}'
    cut = b']},{"role":"user","content":"In short."},{"role":"user","content":['
    out = written(data % now, lambda messages: (*messages[:2], SUMMARY, messages[2]))
    assert out == (data % (cut + now)).replace(b" , ]}", b"]}")


def test_a_message_on_a_separate_line_is_split_into_lines() -> None:
    talk = [*TALK[:2], {"content": [result("a"), result("b"), text("and now")], "role": "user"}]
    data = b"".join(json.dumps(message).encode() + b"\r\n" for message in talk)
    out = written(data, lambda messages: (*messages[:4], SUMMARY, messages[4]))
    values = [json.loads(line) for line in out.split(b"\r\n") if line]
    halves = [
        {"content": [result("a"), result("b")], "role": "user"},
        SHORT,
        user([text("and now")]),
    ]
    assert values == [*talk[:2], *halves]


@pytest.mark.parametrize("key", ["system", "system_prompt"])
def test_a_message_is_inserted_after_a_lone_system_prompt(key: str) -> None:
    around = {"model": "claude-opus-4-6", key: "Be brief."}
    data = line(**around)
    assert written(data, lambda messages: (*messages, SUMMARY)) == line(SHORT, **around)


COMPACTION = {"type": "compaction", "content": "What happened."}


def test_compacted_history_is_not_context() -> None:
    data = line(
        *TALK, says("old", COMPACTION, "Going on.", tool_use("c")), user([result("c")]), system="s"
    )
    parsed = transcript(data)
    assert role_texts(parsed) == [
        ("system", ["s"]),
        ("assistant", ["What happened."]),
        ("assistant", ["Going on.", "{}"]),
        ("tool", ["out"]),
    ]
    assert [message.is_summary for message in parsed.messages] == [False, True, False, False]
    assert elements(written(data, lambda messages: messages[:2])) == [
        *TALK,
        says("old", COMPACTION),
    ]
    assert elements(written(data, lambda messages: (messages[0], *messages[2:])))[0] == says(
        "Going on.", tool_use("c")
    )


@pytest.mark.parametrize("effort", [{"content": []}, {}])
def test_a_message_that_only_sets_the_effort_is_not_counted_and_stays(
    ctxtrim: Run, effort: Value
) -> None:
    """It may be anywhere, also before a prompt or first."""
    effort |= {"role": "system", "output_config": {"effort": "low"}}
    plain = [user("How deep? " * 40), says("Two metres. " * 40), user("And tomorrow?")]
    talk = [plain[0], effort, plain[1], effort, plain[2]]
    data = line(*talk, max_tokens=90)
    assert role_texts(transcript(data)) == role_texts(transcript(line(*plain)))
    checked = ctxtrim("check", "--profile", "anthropic", stdin=data)
    assert (checked.code, "warning" in checked.err) == (0, False)
    ran = ctxtrim("trim", "--format", "anthropic", "--budget", "60", stdin=data)
    assert json.loads(ran.out)["messages"] == [effort, effort, plain[2]]


def test_the_tools_that_a_compaction_brings_along_count(ctxtrim: Run) -> None:
    definition = {"name": "sound", "description": "Depth. " * 40, "input_schema": {}}
    addition = {"type": "tool_addition", "tool": {"type": "tool_definition"}}
    addition["tool"] |= {"definition": definition}
    talk = says(COMPACTION), user("How deep?")
    changed = says(COMPACTION | {"tool_changes": [addition]}), user("How deep?")

    def count(*elements: Value) -> Value:
        ran = ctxtrim("count", "--json", stdin=line(*elements, model="claude-sonnet-4-5"))
        (row,) = json.loads(ran.out)["transcripts"]
        return dict(row)

    assert count(*changed)["tokens"] > count(*talk)["tokens"] + 80
    assert count(*changed)["exactness"] == "estimated"
    assert run(line(*changed)).data == line(*changed)


def test_an_exchange_after_a_compaction_is_dropped_without_it() -> None:
    data = line(
        *TALK,
        says(COMPACTION, "Going on.", tool_use("c")),
        user([result("c", "word " * 400), text("and now")]),
    )
    out = run(data, [("trim", {})], limit=30).data or b""
    assert elements(out) == [*TALK, says(COMPACTION), user([text("and now")])]


LATER = (user("Sound the quay."), says("Four fathoms. " * 20), user("And the bay?"))


@pytest.mark.parametrize(
    "history",
    [
        (says(COMPACTION, "Going on."), *LATER),
        (user("old"), says(COMPACTION, tool_use("c")), user([result("c", "word " * 90)]), *LATER),
        (user("old"), says(COMPACTION), *LATER),
        (
            says(COMPACTION, tool_use("c")),
            user([result("c", "word " * 90)]),
            says(tool_use("d")),
            user([result("d", "word " * 90)]),
        ),
    ],
)
def test_a_request_with_a_compaction_is_valid_before_and_after_trim(
    ctxtrim: Run, history: tuple[Value, ...]
) -> None:
    data = line(*history)
    runs = [ctxtrim("trim", "--budget", budget, stdin=data) for budget in range(20, 400, 20)]
    outputs = {data, *(ran.out for ran in runs if ran.code == 0)}
    assert len(outputs) > 1
    for output in outputs:
        checked = ctxtrim("check", "--profile", "anthropic", stdin=output)
        assert (checked.code, "warning" in checked.err) == (0, False)


def roo(*history: Value) -> bytes:
    return json.dumps(history).encode()


def test_roo_code_does_not_send_condensed_messages() -> None:
    data = roo(
        user([text("<task>Moor the boats.</task>")]),
        says("Looking.", tool_use("a")) | {"condenseParent": "c1"},
        user([result("a")]) | {"condenseParent": "c1"},
        says("Berths were free.") | {"isSummary": True, "condenseId": "c1", "condenseParent": "c2"},
        user([text("And now?")]) | {"condenseParent": "c2"},
        user([text("Two boats moored.")]) | {"isSummary": True, "condenseId": "c2"},
        says("Done.", tool_use("b")) | {"condenseParent": "gone"},
        user([result("b")]),
    )
    parsed = transcript(data)
    assert role_texts(parsed) == [
        ("user", ["<task>Moor the boats.</task>"]),
        ("user", ["Two boats moored."]),
        ("assistant", ["Done.", "{}"]),
        ("tool", ["out"]),
    ]
    assert [message.is_summary for message in parsed.messages] == [False, True, False, False]
    assert parsed.messages[1].is_injected
    rest = elements_of_list(written(data, lambda messages: messages[2:]))
    assert [element.get("condenseParent") for element in rest] == ["gone", None]
    kept = elements_of_list(written(data, lambda messages: messages[:2]))
    assert kept == json.loads(data)[:6]


def test_roo_code_does_not_send_the_results_of_condensed_calls(ctxtrim: Run) -> None:
    condensed = [
        user([text("Moor the boats.")]) | {"condenseParent": "c1"},
        says("Looking.", tool_use("a")) | {"condenseParent": "c1"},
    ]
    summary = user([text("Two boats.")]) | {"isSummary": True, "condenseId": "c1"}
    talk = [says(tool_use("b")), user([result("b")]), says("Done."), user([text("Thanks.")])]
    together = user([result("a", "Berth 2 is free. " * 90), text("Moor them.")])
    alone = user([result("a", "Berth 2 is free. " * 90)])
    for element, prompts in ((together, [("user", ["Moor them."])]), (alone, [])):
        data = roo(*condensed, summary, element, *talk)
        parsed = transcript(data)
        assert role_texts(parsed) == [
            ("user", ["Two boats."]),
            *prompts,
            ("assistant", ["{}"]),
            ("tool", ["out"]),
            ("assistant", ["Done."]),
            ("user", ["Thanks."]),
        ]
        assert ctxtrim("check", "-b", "100", stdin=data).code == 0
        kept = elements_of_list(written(data, lambda messages: messages[1:]))
        assert kept == [user([text("Moor them.")])] * len(prompts) + talk
        whole = elements_of_list(written(data, lambda messages: (messages[0], messages[-1])))
        assert whole == [*condensed, summary, alone, talk[-1]]


def test_roo_code_does_not_send_truncated_messages() -> None:
    marker = {"isTruncationMarker": True, "truncationId": "t1"}
    data = roo(
        user([text("<task>Moor the boats.</task>")]),
        says("Looking.", tool_use("a")) | {"truncationParent": "t1"},
        user([result("a")]) | {"truncationParent": "t1"},
        user("[2 messages hidden]") | marker,
        says("Next.", tool_use("b")),
        user([result("b")]),
    )
    parsed = transcript(data)
    assert [message.role for message in parsed.messages] == ["user", "user", "assistant", "tool"]
    assert current_task(parsed.messages) == 0
    assert not any(message.is_summary for message in parsed.messages)
    without = elements_of_list(written(data, lambda messages: (messages[0], *messages[2:])))
    assert without == [json.loads(data)[index] for index in (0, 4, 5)]


SEALED = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA" * 200, "id": "rs_1"}


def test_reasoning_next_to_the_content_of_an_answer_counts() -> None:
    answer = says("Looking.", tool_use("a"))
    histories = [
        roo(user([text("Moor it.")]), answer | more, user([result("a")]))
        for more in (
            {"reasoning_content": "Which berth? " * 20},
            {"reasoning_details": [{"type": "reasoning.text", "text": "Which berth? " * 20}]},
            {},
        )
    ]
    deepseek, openrouter, plain = map(transcript, histories)
    for parsed in (deepseek, openrouter):
        assert [part.kind for part in parsed.messages[1].parts] == [
            "reasoning",
            "text",
            "tool_call",
        ]
        assert parsed.messages[1].parts[0].text == "Which berth? " * 20
        assert parsed.messages[1].parts[1:] == plain.messages[1].parts
    without = replace(deepseek.messages[1], parts=plain.messages[1].parts)
    assert written(histories[0], lambda each: (each[0], without, each[2])) == histories[2]
    assert json.loads(written(histories[1], lambda each: each[:1])) == json.loads(histories[1])[:1]


def test_sealed_reasoning_in_the_content_counts_by_its_length() -> None:
    data = roo(
        user([text("Moor it.")]), says(SEALED, "Looking.", tool_use("a")), user([result("a")])
    )
    part = transcript(data).messages[1].parts[0]
    assert (part.kind, part.text, part.sealed) == ("reasoning", "", 800)


def test_sealed_reasoning_before_an_answer_belongs_to_it(ctxtrim: Run) -> None:
    history = [
        user([text("Moor it.")]),
        SEALED,
        says("Looking. " * 90, tool_use("a")),
        user([result("a")]),
        says("Done."),
        user([text("And the other?")]),
    ]
    parsed = transcript(roo(*history))
    assert [message.parts[0].sealed for message in parsed.messages] == [0, 800, 0, 0, 0, 0]
    assert [message.continues for message in parsed.messages] == [False, False, True, *[False] * 3]
    counts = [
        json.loads(ctxtrim("count", "--model", "gpt-5", "--json", stdin=roo(*part)).out)
        for part in (history[:4], [history[0], *history[2:4]])
    ]
    with_it, without = (each["transcripts"][0]["tokens"] for each in counts)
    assert with_it >= without + 80  # a tenth of a token per character
    trimmed = ctxtrim("trim", "-b", "100", stdin=roo(*history))
    assert json.loads(trimmed.out) == [history[0], *history[4:]]


def test_condensed_texts_alone_are_a_history_of_roo_code() -> None:
    data = roo(
        user([text("<task>Moor it.</task>")]) | {"condenseParent": "c1"},
        says("Done.") | {"condenseParent": "c1"},
        user([text("A boat moored.")]) | {"isSummary": True, "condenseId": "c1"},
        user([text("[read_file] Result:"), text("Berths.")]),
    )
    summary, client = transcript(data).messages
    assert (summary.is_summary, client.is_injected) == (True, True)


def elements_of_list(data: bytes) -> list[Any]:
    value: list[Any] = json.loads(data)
    return value


def test_calls_without_ids_are_answered_in_order() -> None:
    call = {"type": "tool_use", "name": "Read", "input": {}}
    events = [
        ("user", text("Read both.")),
        ("assistant", call),
        ("user", result("t1", "one")),
        ("assistant", call),
        ("user", result("t2", "two")),
        ("user", result("t3", "lone")),
    ]
    data = b"".join(
        json.dumps({"role": role, "message": {"content": [block]}}).encode() + b"\n"
        for role, block in events
    )
    parsed = transcript(data)
    turn_shape = shape(parsed.messages)
    assert turn_shape.exchange == (0, 1, 1, 3, 3, 5)
    assert turn_shape.unanswered == ()
    out = written(data, lambda messages: (*messages[:1], SUMMARY, *messages[3:]))
    assert json.loads(out.splitlines()[1]) == {
        "role": "user",
        "message": {"content": [text("In short.")]},
    }


def test_a_call_without_an_id_gets_an_inserted_answer() -> None:
    call = {"type": "tool_use", "name": "Read", "input": {}}
    answer = Message("tool", (Part("tool_result", "none", name="Read"),), "Read")
    out = written(line(user("x"), says(call)), lambda messages: (*messages, answer))
    assert elements(out)[2] == user([{"type": "tool_result", "name": "Read", "content": "none"}])


def droid(name: str, parent: str, message: Value) -> Value:
    return {
        "type": "message",
        "id": name,
        "parentId": parent,
        "timestamp": "2026-01-01",
        "message": message,
    }


def test_lines_with_parents_are_relinked() -> None:
    start = {"type": "session_start", "id": "s", "cwd": "/x"}
    lines = [
        start,
        droid("m1", "s", user([text("old")])),
        droid("m2", "m1", says(tool_use("a"))),
        droid("m3", "m2", user([result("a")])),
        droid("m4", "m3", user([text("now")])),
        droid("m5", "m4", says("Done.")),
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert role_texts(transcript(data))[1:3] == [("assistant", ["{}"]), ("tool", ["out"])]
    out = [json.loads(line) for line in written(data, lambda m: (m[0], *m[3:])).splitlines()]
    assert [(event["id"], event.get("parentId")) for event in out[1:]] == [
        ("m1", "s"),
        ("m4", "m1"),
        ("m5", "m4"),
    ]
    out = [json.loads(line) for line in written(data, lambda m: (SUMMARY, *m[3:])).splitlines()]
    assert [event.get("parentId") for event in out] == [None, "s", out[1]["id"], "m4"]
    assert out[1]["message"] == user([text("In short.")])
    assert out[1]["timestamp"] == "2026-01-01"


def test_client_text_in_the_user_role_is_not_a_task() -> None:
    reminder = "<system-reminder>Be brief.</system-reminder>"
    cline = user(
        [
            text("[bash for 'ls'] Result:\nout"),
            text("<environment_details>\n</environment_details>"),
        ]
    )
    feedback = user([text("[attempt_completion] Result:\n<feedback>Try again.</feedback>")])
    talk = [user("go"), says(tool_use("a")), user(reminder), cline]
    assert current_task(transcript(line(*talk)).messages) == 0
    assert current_task(transcript(line(*talk, feedback)).messages) == 4
    assert (
        current_task(transcript(line(*talk, user([text(reminder), text("go on")]))).messages) == 4
    )
    assert current_task(transcript(line(*talk, user(f"{reminder}\ngo on"))).messages) == 4


def test_texts_that_become_adjacent_are_counted_as_a_single_message() -> None:
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "listing " * 300}
    texts = [
        {"type": "text", "text": "before the listing"},
        {"type": "text", "text": "after the listing"},
    ]
    call = {"type": "tool_use", "id": "c1", "name": "ls", "input": {}}
    talk = {
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [texts[0], result, texts[1]]},
        ],
    }
    written = 0
    for budget in range(30, 120):
        ran = run(
            json.dumps(talk).encode() + b"\n",
            [("trim", {"pin": ("before the listing",)})],
            limit=budget,
        )
        if ran.data is not None:
            (again,) = run(ran.data).rows
            assert ran.rows[0].count.tokens == again.count.tokens
            written += 1
    assert written > 10


def test_results_of_amp_are_in_their_run() -> None:
    """[jonathan-kellerai/cross_agent_session_resumer, `amp.rs`]"""
    runs = [
        {"status": "done", "result": "sand\n" * 400},
        {"status": "done", "result": {"depth": 9}},
        {"status": "error", "error": {"message": "fog"}},
    ]
    messages = [user([text("Sound the bay.")])]
    for place, each in enumerate(runs):
        block = {"type": "tool_result", "toolUseID": f"c{place}", "run": each}
        messages += [says(tool_use(f"c{place}")), user([block])]
    data = json.dumps({"id": "T-1", "messages": messages}).encode()
    (transcript,) = read(data)[0].transcripts
    results = [message.parts[0] for message in transcript.messages if message.role == "tool"]
    assert [(part.call_id, part.is_error) for part in results] == [
        ("c0", False), ("c1", False), ("c2", True),
    ]  # fmt: skip
    assert [part.text for part in results[1:]] == [
        '{"depth":9}',
        '{"status":"error","error":{"message":"fog"}}',
    ]
    out = json.loads(run(data, [("truncate", {"max_tokens": 20})]).data or b"")
    shortened = out["messages"][2]["content"][0]["run"].pop("result")
    assert 0 < len(shortened) < 200
    assert out["messages"][3:] == messages[3:]


@pytest.mark.parametrize(
    "record",
    [
        lambda asked, answer: {"request": asked, "response": answer},  # Vertex AI, batches
        lambda asked, answer: {"request": {"body": asked}, "response": {"body": answer}},
        lambda asked, answer: {"request_body": asked, "response_body": answer},  # Helicone
        lambda asked, answer: [{"request_body": asked, "response_body": answer}],
    ],
)
def test_a_logged_request_has_its_answer(record: Callable[[Any, Any], Any]) -> None:
    asked = {"model": "claude-3", "max_tokens": 9, "messages": [user("Sound the bay.")]}
    usage = {"input_tokens": 8, "output_tokens": 3}
    answer = {"type": "message", **says("Nine fathoms."), "usage": usage}
    data = json.dumps(record(asked, answer)).encode()
    (transcript,) = read(data)[0].transcripts
    assert [message.parts[0].text for message in transcript.messages] == [
        "Sound the bay.",
        "Nine fathoms.",
    ]
    assert [each.completion_tokens for each in transcript.usages] == [3]


@pytest.mark.parametrize("key", ["request_body", "kwargs", "input"])
@pytest.mark.parametrize("talk", [[user("Sound the bay.")], TALK])
def test_the_arguments_of_a_traced_call_are_a_request(
    ctxtrim: Run, key: str, talk: Sequence[Value]
) -> None:
    asked = {"model": "claude-opus-4-6", "system": "Be brief.", "messages": talk}
    ran = ctxtrim("count", "--json", stdin=json.dumps({key: asked}).encode())
    bare = ctxtrim("count", "--json", stdin=json.dumps(asked).encode())
    (row,), (expected,) = (json.loads(each.out)["transcripts"] for each in (ran, bare))
    assert (row["format"], row["tokens"]) == ("anthropic", expected["tokens"])


def test_choices_of_a_message_do_not_make_it_foreign() -> None:
    """They are answers of a question; a response of Chat Completions has no role."""
    data = line(user("Which?") | {"choices": ["a", "b"]}, says(tool_use("t")), user([result("t")]))
    (chunk,) = read(data)
    assert chunk.format is FORMATS["anthropic"]


def test_reasoning_next_to_calls_is_read_on_lines_of_its_own(ctxtrim: Run) -> None:
    thoughtful = {"reasoning_content": "hm"}
    talk = [
        user("Moor it."),
        says("Looking.", tool_use("t1")) | thoughtful,
        user("Next."),
        says("And?") | thoughtful,
        user("Again."),
        says(tool_use("t2")),
        user([result("t2")]),
    ]
    data = b"".join(json.dumps(message).encode() + b"\n" for message in talk)
    ran = ctxtrim("run", "-s", "repair", stdin=data)
    assert ran.code == 0, ran.err
    kept = [json.loads(row) for row in ran.out.splitlines()]
    assert kept == [talk[0], says("Looking.") | thoughtful, *talk[2:]]
    (found,) = read(data)[0].transcripts
    assert [part.text for part in found.messages[3].parts] == ["hm", "And?"]


def test_encrypted_reasoning_counts_in_a_history_without_calls(ctxtrim: Run) -> None:
    history = roo(user([text("Moor it.")]), SEALED, says("Done."), user([text("Thanks.")]))
    plain = roo(user([text("Moor it.")]), says("Done."), user([text("Thanks.")]))
    counted, without = (
        json.loads(ctxtrim("count", "--model", "gpt-5", "--json", stdin=data).out)
        for data in (history, plain)
    )
    with_it, rest = (each["transcripts"][0]["tokens"] for each in (counted, without))
    assert with_it >= rest + 80


def test_a_compaction_hides_encrypted_reasoning_before_it(ctxtrim: Run) -> None:
    summary = says({"type": "compaction", "content": "A boat was moored."}, "Ready.")
    history = [user("Moor it."), SEALED, summary, user("And?"), says("Done."), user("Bye.")]
    for budget in range(8, 60, 4):
        ran = ctxtrim("trim", "-b", str(budget), "--tokenizer", "chars4", stdin=roo(*history))
        assert "this is a bug" not in ran.err
