"""Which messages are kept regardless of age."""

from ctxtrim.conversation.protection import not_summarized
from ctxtrim.conversation.turns import shape
from ctxtrim.model import Message, Part
from ctxtrim.stages.placement.leads import summary_message

ANSWER = Message("assistant", (Part("text", "Seven."),))
PROMPT = Message("user", (Part("text", "Count the lamps."),))


def test_an_earlier_summary_is_replaced_even_if_the_person_typed_nothing_after_it() -> None:
    messages = [summary_message("Earlier."), ANSWER, ANSWER]
    assert not_summarized(messages, shape(messages), ()) == {}
    messages = [PROMPT, summary_message("Earlier."), ANSWER]
    assert not_summarized(messages, shape(messages), ()) == {0: "current task"}
