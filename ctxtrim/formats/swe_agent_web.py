"""Trajectories of SWE-agent's web page: `[{"issue_text", "history": [{"type", …}]}]`.

An element is a `thought`, an `action`, or the `output` of the action before it. `issue_text` is the
prompt; no other prompts are in the file.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.fields import string
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents, insert_elements
from ctxtrim.formats.message_parts import call_part, result_parts, text_of
from ctxtrim.model import Message, Part, Span

_STEPS = {"thought": "thought", "action": "action", "output": "output_terminal"}
_OUTPUTS = ("output_terminal", "output_editor", "narration")
_SHELL = "shell"


def knows(value: object) -> bool:
    """Whether a value is a step, or a message that ctxtrim inserted."""
    if not isinstance(value, dict) or "role" in value:
        return False
    kind = value.get("type")
    key = _STEPS.get(kind) if isinstance(kind, str) else None
    is_message = kind == "message" and isinstance(value.get("narration"), str)
    return is_message or (key is not None and isinstance(value.get(key), str))


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read one message from each element."""
    for value, span, whole in items:
        kind = value.get("type") if isinstance(value, dict) else None
        if not knows(value):
            contents.uncounted += kind is not None
        elif kind == "thought":
            thought = Part("text", value["thought"], span=span.inside("thought"))
            contents.add("assistant", [thought], whole)
        elif kind == "action":
            call = call_part(value["action"], None, _SHELL, span.inside("action"), None)
            contents.add("assistant", [call], whole)
        elif kind == "message":
            contents.add("user", _texts(value, span), whole)
        else:
            parts = result_parts(_texts(value, span), None, _SHELL)
            contents.add("tool", parts, whole, value=value)


def _texts(value: dict[str, Any], span: Span) -> list[Part]:
    """The outputs of an element that are not empty."""
    keys = [key for key in _OUTPUTS if string(value.get(key))]
    return [Part("text", value[key], span=span.inside(key)) for key in keys]


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The prompt, the model, and the id of the task."""
    text, text_span = string(value.get("issue_text")), span.inside("issue_text")
    prompt = Message(
        "user", (Part("text", text or "", span=text_span),), index=0, spans=(text_span,)
    )
    return Envelope(
        model=string(value.get("model")),
        id=string(value.get("instance_id")),
        preamble=(prompt,) if text else (),
    )


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an element.

    Raises a `NotEditableError` before the prompt, which is no element, and if there are no steps.
    """
    insertions = insert_elements(run, site, map(_json_value, run))
    if any(insertion.span.path[-1:] == ("issue_text",) for insertion in insertions):
        raise NotEditableError("a message can only come before or after a step of the history")
    return insertions


def _json_value(message: Message) -> dict[str, Any]:
    text = text_of(message.parts)
    if message.role == "tool":
        return {"type": "output", "output_terminal": text, "output_editor": "", "narration": ""}
    if message.role == "assistant":
        return {"type": "thought", "thought": text}
    return {"type": "message", "narration": text}


DIALECT = Dialect(
    "swe-agent-web",
    knows,
    read,
    insert,
    envelope=envelope,
    places=("history", "[*].history"),
    owns_place=lambda place: "issue_text" in place.envelope and isinstance(place.items, list),
    must_alternate=True,  # a summary joins the prompt, before which no element can be
)
