"""The fields around the lists of one conversation."""

from ctxtrim.formats.message_lists import Envelope
from ctxtrim.model.request import Usage


def test_of_two_objects_the_first_tools_and_the_later_model_id_and_usage_win() -> None:
    request = Envelope(tools="[1]", tool_choice="auto", model="a", id="r", usage=Usage(1, 1))
    response = Envelope(tools="[2]", tool_choice="none", model="b", id="s", usage=Usage(2, 2))
    both = request | response
    assert (both.tools, both.tool_choice) == ("[1]", "auto")
    assert (both.model, both.id, both.usage) == ("b", "s", Usage(2, 2))
    assert request | Envelope() == Envelope() | request == request
