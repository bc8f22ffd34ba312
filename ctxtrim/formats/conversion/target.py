"""The contract of a target: what its API accepts, and how a dialogue is written for it."""

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ctxtrim.formats.conversion.attachments import Attachment
from ctxtrim.formats.conversion.block_members import NO_MEMBERS, BlockMembers
from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.pieces import Piece
from ctxtrim.formats.conversion.tools import Tool
from ctxtrim.model import Message, Role, ServerLink


class CallResult(Struct, frozen=True):
    """The result of a call. `message` is the result as read; None for a repaired call.

    `members` are other members of its block. `value` is the JSON value to write for a call that the
    target keeps.
    """

    call: Piece
    pieces: tuple[Piece, ...]
    is_error: bool | None = None
    message: Message | None = None
    members: BlockMembers = NO_MEMBERS
    value: dict[str, Any] | None = None


class Turn(Struct, frozen=True):
    """One message of the target, or the results after an assistant message (`tool`).

    `message` is the first message as read that it contains; None for an inserted turn.
    `is_developer`: a system message of OpenAI's role `developer`. `members` are other members of
    the message.
    """

    role: Role
    pieces: tuple[Piece, ...] = ()
    results: tuple[CallResult, ...] = ()
    message: Message | None = None
    is_developer: bool = False
    members: BlockMembers = NO_MEMBERS


class Dialogue(Struct, frozen=True):
    """A conversation without a format.

    `system` has the texts before the conversation, for targets that keep them apart. `native_tools`
    are tool schemas that only the target's provider defines.
    """

    turns: tuple[Turn, ...]
    system: tuple[Piece, ...] = ()
    model: str | None = None
    tools: tuple[Tool, ...] = ()
    native_tools: tuple[Any, ...] = ()


class Target(Struct, frozen=True):
    """An API that requests are written for.

    - `write`: the request of a dialogue
    - `reasoning`, `attachment`: a piece as a value of the target; None if the target cannot hold it
      (an attachment: in a message of a role)
    - `is_native`: the target accepts a block or an item as it is; `is_native_tool`: the same for a
      tool schema
    - `links`: how a block or an item that is kept, or the members of a call, relate to tools that
      the provider runs
    - `invalid_name`, `invalid_id`: characters that tool names and call ids cannot have;
      `longest_id`: the characters of the longest call id
    - `members`: the members of blocks and calls that the API accepts besides their content;
      `message_members`, `tool_members`: the same for messages and tools

    Its rules for messages:

    - `alternates`: roles alternate, a user message comes first, system messages are not in the list
    - `calls_last`: no text and no server tool may follow a call in its answer
    - `is_blank`: texts that the target refuses
    - `may_end_with_reasoning`: an answer may contain reasoning alone
    - `signs_parts`: texts and calls can have a signature
    - `flags_errors`: a result can be marked as an error
    - `names_authors`: messages can have the name of their author
    - `has_built_in_tools`: calls may be those of tools that OpenAI defines and the client runs
    - `has_namespaces`: tools may be in namespaces of OpenAI
    - `has_custom_tools`: calls and tools may be custom ones of OpenAI
    - `has_refusals`: texts of an answer may be refusals
    - `has_mcp_servers`: requests may have MCP servers (`mcp_servers`)
    - `takes_unions`: schemas of tools may have alternatives (`anyOf`) at the top
    """

    name: str
    write: Callable[[Dialogue, Losses], dict[str, Any]]
    reasoning: Callable[[Piece], Any]
    attachment: Callable[[Attachment, Role], Any]
    is_native: Callable[[Any], bool]
    is_native_tool: Callable[[dict[str, Any]], bool]
    invalid_name: re.Pattern[str]
    links: Callable[[Any], tuple[ServerLink, ...]] = lambda value: ()
    invalid_id: re.Pattern[str] | None = None
    longest_id: int = 64
    alternates: bool = False
    calls_last: bool = False
    is_blank: Callable[[str], bool] = lambda text: False
    may_end_with_reasoning: bool = False
    signs_parts: bool = False
    flags_errors: bool = False
    names_authors: bool = False
    has_built_in_tools: bool = False
    has_namespaces: bool = False
    has_custom_tools: bool = False
    has_refusals: bool = False
    has_mcp_servers: bool = False
    takes_unions: bool = False
    members: tuple[str, ...] = ()
    message_members: tuple[str, ...] = ()
    tool_members: tuple[str, ...] = ()
