"""Leading texts of messages: summaries and digests that replace other messages.

::

    [summary] END [digests] END own text of the prompt        user messages
    [digests] END own text of the answer                      assistant messages

Each may be missing. A message that consists of such texts only is injected by the client, not typed
by the person.
"""

from itertools import takewhile

from msgspec.structs import replace

from ctxtrim.model import Message, Part
from ctxtrim.summaries import markers
from ctxtrim.summaries.markers import Leads

_NO_TEXT = Leads(None, None, "")


def leads(message: Message) -> Leads:
    """The leading summary and digests of a message, and the rest of its text."""
    position = _text_position(message)
    if position is None:
        return _NO_TEXT
    text = message.parts[position].text
    if not text.startswith(markers.OPENING):  # as almost always
        return Leads(None, None, text)
    text_leads = markers.leads_of(text)
    if message.role != "user" and text_leads.summary is not None:
        # answers get only digests, so the model wrote this text
        return Leads(None, None, text)
    return text_leads


def summary_message(text: str) -> Message:
    """A separate message with a summary."""
    return Message("user", (Part("text", text),), is_injected=True, is_summary=True)


def digest_message(text: str, hides: bool) -> Message:
    """A separate message with digests.

    If the format `hides` messages, the person does not see it.
    """
    message = Message("user", (Part("text", text),), is_injected=True)
    return replace(message, user_visible=False, kind="tool_summary") if hides else message


def has_summary(message: Message) -> bool:
    """Whether a message is a summary or begins with one."""
    return message.is_summary or (message.role == "user" and leads(message).summary is not None)


def is_led_by_summary(message: Message) -> bool:
    """Whether a summary leads the text of a prompt."""
    if message.role != "user":
        return False
    leading = leads(message)
    return leading.summary is not None and leading.own is not None


def is_digest(message: Message) -> bool:
    """Whether a user message consists of digests only."""
    if message.role != "user":
        return False
    leading = leads(message)
    return leading.summary is None and leading.digests is not None and leading.own is None


def has_compaction_digest(message: Message) -> bool:
    """Whether a message is or begins with the digest of a compaction."""
    digests = leads(message).digests
    return digests is not None and digests.startswith(markers.DIGEST)


def split_message(message: Message) -> list[Message]:
    """A message split into its summary, its digests and the rest, without the
    titles of summaries.
    """
    position = _text_position(message)
    if position is None:
        return [message]
    if message.is_summary:
        return [_with_text(message, position, markers.untitled(message.parts[position].text))]
    if not message.parts[position].text.startswith(markers.OPENING):
        return [message]
    summary, digests, own = leads(message)
    leading = [] if summary is None else [summary_message(markers.untitled(summary))]
    if digests is not None and (own is not None or message.role != "user"):
        return [*leading, digest_message(digests, hides=False), with_leads(message)]
    if own == "":
        return [*leading, with_leads(message)]
    rest = digests if own is None else own
    if rest is None:
        return leading
    return [*leading, message if not leading else _with_text(message, position, rest)]


def with_leads(message: Message, summary: str | None = None, digests: str | None = None) -> Message:
    """A message that begins with these texts only. Without an editable text part, one is added."""
    position = _text_position(message)
    own = leads(message).own
    has_others = len(message.parts) > (position is not None)
    if own == "" and (message.role == "assistant" or has_others):
        own = None
    texts = [text for text in (summary, digests, own) if text is not None]
    if own is None and texts and message.role == "user" and has_others:
        texts.append("")  # the separator shows that the message is more than a summary
    text = markers.END.join(texts)
    if position is None:
        return _with_part(message, text)
    part = message.parts[position]
    if not texts and (part.span is None or part.block is not None) and has_others:
        return replace(message, parts=(*message.parts[:position], *message.parts[position + 1 :]))
    return _with_text(message, position, text)


def without_compaction(message: Message) -> Message:
    """A message without the summary and the digest of a compaction."""
    position = _text_position(message)
    if position is None:
        return message
    summary, digests, own = leads(message)
    is_compaction = has_compaction_digest(message)
    if message.is_summary:
        return _with_text(message, position, "")
    if summary is None and not is_compaction:
        return message
    rest = [text for text in (None if is_compaction else digests, own) if text is not None]
    return _with_text(message, position, markers.END.join(rest))


def can_lead(message: Message, adds_texts: bool) -> bool:
    """Whether a message can begin with a summary or digests.

    `adds_texts`: the format can add a text to a message with blocks.
    """
    if _text_position(message) is not None:
        return True
    if not adds_texts:
        return False
    first = next((part for part in message.parts if part.kind != "reasoning"), None)
    is_said = message.role in ("user", "assistant")
    return is_said and first is not None and first.block is not None


def _text_position(message: Message) -> int | None:
    """The position of the first editable text of a prompt or an answer, with no call before it.

    None if there is none.
    """
    if message.role not in ("user", "assistant"):
        return None
    for position, part in enumerate(message.parts):
        if part.kind == "tool_call" and message.role == "assistant":
            return None
        if part.kind == "text" and (part.span is not None or _is_added(message, part)):
            return position
    return None


def _is_added(message: Message, part: Part) -> bool:
    """Whether a stage added a text. It may have added digests, and a summary to a prompt."""
    if message.index is None:
        return True
    is_summary = message.role == "user" and markers.is_titled(part.text)
    return part.block is None and (is_summary or markers.is_digest(part.text))


def _with_text(message: Message, target: int, text: str) -> Message:
    parts = list(message.parts)
    parts[target] = replace(parts[target], text=text)
    return replace(message, parts=tuple(parts))


def _with_part(message: Message, text: str) -> Message:
    """A message with one more text, after its reasoning and before all other parts."""
    if not text:
        return message
    reasoning = list(takewhile(lambda part: part.kind == "reasoning", message.parts))
    others = message.parts[len(reasoning) :]
    return replace(message, parts=(*reasoning, Part("text", text), *others))
