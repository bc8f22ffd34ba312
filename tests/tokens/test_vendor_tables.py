"""The costs of small requests by each table of `ctxtrim/tokens/vendors`: every constant affects a
number.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from builders import call, result, says, transcript, user
from msgspec import structs
from msgspec.structs import fields, replace

from ctxtrim.model import Media, Message, Part, Transcript
from ctxtrim.model.request import OutputFormat, RequestOptions
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.framing import Framing
from ctxtrim.tokens.request import RequestFraming
from ctxtrim.tokens.vendors import FRAMINGS, TABLES


class Letters:
    """A token per letter: the cost of the texts is known."""

    name, exactness = "letters", "exact"

    def count(self, text: str) -> int:
        return len(text)

    ceiling = count


def step() -> dict[str, Any]:
    """An answer with reasoning, text and a call with two arguments, one of them with a line
    break.
    """
    made = call("a", note="fog\nand rain", hour=5)
    return made | {"content": "I look.", "reasoning_content": "Hm."}


TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "description": "Look.", "parameters": {"type": "object"}},
    }
    for name in ("bash", "look")
]
SPACED = [{"name": "look", "description": "Look.\n\nListen.", "parameters": {"type": "object"}}]
OWN = [
    {"type": kind}
    for kind in (
        "bash_1",
        "text_editor_1",
        "memory_20250818",
        "computer_20251124",
        "computer_20250124",
    )
]
SEALED = Message("assistant", (Part("reasoning", "", sealed=100),))
MEDIA = Message("user", (Part("attachment", media=Media("image")), Part("attachment", "fog")))
OUTPUT = OutputFormat('{"type":"object","required":[]}', "place", "A place")
PLAIN = transcript([user("x")])
CITED = structs.replace(PLAIN, messages=(Message("user", (Part("text", "x", cites=True),)),))
ANSWERED = transcript([user("x"), says("y"), user("z")])


def with_options(talk: Transcript, **options: Any) -> Transcript:
    return structs.replace(talk, options=RequestOptions(**options))


def with_tool_choice(choice: Any) -> Transcript:
    return transcript([user("x")], tools=TOOLS, tool_choice=choice)


TALKS = {
    "plain": transcript(
        [{"role": "system", "content": "Be kind."}, user("x") | {"name": "mate"}, says("y")]
    ),
    "step": transcript([user("x"), step(), result("a", "é")]),
    "parallel": transcript([user("x"), call("a", "b"), result("a", "é"), result("b", "y")]),
    "sealed": structs.replace(PLAIN, messages=(*PLAIN.messages, SEALED)),
    "media": structs.replace(PLAIN, messages=(MEDIA,)),
    "tools": with_tool_choice(None),
    "own tools": transcript([user("x")], tools=OWN),
    "no tool": with_tool_choice("none"),
    "any tool": with_tool_choice("required"),
    "one tool": with_tool_choice({"type": "function", "function": {"name": "look"}}),
    "output": with_options(ANSWERED, api="chat", output=OUTPUT),
    "output, own API": with_options(PLAIN, api="anthropic", output=OUTPUT),
    "thinking": with_options(PLAIN, reasoning="enabled"),
    "adaptive": with_options(PLAIN, reasoning="adaptive"),
    "pro": with_options(ANSWERED, reasoning="pro"),
    "task budget": with_options(PLAIN, task_budget=True),
    "citations": CITED,
    "a role as a name": transcript([user("x") | {"name": "user"}]),
    "prediction": with_options(PLAIN, prediction=True),
    "empty lines": transcript([user("x")], tools=SPACED),
}

EXPECTED = {
    "openai": (30, 87, 95, 12, 36010, 149, 158, 150, 155, 160, 93, 77, 8, 8, 18, 8, 8, 12, 24, 127),
    "openai-cl100k_base":
        (30, 87, 95, 12, 36010, 149, 158, 150, 155, 160, 93, 77, 8, 8, 18, 8, 8, 13, 24, 127),
    "openai-0301":
        (40, 97, 107, 20, 36016, 155, 164, 156, 161, 166, 103, 83, 14, 14, 28, 14, 14, 19, 30, 133),
    "openai-reasoning":
        (32, 89, 97, 24, 36010, 149, 158, 150, 155, 160, 95, 77, 8, 8, 20, 8, 8, 13, 24, 133),
    "openai-o1-preview":
        (35, 92, 101, 26, 36011, 150, 159, 151, 156, 161, 98, 78, 9, 9, 23, 9, 9, 14, 25, 134),
    "openai-responses":
        (30, 87, 71, 12, 36010, 144, 158, 145, 150, 155, 83, 67, 8, 8, 18, 8, 8, 13, 24, 122),
    "openai-reasoning-responses":
        (32, 89, 97, 24, 36010, 148, 158, 149, 154, 159, 85, 67, 8, 8, 20, 8, 8, 13, 24, 132),
    "openai-gpt-5":
        (32, 89, 97, 24, 36010, 228, 158, 229, 234, 239, 95, 77, 8, 8, 1680, 8, 8, 13, 24, 212),
    "openai-gpt-5-responses":
        (32, 89, 97, 24, 36010, 148, 158, 149, 154, 159, 85, 67, 8, 8, 1680, 8, 8, 13, 24, 132),
    "openai-search":
        (32, 89, 97, 24, 36010, 228, 158, 229, 234, 239, 95, 77, 8, 8, 1680, 8, 8, 13, 24, 212),
    "harmony":
        (96, 185, 186, 82, 36072, 236, 226, 236, 236, 240, 194, 182, 70, 70, 82, 70, 70, 74, 70,
         212),
    "anthropic-v2":
        (28, 140, 138, 54, 36029, 1043, 5526, 1043, 1043, 1055, 945, 133, 44, 11, 19, 48, 571, 16,
         11, 906),
    "anthropic-v3":
        (25, 137, 135, 51, 36026, 1040, 5523, 1040, 1040, 1052, 942, 130, 41, 8, 16, 45, 568, 13,
         8, 903),
    "anthropic-v4.6":
        (26, 137, 135, 51, 36026, 1040, 5523, 1040, 1040, 1052, 942, 130, 41, 25, 16, 45, 568, 13,
         8, 903),
    "anthropic-v4.7":
        (30, 147, 139, 55, 36030, 1048, 5537, 1048, 1048, 1060, 983, 171, 12, 12, 20, 49, 572, 17,
         12, 909),
    "anthropic-v4.8":
        (25, 142, 134, 50, 36025, 1043, 5532, 1043, 1043, 1055, 978, 166, 7, 7, 15, 44, 567, 12, 7,
         904),
    "anthropic-bound":
        (51, 176, 167, 65, 36031, 1049, 5538, 1049, 1049, 1061, 1002, 172, 46, 46, 39, 50, 573, 18,
         13, 910),
    "anthropic-v4.7-bound":
        (56, 181, 172, 70, 36036, 1054, 5543, 1054, 1054, 1066, 1007, 177, 51, 51, 44, 55, 578, 23,
         18, 915),
    "gemini": (19, 66, 40, 29, 36005, 243, 161, 243, 243, 243, 7, 3, 3, 3, 7, 3, 3, 8, 3, 110),
    "generic":
        (41, 108, 95, 21, 36015, 353, 271, 354, 361, 364, 29, 13, 13, 13, 29, 13, 13, 18, 13, 220),
    "llama":
        (69, 136, 123, 49, 36043, 671, 589, 672, 679, 682, 219, 203, 41, 41, 57, 41, 41, 46, 41,
         538),
    "mistral":
        (44, 111, 98, 24, 36018, 266, 184, 267, 274, 277, 32, 16, 16, 16, 32, 16, 16, 21, 16, 133),
    "mistral-small-3.2":
        (1616, 1683, 1670, 1596, 37590, 1838, 1756, 1839, 1846, 1849, 1604, 1588, 1588, 1588, 1604,
         1588, 1588, 1593, 1588, 1705),
    "deepseek":
        (43, 120, 117, 23, 36017, 465, 383, 466, 473, 476, 31, 15, 95, 15, 31, 15, 15, 20, 15, 332),
    "qwen":
        (41, 108, 95, 21, 36015, 353, 271, 354, 361, 364, 29, 13, 13, 13, 29, 13, 13, 18, 13, 220),
    "qwen-3.5":
        (41, 108, 95, 21, 36015, 458, 376, 459, 466, 469, 29, 13, 13, 13, 29, 13, 13, 18, 13, 325),
    "xai":
        (525, 592, 579, 505, 36209, 427, 345, 428, 435, 438, 571, 265, 207, 207, 513, 207, 207,
         212, 207, 294),
    "xai-4":
        (1015, 1082, 1069, 995, 36699, 917, 835, 918, 925, 928, 1061, 755, 697, 697, 1003, 697,
         697, 702, 697, 784),
    "xai-4-responses":
        (525, 592, 579, 505, 36209, 427, 345, 428, 435, 438, 571, 265, 207, 207, 513, 207, 207,
         212, 207, 294),
    "xai-4.3":
        (235, 302, 289, 215, 36209, 427, 345, 428, 435, 438, 281, 265, 207, 207, 223, 207, 207,
         212, 207, 294),
    "xai-fast":
        (410, 477, 464, 390, 36209, 542, 460, 543, 550, 553, 456, 265, 207, 207, 398, 207, 207,
         212, 207, 409),
}  # fmt: skip


def counts(framing: Framing) -> tuple[int, ...]:
    return tuple(Counter(Letters(), framing).tokens(talk) for talk in TALKS.values())


@pytest.mark.parametrize("name", FRAMINGS)
def test_small_requests_cost_as_much_as_the_tables_state(name: str) -> None:
    assert dict(zip(TALKS, counts(FRAMINGS[name]), strict=True)) == dict(
        zip(TALKS, EXPECTED[name], strict=True)
    )


def changed(value: Any) -> Iterator[Any]:
    """Values next to the value of a fact."""
    if isinstance(value, bool):
        yield not value
    elif value is None:
        yield 0
    elif isinstance(value, int):
        yield from (value - 1, value + 1)
    elif isinstance(value, float):
        yield from (value / 2, value * 2)
    elif isinstance(value, str):
        yield value + "."
    elif callable(value):
        yield lambda given: "something else"
    elif value and isinstance(value[0], tuple):
        for at, (kind, cost) in enumerate(value):
            yield (*value[:at], (kind, cost + 1), *value[at + 1 :])


def changed_framings(name: str, field: str) -> Iterator[Framing]:
    """A framing with a changed fact."""
    framing = FRAMINGS[name]
    for value in changed(TABLES[name][field].value):
        if field in {field.name for field in fields(RequestFraming)}:
            yield replace(framing, request=replace(framing.request, **{field: value}))
        else:
            yield replace(framing, **{field: value})


LABELS = ("is_verified", "estimates")
"""Facts about the accuracy of a count, which cost nothing."""


@pytest.mark.parametrize("name", TABLES)
def test_every_constant_affects_a_count(name: str) -> None:
    """A constant that is off by one changes a number above."""
    for field in TABLES[name].keys() - set(LABELS):
        framings = list(changed_framings(name, field))
        assert framings, field
        for framing in framings:
            assert counts(framing) != EXPECTED[name], field


@pytest.mark.parametrize("name", FRAMINGS)
@pytest.mark.parametrize("talk", TALKS.values(), ids=TALKS)
def test_a_count_is_the_sum_of_its_addends(name: str, talk: Transcript) -> None:
    """Three numbers are equal: the number of stages, the number of a report, and the sum of
    `--explain`.
    """
    counter = Counter(Letters(), FRAMINGS[name])
    fan = counter.shape(talk.messages).fan
    messages = [
        sum(counter.addends(message, fan[at]).values()) for at, message in enumerate(talk.messages)
    ]
    count = counter.count(talk)
    assert (
        counter.tokens(talk) == count.tokens == sum(messages) + sum(counter.overhead(talk).values())
    )
    assert [cost.total for cost in counter.costs(talk.messages)] == messages
    assert count.tokens == sum(count.by_role.values()) + count.framing + count.tools_schema
    assert counter.bound().tokens(talk) >= count.tokens
