"""Texts instead of attachments."""

from ctxtrim.conversation.edits import with_texts_for
from ctxtrim.model import Media, Message, Part, Span

IMAGE = Part("attachment", media=Media("image"), block=Span(0, ("content", 1)))


def test_a_text_is_a_line_after_the_text_before_it() -> None:
    for text, expected in (("A lamp.", "A lamp.\n[image]"), ("", "[image]")):
        result = Part("tool_result", text, call_id="a", span=Span(0, ("content", 0)))
        message, stuck = with_texts_for(Message("tool", (result, IMAGE)), {1: "[image]"})
        assert [part.text for part in message.parts] == [expected]
        assert stuck == 0


def test_an_attachment_that_the_provider_alone_can_read_is_not_replaced() -> None:
    text = Part("text", "A lamp.", span=Span(0, ("content", 0)))
    sealed = Part("attachment", media=Media("sealed"), block=IMAGE.block, sealed=40)
    message = Message("user", (text, sealed))
    assert with_texts_for(message, {1: "[image]"}) == (message, 1)
