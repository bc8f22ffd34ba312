"""Shorten tool results: too old ones become a placeholder, too long ones lose their middle.

Structure stays: count, order, role, ids and every other field. Old means more steps ago than `max_age`, where a step
is an assistant message with calls. Errors and small results are kept however old they are; the size limit holds for
every age.
"""

import re
from dataclasses import dataclass, replace

from ctxtrim.counter import Counter
from ctxtrim.evidence import error_line, is_error
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.stage import Outcome, change_of, setting
from ctxtrim.tokens import MARKS, Budget, head, tail

_LEAST = 32  # tokens: room for the marker and something beside it


@dataclass(frozen=True)
class Truncate:
    """Shorten tool results that are too old or too long."""

    counter: Counter
    budget: Budget
    max_age: int = setting(5, "Keep the results of this many steps in full; older ones go.", least=0)
    max_tokens: int = setting(2000, "The most tokens one result may have, marker included.", least=_LEAST)
    placeholder: str = setting(
        "[content truncated - {age} steps ago]", "What stands in the place of an old result; {age} is its age in steps."
    )
    keep_errors: bool = setting(True, "Keep results that tell of an error, however old.")
    keep_small: int = setting(100, "Keep results of fewer tokens than this, however old.", least=0)
    metadata: bool = setting(False, "Put _originalLength and _truncatedAt beside what was shortened.")

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name every tool result, the kept ones with the reason why."""
        where = self.counter.shape(transcript.messages)
        messages = list(transcript.messages)
        changes = []
        for position, message in enumerate(messages):
            if message.role == "tool":
                age = where.steps - where.step[position]
                messages[position], action, reason = self._shorten(message, age, where.fan[position])
                changes.append(change_of(messages, position, "truncated" if action else "kept", reason))
        return Outcome(replace(transcript, messages=tuple(messages)), tuple(changes))

    def _shorten(self, message: Message, age: int, fan: int) -> tuple[Message, bool, str]:
        """The message as it shall be, whether it changed, and the reason."""
        texts = [part for part in message.parts if part.kind == "tool_result"]
        if any(part.span is None for part in texts):
            return message, False, "not rewritable"
        text = "\n".join(part.text for part in texts)
        tokens = self.counter.text(text)
        if self._is_placeholder(text):
            return message, False, "truncated before"
        new, reason = self._judge(message, text, tokens, age)
        if new is None:
            return message, False, reason
        short = _with_text(message, new)
        if self.counter.cost(short, fan).total >= self.counter.cost(message, fan).total:
            return message, False, "shortening it would not make it smaller"
        if self.metadata:
            short = replace(short, metadata=(("_originalLength", len(text)), ("_truncatedAt", age)))
        return short, True, reason

    def _judge(self, message: Message, text: str, tokens: int, age: int) -> tuple[str | None, str]:
        """The new text of a result, None where it stays, and the reason."""
        is_old, is_failure = age > self.max_age, is_error(message)
        mark = MARKS[self.counter.tokenizer.exactness]
        if not is_old:
            reason = f"age {age} <= {self.max_age}"
        elif tokens < self.keep_small:
            reason = f"small: {mark}{tokens} < {self.keep_small} tokens"
        elif self.keep_errors and is_failure:
            reason = "error"
        else:
            return self._fill(age), f"age {age} > {self.max_age}"
        if tokens <= self.max_tokens:
            return None, reason
        clip = self._clip(text, error_line(text) if is_failure else None)
        if is_old and is_failure and not is_error(_with_text(message, clip)):
            return self._fill(age), f"age {age} > {self.max_age}, and what shows the error does not fit"
        return clip, f"{mark}{tokens} > {self.max_tokens} tokens"

    def _fill(self, age: int) -> str:
        return self.placeholder.replace("{age}", str(age)).replace("{N}", str(age))

    def _is_placeholder(self, text: str) -> bool:
        pattern = re.escape(self.placeholder).replace(r"\{age\}", r"\d+").replace(r"\{N\}", r"\d+")
        return re.fullmatch(pattern, text) is not None

    def _clip(self, text: str, keep: tuple[int, int] | None) -> str:
        """Head, marker and tail of a text, `max_tokens` all together; `keep` is where a line stands that stays."""
        room = self.max_tokens - self.counter.text(_marker(len(text)))
        while room > 1:
            clip = self._cut(text, keep, room)
            over = self.counter.text(clip) - self.max_tokens
            if over <= 0:
                return clip
            room -= over
        return head(self.counter.tokenizer, text, self.max_tokens)  # not even a marker fits

    def _cut(self, text: str, keep: tuple[int, int] | None, room: int) -> str:
        """What is kept of a text, about `room` tokens, with markers that say what is not."""
        count = self.counter.tokenizer
        first = _whole_lines(head(count, text, room // 2))
        last = _last_lines(tail(count, text[len(first) :], room - count.count(first)))
        start, end = keep or (0, 0)
        if end <= len(first) or start >= len(text) - len(last):
            return first + _marker(len(text) - len(first) - len(last)) + last
        room -= count.count(_marker(len(text)))
        line = head(count, text[start:end], room // 3)
        first = _whole_lines(head(count, text[:start], room // 3))
        last = _last_lines(tail(count, text[start + len(line) :], room // 3))
        before, after = start - len(first), len(text) - len(last) - start - len(line)
        return first + (_marker(before) if before else "") + line + (_marker(after) if after else "") + last


def _with_text(message: Message, text: str) -> Message:
    """The message with one text in the place of all its result texts; images and other parts stay."""
    parts: list[Part] = []
    for part in message.parts:
        if part.kind != "tool_result":
            parts.append(part)
        elif not any(kept.kind == "tool_result" for kept in parts):
            parts.append(replace(part, text=text))
    return replace(message, parts=tuple(parts))


def _marker(characters: int) -> str:
    return f"\n... [truncated {characters} characters] ...\n"


def _whole_lines(text: str) -> str:
    """A beginning up to its last line break, where that keeps more than half of it."""
    end = text.rfind("\n")
    return text[:end] if end > len(text) // 2 else text


def _last_lines(text: str) -> str:
    """An end from its first line break on, where that keeps more than half of it."""
    start = text.find("\n") + 1
    return text[start:] if 0 < start < len(text) // 2 else text
