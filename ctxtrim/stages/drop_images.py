"""Replace old images and documents by a line of text.

Agents that use a browser or a screen send a screenshot with every step, and each costs as much as a
long text. The recent ones show the state of the screen. A line replaces each older one::

    [image, 1024×768, ~765 tokens, removed]

The stage keeps audio, pinned and hidden messages, and attachments that are smaller than their line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ctxtrim.conversation import pins
from ctxtrim.conversation.edits import with_texts_for
from ctxtrim.findings import Finding
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.stage import Action, Change, Outcome, Stage, change_of, setting
from ctxtrim.stages import common_settings
from ctxtrim.text.numbers import several

_NAMES = {"image": "image", "pdf": "document", "file": "file"}
"""The word in the line for each kind of media. Other kinds are kept."""

_NO_PLACE = "the format has no place for a text here"
_NOT_SMALLER = "its line would not be smaller"


@dataclass(frozen=True)
class DropImages(Stage):
    """Replace old images and documents by a line of text."""

    clock: str = common_settings.clock()
    max_age: int = setting(
        5, "Keep the images and documents of the last N steps (or turns).", least=0
    )
    pin: tuple[str, ...] = common_settings.pin()

    @staticmethod
    def idle(settings: Mapping[str, Any]) -> str:
        """Why nothing changes."""
        if settings["clock"] == "none":
            return "no image is dropped with clock=none; set the clock to steps or turns"
        age, clock = settings["max_age"], settings["clock"]
        advice = "; try --max-age 0" if age else ""
        return f"no image to drop is older than {several(age, clock.removesuffix('s'))}{advice}"

    def __call__(self, transcript: Transcript) -> Outcome:
        """The transcript without old images.

        The changes name every message that has an image or a document.
        """
        messages = transcript.messages
        shape = self.counter.shape(messages)
        pinned = pins.pinned(shape, self.pin)
        ages = shape.ages(self.clock)
        out = list(messages)
        changes: list[Change] = []
        stuck = 0
        for position, message in enumerate(messages):
            if not message.agent_visible or not any(map(_is_document, message.parts)):
                continue
            action: Action = "kept"
            age = ages[position]
            if position in pinned:
                reason = pinned[position]
            elif self.clock == "none":
                reason = "nothing is too old"
            elif age <= self.max_age:
                reason = f"age {age} <= {self.max_age}"
            else:
                out[position], number = self._without(message, shape.fan[position])
                stuck += number
                if out[position] is not message:
                    action, reason = "truncated", f"age {age} > {self.max_age}"
                elif number:
                    reason = _NO_PLACE
                else:
                    reason = _NOT_SMALLER
            changes.append(change_of(messages, position, action, reason))
        return Outcome(
            replace(transcript, messages=tuple(out)), tuple(changes), _stuck(transcript, stuck)
        )

    def _without(self, message: Message, fan: int) -> tuple[Message, int]:
        """The message with lines for its images and documents, and the number that no line can
        replace.
        """
        costs = self.counter.cost(message, fan)
        lines: dict[int, str] = {}
        for position, (part, tokens) in enumerate(zip(message.parts, costs.parts, strict=True)):
            if _is_document(part):
                line = _label(part, tokens)
                if self.counter.text(line) < tokens:
                    lines[position] = line
        shorter, stuck = with_texts_for(message, lines)
        if self.counter.cost(shorter, fan).total >= costs.total:
            shorter = message
        return shorter, stuck


def _is_document(part: Part) -> bool:
    """Whether a part is an image or a document."""
    return part.kind == "attachment" and (part.media is None or part.media.kind in _NAMES)


def _label(part: Part, tokens: int) -> str:
    """The line for an image or a document; `tokens` is what it costs."""
    name = "document" if part.media is None else _NAMES[part.media.kind]
    pixels = part.media.pixels if part.media is not None else None
    size = f" {pixels[0]}×{pixels[1]}," if pixels is not None else ""
    return f"[{name},{size} ~{tokens:,} tokens, removed]"


def _stuck(transcript: Transcript, number: int) -> tuple[Finding, ...]:
    """A warning if old images are kept because their format cannot hold a text instead."""
    if not number:
        return ()
    kept = f"{number} old images or documents are kept"
    if number == 1:
        kept = "1 old image or document is kept"
    text = f"{kept}: this format has no place for a text instead"
    return (Finding("not-replaceable", "warning", text, transcript.line),)
