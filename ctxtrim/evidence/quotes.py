"""Results that the user quotes later, which shows that they still matter.

A later typed message contains the call id, a whole line of the result, or at least 40 consecutive
characters of it. Mentioning a path does not count, so a quotation must contain letters or digits
outside of paths. Messages hidden from the model quote nothing and are not quoted.
"""

import re
from collections.abc import Sequence

from ctxtrim.conversation.tasks import is_typed
from ctxtrim.conversation.tool_results import result_text
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence.quoted_lines import quoted_lines
from ctxtrim.evidence.quoted_runs import quoted_runs
from ctxtrim.evidence.tool_kinds import paths_of
from ctxtrim.model import Message
from ctxtrim.text import Range

_MAX_TYPED = 1 << 21  # typed characters that are searched, newest first, to limit memory
_WORD = re.compile(r"[^\s\"'`()<>\[\]{},;]+")
_FEW = 64  # call ids that are searched in a text before the text is split into words
# "12" and "search" have other meanings too
_ID = re.compile(r"(?=.*\d)(?:.{6}|.*[A-Za-z])", re.DOTALL)


def quoted(shape: Shape) -> dict[int, Range]:
    """The positions of quoted results with the quoted range, or (0, 0) for a quoted call id."""
    messages = shape.messages
    results = {
        position: result_text(message)
        for position, message in enumerate(messages)
        if message.role == "tool" and message.agent_visible
    }
    prompts = _prompts(messages, after=min(results, default=len(messages)))
    last_prompt = max(prompts, default=0)
    older_results = {position: text for position, text in results.items() if position < last_prompt}
    if not older_results:
        return {}

    def call_paths(position: int) -> tuple[str, ...]:
        call = shape.call[position]
        return paths_of(call) if call else ()

    ranges_by_position = dict.fromkeys(_by_id(messages, prompts, older_results), (0, 0))
    for ranges in (
        quoted_lines(results, prompts, call_paths),
        quoted_runs(older_results, prompts, call_paths),
    ):
        for position, (start, end) in ranges.items():
            old_start, old_end = ranges_by_position.get(position, (0, 0))
            if end - start > old_end - old_start:  # the longest quotation
                ranges_by_position[position] = (start, end)
    return {position: ranges_by_position[position] for position in sorted(ranges_by_position)}


def _prompts(messages: Sequence[Message], after: int) -> dict[int, str]:
    """The text typed after a position, by position, limited to the newest characters."""
    prompts, size = {}, 0
    for position in range(len(messages) - 1, after, -1):
        if size >= _MAX_TYPED:
            break
        message = messages[position]
        if message.role == "user" and message.agent_visible and is_typed(message):
            text = "\n".join(part.text for part in message.parts if part.kind == "text")
            prompts[position] = text[: _MAX_TYPED - size]
            size += len(text)
    return prompts


def _by_id(
    messages: Sequence[Message], prompts: dict[int, str], results: dict[int, str]
) -> list[int]:
    """The results whose call id is a word of a later message."""
    ids: dict[str, list[int]] = {}
    for position in results:
        result = messages[position].result
        call_id = result.call_id if result else None
        if call_id and _ID.match(call_id):
            ids.setdefault(call_id, []).append(position)
    last_mentions: dict[str, int] = {}
    for position, text in sorted(prompts.items()):
        if len(ids) > _FEW or any(map(text.__contains__, ids)):
            words = [word.strip(".:!?") for word in _WORD.findall(text)]
            last_mentions.update(dict.fromkeys(words, position))
    return [
        position
        for call_id in ids.keys() & last_mentions.keys()
        for position in ids[call_id]
        if position < last_mentions[call_id]
    ]
