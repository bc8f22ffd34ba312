"""Which messages are kept regardless of age."""

from ctxtrim.conversation.protection import not_summarized
from ctxtrim.conversation.turns import shape
from ctxtrim.model import Message, Part, Source, Transcript
from ctxtrim.stages.placement.leads import summary_message

ANSWER = Message("assistant", (Part("text", "Seven."),))
PROMPT = Message("user", (Part("text", "Count the lamps."),))


def test_an_earlier_summary_is_replaced_even_if_the_person_typed_nothing_after_it() -> None:
    assert kept(summary_message("Earlier."), ANSWER, ANSWER) == {}
    assert kept(PROMPT, summary_message("Earlier."), ANSWER) == {0: "current task"}


def kept(*messages: Message) -> dict[int, str]:
    return not_summarized(Transcript(messages, Source((), messages)), shape(messages), ())
