"""The pieces of a message without a format, read from the parts and their values in the source."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, Literal

from msgspec import Struct

from ctxtrim.formats.conversion.attachments import Attachment, attachment_of, noun_of
from ctxtrim.formats.conversion.block_members import (
    NO_MEMBERS,
    BlockMembers,
    members_of,
    members_of_message,
)
from ctxtrim.formats.conversion.block_texts import (
    TEXT_KEYS,
    document_blocks,
    has_data,
    heading,
    own_text,
    result_text,
)
from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.numbers import is_finite, json_text, values_in
from ctxtrim.formats.conversion.reasoning import native_reasoning, part_signature, signature_in
from ctxtrim.formats.fields import members
from ctxtrim.formats.lines import SourceValues
from ctxtrim.formats.media_blocks import media_of, text_block
from ctxtrim.model import Media, Message, Part, Span
from ctxtrim.text.records import dump

_BUILT_IN = (
    "local_shell_call", "shell_call", "apply_patch_call", "computer_call", "tool_search_call",
)  # fmt: skip
PieceKind = Literal["text", "reasoning", "call", "attachment", "native"]


class Piece(Struct, frozen=True):
    """One piece of a message.

    `text` is the text, or the arguments of a call. `value` is the JSON value in the source; for
    `native` pieces, and for reasoning, attachments and calls that a target keeps, it is the value
    to write. `signature` is what the provider signed or encrypted. `call_id` and `name` are those
    of a call. `is_custom`: a call of a custom tool of OpenAI, whose argument is a text.
    `is_refusal`: a text with which the model of OpenAI refused. `members` are other members of its
    block.
    """

    kind: PieceKind
    text: str = ""
    value: Any = None
    signature: str | None = None
    attachment: Attachment | None = None
    call_id: str = ""
    name: str = ""
    is_custom: bool = False
    is_refusal: bool = False
    members: BlockMembers = NO_MEMBERS


def content_of(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """One text as a string, else content blocks."""
    is_text = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    return str(blocks[0]["text"]) if is_text else blocks


def content_blocks(
    pieces: Iterable[Piece], spell: Callable[[str], dict[str, Any]] = text_block
) -> list[dict[str, Any]]:
    """Texts, as `spell` writes them, refusals and attachments as content blocks."""
    return [_block(piece, spell) for piece in pieces]


def _block(piece: Piece, spell: Callable[[str], dict[str, Any]]) -> Any:
    if piece.kind != "text":
        return piece.value
    is_refusal = piece.is_refusal
    block = {"type": "refusal", "refusal": piece.text} if is_refusal else spell(piece.text)
    return block | dict(piece.members)


class PieceReader:
    """Reads the pieces of messages.

    `is_native`: the target accepts a JSON value of the source as it is.
    """

    def __init__(
        self, values: SourceValues, losses: Losses, is_native: Callable[[Any], bool]
    ) -> None:
        self._values, self._losses, self._is_native = values, losses, is_native

    def read(self, message: Message, parts: Iterable[Part]) -> Iterator[Piece]:
        """The pieces of some parts of a message, without its calls."""
        spans: set[Span] = set()  # the JSON values of which a piece has all parts
        for group in _by_source(parts):
            part = group[0]
            if part.kind == "reasoning":
                yield self._reasoning(group)
            elif part.media is not None:
                if part.media.kind == "sealed" or part.source not in spans:
                    yield from self._attachment(message, part, part.media)
            elif part.kind != "tool_call" and part.source not in spans:
                if part.source is not None:
                    spans.add(part.source)
                yield from self._text(message, part)

    def value_of(self, part: Part) -> Any:
        """The JSON value that a part was read from; None if it is unknown."""
        span = part.source or part.block
        return None if span is None else self._values.at(span)

    def signature_of(self, part: Part) -> str | None:
        """The signature of Gemini in a text or a call."""
        return part_signature(self.value_of(part), self._around(part))

    def arguments_of(self, call: Part) -> str:
        """The arguments of a call; NaN and infinity are words, which are null in the part."""
        if call.span is not None or "null" not in call.text:
            return call.text
        block = self.value_of(call)
        if is_finite(block):
            return call.text
        objects = (value for value in values_in(block) if isinstance(value, dict))
        arguments = next((value for value in objects if dump(value) == call.text), None)
        return call.text if arguments is None else json_text(arguments)

    def members_at(self, span: Span | None) -> BlockMembers:
        """The members of the block or the item at a span besides its content."""
        return NO_MEMBERS if span is None else members_of(self._item_at(span))

    def members_of_message(self, message: Message) -> BlockMembers:
        """The members of a message besides its content, from all its items."""
        message_members: dict[str, Any] = {}
        for span in message.spans:
            message_members |= members_of_message(self._item_at(span))
        return message_members

    def _item_at(self, span: Span) -> Any:
        """The value at a span; of an event of Codex the item in it."""
        value = self._values.at(span)
        return members(members(value).get("payload")) or value

    def is_custom(self, call: Part) -> bool:
        """Whether a call is one of a custom tool of OpenAI, in Chat Completions or Responses."""
        if call.span is None or call.span.path[-1:] != ("input",):
            return False
        path = call.span.path[:-1]
        item = members(self._values.at(Span(call.span.line, path)))
        return path[-1:] == ("custom",) or item.get("type") == "custom_tool_call"

    def built_in(self, call: Part) -> dict[str, Any] | None:
        """The call of a tool that OpenAI defines and the client runs; None for others."""
        span = call.source or call.block
        item = members(self._item_at(span)) if span is not None else {}
        return item if item.get("type") in _BUILT_IN else None

    def output_of(self, call: dict[str, Any], message: Message) -> dict[str, Any] | None:
        """The output of a built-in call in a message; None if its kind is that of other calls."""
        output = members(self._item_at(message.spans[0])) if message.spans else {}
        kind = call["type"]
        kinds = (f"{kind}_output", f"{kind.removesuffix('_call')}_output")
        return output if output.get("type") in kinds else None

    def is_developer(self, message: Message) -> bool:
        """Whether a message has the role `developer`, also inside an event of Codex."""
        if message.role != "system" or not message.spans:
            return False
        return members(self._item_at(message.spans[0])).get("role") == "developer"

    def _around(self, part: Part) -> Any:
        """The object around the list of blocks that contains a part; None if it is unknown."""
        if part.block is None or len(part.block.path) < 2:
            return None
        return self._values.at(part.block.outer.outer)

    def _reasoning(self, parts: list[Part]) -> Piece:
        value = native_reasoning(self.value_of(parts[0]), self._around(parts[0]))
        text = "\n\n".join(part.text for part in parts if part.text and not part.media)
        if isinstance(value, dict) and value.get("type") == "redacted_thinking":
            text = ""
        signature = signature_in(value)
        if signature is None and any(part.sealed or part.media for part in parts):
            signature = ""
        return Piece("reasoning", text, value, signature)

    def _attachment(self, message: Message, part: Part, media: Media) -> Iterator[Piece]:
        value = self.value_of(part)
        if part.server and isinstance(value, dict):  # the result of a server tool, with its file
            yield from self._block(message, part, value)
        elif media.kind != "sealed":
            yield from self._attached(message, value, media)
        elif self._is_native(value):
            yield Piece("native", value=value)
        else:
            self._losses.lose("encrypted text", "a text that only its provider reads", message)

    def _attached(self, message: Message, value: Any, media: Media) -> Iterator[Piece]:
        """An image or a file, if the source has it."""
        attachment = attachment_of(value, media)
        if attachment is not None:
            yield Piece("attachment", attachment=attachment, members=members_of(value))
            return
        what = noun_of(media.kind)
        self._losses.lose(what, f"the source has no data, URL or id of this {what}", message)

    def _text(self, message: Message, part: Part) -> Iterator[Piece]:
        value = self.value_of(part) if part.span is None or part.source is not None else None
        is_block = part.sealed > 0 or part.source is not None
        if isinstance(value, dict) and (is_block or dump(value) == part.text):
            yield from self._block(message, part, value)
            return
        if isinstance(value, str) and dump(value) == part.text:  # a text among blocks
            yield Piece("text", value)
            return
        block_members = self.members_at(part.block)
        place = part.span or part.source
        is_refusal = place is not None and place.path[-1:] == ("refusal",)
        yield Piece(
            "text",
            part.spelled,
            signature=self.signature_of(part),
            is_refusal=is_refusal,
            members=block_members,
        )

    def _block(self, message: Message, part: Part, value: dict[str, Any]) -> Iterator[Piece]:
        """A block that is neither a text nor an image or a file."""
        if self._is_native(value):
            yield Piece("native", value=value)
        elif value.get("type") in ("document", "search_result"):
            yield from self._document(message, value)
        elif message.role == "tool" and not has_data(value):
            yield _result(part, value)
        else:
            yield from self._unknown(message, value)

    def _document(self, message: Message, value: dict[str, Any]) -> Iterator[Piece]:
        """The texts of an Anthropic document or search result, and its images."""
        lines = heading(value)
        document_members = dict(members_of(value))
        document_members.pop("context", None)
        for block in document_blocks(value):
            media = media_of(block)
            if media is None:
                lines.append(block["text"])
                continue
            if lines:
                yield Piece("text", "\n".join(lines), members=document_members)
                lines, document_members = [], {}
            yield from self._attached(message, block, media)
        if lines:
            yield Piece("text", "\n".join(lines), members=document_members)

    def _unknown(self, message: Message, value: dict[str, Any]) -> Iterator[Piece]:
        """The text of a block of an unknown type, if it has one."""
        text, kind = own_text(value), value.get("type")
        name = f"of type {kind}" if isinstance(kind, str) else "without a type"
        if text is None:
            self._losses.lose("content block", f"a block {name}", message)
            return
        yield Piece("text", text)
        others = [key for key in value if key not in TEXT_KEYS]
        if others:
            what = f"the fields {', '.join(others)} of a block {name}"
            self._losses.lose("content block", what, message)


def _result(part: Part, value: dict[str, Any]) -> Piece:
    """A result that is a JSON object, as its text; `value` is the object."""
    if part.sealed:  # the text is without what is encrypted
        return Piece("text", part.text)
    inner = value["json"] if value.get("type") == "json" and "json" in value else value
    is_object = isinstance(inner, dict) and is_finite(inner)
    return Piece("text", result_text(value), inner if is_object else None)


def _by_source(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """The parts, with reasoning parts of one value in the source together."""

    def key(part: Part) -> object:
        is_shared = part.kind == "reasoning" and part.source is not None
        return part.source if is_shared else id(part)

    for _, group in groupby(parts, key):
        yield list(group)
