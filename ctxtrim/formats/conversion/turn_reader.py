"""From a transcript to turns: the messages that the model reads, with calls and results paired."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.conversation.turns import Shape, shape
from ctxtrim.formats.conversion.attachments import Attachment
from ctxtrim.formats.conversion.block_members import (
    NO_MEMBERS,
    BlockMembers,
    has_resolution,
    kept_members,
)
from ctxtrim.formats.conversion.identifiers import Identifiers
from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.numbers import values_in
from ctxtrim.formats.conversion.pieces import Piece, PieceReader
from ctxtrim.formats.conversion.reasoning import raw_text, signature_beside
from ctxtrim.formats.conversion.target import CallResult, Target, Turn
from ctxtrim.formats.lines import SourceValues
from ctxtrim.model import Message, Part, Role, Transcript
from ctxtrim.stages.repair import ANSWER


class TurnReader:
    """Reads the turns of a transcript for a target. `losses` collects what a turn cannot have."""

    def __init__(
        self,
        transcript: Transcript,
        target: Target,
        losses: Losses,
        names: Identifiers,
        keeps_reasoning: bool,
    ) -> None:
        self._messages = transcript.messages
        self._records_calls = transcript.rules.records_calls
        self._target, self._losses, self._names = target, losses, names
        self._keeps_reasoning = keeps_reasoning
        self._pieces = PieceReader(SourceValues(transcript.source.lines), losses, target.is_native)
        self._shape: Shape = shape(transcript.messages)
        self._ids = Identifiers(target.invalid_id, target.longest_id, "call")
        self._results, self._separated_positions = _results(transcript.messages, self._shape)

    def turns(self) -> Iterator[Turn]:
        """The turns in order: results follow their calls, and every call has one."""
        for position, message in enumerate(self._messages):
            if not message.agent_visible:
                self._losses.lose("hidden message", "the model does not see it", message, "info")
                continue
            if message.metadata:
                keys = ", ".join(key for key, _ in message.metadata)
                self._losses.lose("debug field", f"the fields {keys}", message, "info")
            if message.role != "tool" and message.name and not self._target.names_authors:
                what = f"the author {message.name}"
                self._losses.lose("author name", what, message, "info")
            if message.role == "tool":
                yield from self._unpaired(position, message)
            elif message.role == "assistant":
                yield from self._answer(message)
            else:
                yield from self._words(message)

    def _words(self, message: Message) -> Iterator[Turn]:
        """The turn of a user or system message. Only the model makes calls."""
        for call in message.calls:
            what = f"the call of {call.name}, which a user made, and its result"
            self._losses.lose("user's call", what, message)
        pieces = tuple(self._target_pieces(message, message.parts, message.role))
        if pieces or not message.calls:
            is_developer = self._pieces.is_developer(message)
            members = self._members_beside(message)
            turn = Turn(
                message.role, pieces, message=message, is_developer=is_developer, members=members
            )
            yield from self._unless_empty(turn, message)

    def _unless_empty(self, turn: Turn, message: Message) -> Iterator[Turn]:
        if turn.pieces:
            yield turn
        else:
            self._losses.lose("empty message", f"the {message.role} message is empty", message)

    def _unpaired(self, position: int, message: Message) -> Iterator[Turn]:
        """The turn of a result whose call is not a call of the assistant: a user text."""
        call, caller = self._shape.call[position], self._messages[self._shape.caller[position]]
        if call is not None and call is not caller.action:
            return  # after its call, or lost with a user's call
        if call is None and self._records_calls:
            what = "the result answers no call before it; it is a user text now"
            self._losses.change("result", what, message)
        pieces = tuple(self._target_pieces(message, message.parts, "user"))
        yield from self._unless_empty(Turn("user", pieces, message=message), message)

    def _answer(self, message: Message) -> Iterator[Turn]:
        """The turn of an assistant message, and the turn of its results."""
        pieces: list[Piece] = []
        answers: list[tuple[int, CallResult]] = []
        for parts in _runs(message.parts):
            if parts[0].kind != "tool_call":
                pieces += self._target_pieces(message, parts, "assistant")
                continue
            call = self._call(message, parts[0])
            pieces.append(call)
            position = self._results.get(id(parts[0]))
            if position is None:
                answers.append((len(self._messages), self._no_result(message, call)))
            else:
                answers.append((position, self._result(position, call)))
        members = self._members_beside(message)
        turn = Turn("assistant", tuple(pieces), message=message, members=members)
        yield from self._unless_empty(turn, message)
        if answers:
            results = [answer for _, answer in sorted(answers, key=lambda pair: pair[0])]
            yield Turn("tool", results=tuple(results), message=results[0].message)

    def _call(self, message: Message, part: Part) -> Piece:
        call_id, name = self._ids.unique(part.call_id), self._names.same(part.name)
        if part.call_id and call_id != part.call_id:
            self._losses.change("call id", f"the call id {part.call_id} is now {call_id}", message)
        if name != part.name:
            self._losses.change("tool name", f"the tool {part.name} is now {name}", message)
        item = self._pieces.built_in(part)
        if item is not None:
            if self._built_in_output(part, item) is not None:
                return Piece("call", value=item, call_id=call_id, name=name)
            what = f"the {item['type']} is a call of a function now"
            self._losses.change("call type", what, message)
        block_members = self._pieces.members_at(part.block)
        signature = self._pieces.signature_of(part)
        call_signature = signature_beside(block_members)
        if call_signature is not None and self._target.signs_parts:
            signature = signature or call_signature
            block_members = {**block_members}
            block_members.pop("extra_content", None)
        piece = Piece(
            "call",
            self._pieces.arguments_of(part),
            signature=signature,
            call_id=call_id,
            name=name,
            is_custom=self._pieces.is_custom(part),
            members=self._members(block_members, message),
        )
        return self._signed(message, piece)

    def _built_in_output(self, part: Part, item: dict[str, Any]) -> dict[str, Any] | None:
        """The output of a built-in call, if the target keeps both."""
        position = self._results.get(id(part))
        if position is None or not self._target.has_built_in_tools:
            return None
        return self._pieces.output_of(item, self._messages[position])

    def _no_result(self, message: Message, call: Piece) -> CallResult:
        what = f"call {call.call_id} of {call.name} has no result; one is inserted that says so"
        self._losses.change("result", what, message)
        return CallResult(call, (Piece("text", ANSWER),))

    def _result(self, position: int, call: Piece) -> CallResult:
        message = self._messages[position]
        if position in self._separated_positions:
            self._losses.change("order", "the result now follows its call directly", message)
        if call.value is not None:
            output = self._pieces.output_of(call.value, message)
            return CallResult(call, (), message=message, value=output)
        # an exit code in the text is no flag
        flags = [part.is_error for part in message.parts if part.wrapper is None]
        is_error = next((flag for flag in flags if flag is not None), None)
        if is_error and not self._target.flags_errors:
            what = "the mark that the result is an error"
            self._losses.lose("error flag", what, message, "info")
        pieces: list[Piece] = []
        for piece in self._pieces.read(message, message.parts):
            pieces += self._in_target(message, piece, "tool")
        block_members = self._pieces.members_at(message.spans[0] if message.spans else None)
        members = self._members(block_members, message)
        pieces = self._without_blank(message, pieces)
        return CallResult(call, tuple(pieces), is_error, message, members)

    def _without_blank(self, message: Message, pieces: list[Piece]) -> list[Piece]:
        """The pieces of a result without blank texts, but not without all of them."""
        kept_pieces: list[Piece] = []
        for piece in pieces:
            is_blank = not piece.text or self._target.is_blank(piece.text)
            if piece.kind != "text" or not is_blank:
                kept_pieces.append(piece)
            elif piece.text and len(pieces) > 1:
                self._losses.lose("blank text", "a text of white space", message, "info")
        return kept_pieces or pieces[:1]

    def _target_pieces(
        self, message: Message, parts: Iterable[Part], role: Role
    ) -> Iterator[Piece]:
        """The pieces of some parts that the target can hold in a message of a role."""
        for piece in self._pieces.read(message, parts):
            if piece.kind != "text" or not self._target.is_blank(piece.text):
                yield from self._in_target(message, piece, role)
            elif piece.text:
                self._losses.lose("blank text", "a text of white space", message, "info")

    def _in_target(self, message: Message, piece: Piece, role: Role) -> Iterator[Piece]:
        """The piece as the target holds it, if it can."""
        if piece.kind == "reasoning" and role != "assistant":
            what = f"reasoning in a message of role {role}"
            self._losses.lose("reasoning text", what, message)
        elif piece.kind == "reasoning":
            yield from self._reasoning(message, piece)
        elif piece.attachment is not None:
            yield from self._attachment(message, piece, piece.attachment, role)
        else:
            if piece.is_refusal and not (self._target.has_refusals and role == "assistant"):
                self._losses.change("refusal", "the refusal is a text now", message)
                piece = replace(piece, is_refusal=False)
            piece = replace(piece, members=self._members(piece.members, message))
            yield self._signed(message, piece)

    def _attachment(
        self, message: Message, piece: Piece, attachment: Attachment, role: Role
    ) -> Iterator[Piece]:
        """The piece of an attachment, if the target can hold it in a message of a role."""
        value = self._target.attachment(attachment, role)
        if value is None:
            what = f"{attachment.description} in a message of role {role}"
            self._losses.lose(attachment.noun, what, message)
            return
        texts = [inner for inner in values_in(value) if isinstance(inner, str)]
        if attachment.name and not any(text.startswith(attachment.name) for text in texts):
            self._losses.lose("file name", f"the name {attachment.name}", message, "info")
        if attachment.detail not in (None, "auto", *texts) and not has_resolution(piece.members):
            what = f"the detail {attachment.detail} of {attachment.description}"
            self._losses.lose("image resolution", what, message, "info")
        members = self._members(piece.members, message)
        yield replace(piece, value=value | dict(members), members=NO_MEMBERS)

    def _members(self, block_members: BlockMembers, message: Message) -> BlockMembers:
        """The members of a block that the target accepts."""
        return kept_members(block_members, self._target.members, message, self._losses)

    def _members_beside(self, message: Message) -> BlockMembers:
        """The members next to the content of a message that the target accepts."""
        message_members = self._pieces.members_of_message(message)
        return kept_members(message_members, self._target.message_members, message, self._losses)

    def _signed(self, message: Message, piece: Piece) -> Piece:
        if piece.signature is None or self._target.signs_parts:
            return piece
        what = "a signature of another provider"
        self._losses.lose("signature", what, message, "info")
        return replace(piece, signature=None)

    def _reasoning(self, message: Message, piece: Piece) -> Iterator[Piece]:
        if not piece.text and piece.signature is None:
            return
        value = self._target.reasoning(piece) if self._keeps_reasoning else None
        if value is not None:
            is_kept = isinstance(value, dict) and piece.signature in value.values()
            if piece.signature is not None and not is_kept:
                self._losses.lose("signature", "a signature of reasoning", message, "info")
            reasoning = raw_text(piece.value)
            texts = [inner for inner in values_in(value) if isinstance(inner, str)]
            if reasoning and not any(reasoning in text for text in texts):
                what = "the text of reasoning next to its summary"
                self._losses.lose("reasoning text", what, message, "info")
            yield replace(piece, value=value)
        elif not self._keeps_reasoning:
            self._losses.lose("reasoning text", "reasoning, as requested", message, "info")
        elif piece.text:
            what = f"reasoning without a signature that {self._target.name} accepts"
            self._losses.lose("reasoning text", what, message)
        else:
            what = "reasoning that only its provider reads"
            self._losses.lose("encrypted reasoning text", what, message)


def _results(messages: Sequence[Message], shape: Shape) -> tuple[dict[int, int], set[int]]:
    """The position of each result by the identity of its call, and the positions of the results
    that other messages separate from their call.
    """
    positions: dict[int, int] = {}
    separated_positions: set[int] = set()
    last_position = -1  # the message before, as the model sees it
    for position, (message, call) in enumerate(zip(messages, shape.call, strict=True)):
        if not message.agent_visible:
            continue
        if call is not None:
            call_position = shape.caller[position]
            positions[id(call)] = position
            if last_position != call_position and (
                shape.caller[last_position] != call_position or last_position in separated_positions
            ):
                separated_positions.add(position)
        last_position = position
    return positions, separated_positions


def _runs(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Each call alone, and the parts between calls together."""
    run: list[Part] = []
    for part in parts:
        if part.kind == "tool_call":
            if run:
                yield run
            yield [part]
            run = []
        else:
            run.append(part)
    if run:
        yield run
