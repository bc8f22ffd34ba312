"""From a transcript to a dialogue: the messages that the model reads, calls and results paired.

::

    messages ──▶ turns ──▶ answers after their calls ──▶ roles as the target needs them
                   └── pieces, read from the source
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, takewhile
from operator import attrgetter

from msgspec.structs import replace

from ctxtrim.formats.conversion.block_members import OF_ONE_API, BlockMembers, kept_members_of_tool
from ctxtrim.formats.conversion.identifiers import Identifiers
from ctxtrim.formats.conversion.json_schema import has_unions, without_unions
from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.pieces import Piece
from ctxtrim.formats.conversion.server_tools import linked
from ctxtrim.formats.conversion.target import Dialogue, Target, Turn
from ctxtrim.formats.conversion.tools import Tool, tools_in
from ctxtrim.formats.conversion.turn_reader import TurnReader
from ctxtrim.model import Transcript

OPENING = "[The conversation starts with an answer.]"
"""The text of a user message that is inserted before a first message of the assistant."""
_BEFORE_CALLS = ("text", "native")  # the kinds of pieces that may not follow a call
_TOOL = "tool"  # the name of a tool without a name


def dialogue_of(
    transcript: Transcript, target: Target, losses: Losses, keeps_reasoning: bool
) -> Dialogue:
    """The dialogue of a transcript as a target needs it."""
    names = Identifiers(target.invalid_name, 64, _TOOL)
    tools, native = _tools(transcript, target, losses, names)
    reader = TurnReader(transcript, target, losses, names, keeps_reasoning)
    turns = list(reader.turns())
    if target.calls_last:
        turns = [_calls_last(turn, losses) for turn in turns]
    system: tuple[Piece, ...] = ()
    if target.alternates:
        system_turns = list(takewhile(lambda turn: turn.role == "system", turns))
        system = tuple(piece for turn in system_turns for piece in turn.pieces)
        turns = _merged(_without_system(turns[len(system_turns) :], losses))
    turns = linked(turns, target.links, losses)
    if not target.may_end_with_reasoning:
        turns = _followed(turns, losses)
    if target.alternates:
        turns = _opened(_merged(turns), losses)
    return Dialogue(tuple(turns), system, transcript.model, tools, native)


def _tools(
    transcript: Transcript, target: Target, losses: Losses, names: Identifiers
) -> tuple[tuple[Tool, ...], tuple[object, ...]]:
    """The functions with valid names, and the tools that only the target's provider defines.

    Names are unique in their namespace: APIs refuse a second tool of a name.
    """
    tools: dict[object, Tool] = {}
    native: list[object] = []
    for tool in tools_in(transcript.tools) if transcript.tools is not None else ():
        if isinstance(tool, Tool):
            valid_tool = _valid_tool(tool, target, losses, names)
            first_tool = tools.setdefault((valid_tool.namespace, valid_tool.name), valid_tool)
            if first_tool is not valid_tool:
                record = losses.change if first_tool == valid_tool else losses.lose
                what = f"the tool {valid_tool.name} is declared again; the first stays"
                record("tool schema", what)
        elif target.is_native_tool(tool):
            native.append(tool)
        else:
            name = str(tool.get("type") or tool.get("name") or next(iter(tool), "without a name"))
            losses.lose("tool schema", f"the tool {name} is defined by its provider")
    return tuple(tools.values()), tuple(native)


def _valid_tool(tool: Tool, target: Target, losses: Losses, names: Identifiers) -> Tool:
    """The tool with a valid name; a custom tool is a function if the target has no custom ones."""
    name = names.same(tool.name)
    if name != tool.name:
        losses.change("tool name", f"the tool {tool.name} is now {name}")
    if tool.is_custom and not target.has_custom_tools:
        what = f"the custom tool {name} is a function with the text input now"
        losses.change("tool schema", what)
        if tool.grammar is not None:
            losses.lose("grammar", f"the grammar of the custom tool {name}")
    schema = tool.schema
    if has_unions(schema) and not target.takes_unions:
        what = f"the alternatives at the top of the schema of {name} are properties now"
        losses.change("tool schema", what)
        schema = without_unions(schema)
    namespace = tool.namespace
    if namespace is not None and not target.has_namespaces:
        what = f"the namespace {namespace.name} of the tool {name}"
        losses.lose("tool namespace", what, severity="info")
        namespace = None
    members = _members(tool, target, losses)
    return replace(tool, name=name, schema=schema, members=members, namespace=namespace)


def _members(tool: Tool, target: Target, losses: Losses) -> BlockMembers:
    """The members of a tool that a target accepts."""
    is_responses = target.name == "openai-responses"
    names: Sequence[str] = target.tool_members
    if tool.is_of_responses != is_responses:
        names = [key for key in names if key not in OF_ONE_API]
    members = kept_members_of_tool(tool.members, names, tool.name, losses)
    if members.get("strict") is False and not is_responses:  # the default
        return {key: value for key, value in members.items() if key != "strict"}
    return members


def _calls_last(turn: Turn, losses: Losses) -> Turn:
    """The turn with its texts, and calls that the provider ran, before its first call."""
    calls = [position for position, piece in enumerate(turn.pieces) if piece.kind == "call"]
    if not calls:
        return turn
    before, rest = turn.pieces[: calls[0]], turn.pieces[calls[0] :]
    late_pieces = [piece for piece in rest if piece.kind in _BEFORE_CALLS]
    if not late_pieces:
        return turn
    what = "text" if any(piece.kind == "text" for piece in late_pieces) else "server tool"
    losses.change("order", f"the {what} after a call is before it now", turn.message)
    others = [piece for piece in rest if piece.kind not in _BEFORE_CALLS]
    return replace(turn, pieces=(*before, *late_pieces, *others))


def _without_system(turns: Iterable[Turn], losses: Losses) -> Iterator[Turn]:
    """The turns; those of system messages are user turns."""
    for turn in turns:
        if turn.role == "system":
            what = "the system message between others is a user text now"
            losses.change("system message", what, turn.message)
            turn = replace(turn, role="user")
        yield turn


def _opened(turns: list[Turn], losses: Losses) -> list[Turn]:
    """The turns with a user turn first."""
    if not turns or turns[0].role == "user":
        return turns
    losses.change("first message", "a user message is inserted before the first answer")
    return [Turn("user", (Piece("text", OPENING),)), *turns]


def _merged(turns: Iterable[Turn]) -> list[Turn]:
    """The turns, with adjacent user turns and adjacent assistant turns merged."""
    merged_turns: list[Turn] = []
    for role, group in groupby(turns, attrgetter("role")):
        run = list(group)
        if role == "tool" or len(run) == 1:
            merged_turns += run
        else:
            pieces = chain.from_iterable(turn.pieces for turn in run)
            merged_turns.append(replace(run[0], pieces=tuple(pieces)))
    return merged_turns


def _followed(turns: list[Turn], losses: Losses) -> list[Turn]:
    """The turns without reasoning at the end of an answer.

    An answer of reasoning alone continues in the answer after it.
    """
    kept_turns: list[Turn] = []
    waiting_pieces: tuple[Piece, ...] = ()
    for position, turn in enumerate(turns):
        if turn.role != "assistant":
            kept_turns.append(turn)
            continue
        pieces, waiting_pieces = (*waiting_pieces, *turn.pieces), ()
        end = _end_without_reasoning(pieces)
        if end == 0 and pieces and _is_answer(turns[position + 1 : position + 2]):
            waiting_pieces = pieces
            continue
        for _ in pieces[end:]:
            what = "reasoning that no text and no call follows"
            losses.lose("reasoning text", what, turn.message)
        if end:
            kept_turns.append(replace(turn, pieces=pieces[:end]))
    return kept_turns


def _end_without_reasoning(pieces: Sequence[Piece]) -> int:
    """The number of pieces up to the last one that is not reasoning."""
    ends = (end for end, piece in enumerate(pieces, 1) if piece.kind != "reasoning")
    return max(ends, default=0)


def _is_answer(turns: Sequence[Turn]) -> bool:
    """Whether the turns begin with an answer."""
    return bool(turns) and turns[0].role == "assistant"
