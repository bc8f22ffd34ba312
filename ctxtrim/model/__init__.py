"""The frozen values of a conversation, each with its location in the file.

A `Transcript` has messages, a `Message` has parts, and a `Part` has the `Span` of its text. Each
class has its module. `request` has the other fields of a request.

Equality ignores locations: two transcripts are equal if a model reads the same in both.
"""

from ctxtrim.model.location import Document, Line, Span
from ctxtrim.model.message import ROLES, VISIBLE, Companion, Message, Role
from ctxtrim.model.part import KINDS, Media, MediaKind, Part, PartKind, ServerLink, Wrapper
from ctxtrim.model.transcript import FormatRules, Source, StrictRoles, Transcript

__all__ = [
    "KINDS",
    "ROLES",
    "VISIBLE",
    "Companion",
    "Document",
    "FormatRules",
    "Line",
    "Media",
    "MediaKind",
    "Message",
    "Part",
    "PartKind",
    "Role",
    "ServerLink",
    "Source",
    "Span",
    "StrictRoles",
    "Transcript",
    "Wrapper",
]
