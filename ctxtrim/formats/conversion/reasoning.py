"""Reasoning as its provider wrote it, from the blocks of clients that talk to several providers."""

from collections.abc import Mapping
from typing import Any

from ctxtrim.formats.fields import elements, first_string, members, string
from ctxtrim.text.records import dump, value_in

_SIGNATURES = (
    "signature", "data", "encrypted_content", "thoughtSignature", "thought_signature",
    "thinkingSignature",
)  # fmt: skip
# [BerriAI/litellm, litellm/litellm_core_utils/prompt_templates/factory.py]
_LITELLM = "provider_specific_fields"


def native_reasoning(block: Any, message: Any) -> Any:
    """The block as its provider wrote it, or the block itself if the provider is unknown.

    opencode writes the provider into the metadata of the block, pi next to the content of the
    message that contains the block, and LangChain members of the provider into `extras`.
    """
    if not isinstance(block, Mapping):
        return block
    signature = block.get("thinkingSignature")
    if isinstance(signature, str):
        return _from_pi(block, signature, members(message).get("api")) or block
    metadata, extras = members(block.get("metadata")), members(block.get("extras"))
    text = string(block.get("text")) or string(block.get("reasoning")) or ""
    signature = members(metadata.get("anthropic")).get("signature")
    if isinstance(signature, str):
        return {"type": "thinking", "thinking": text, "signature": signature}
    signature = members(metadata.get("google")).get("thoughtSignature")
    if isinstance(signature, str):
        return {"text": text, "thought": True, "thoughtSignature": signature}
    content = members(metadata.get("openai")).get("reasoningEncryptedContent")
    content = content or extras.get("encrypted_content")
    if isinstance(content, str):
        summary = [{"type": "summary_text", "text": text}] if text else []
        return {"type": "reasoning", "summary": summary, "encrypted_content": content}
    return block


def _from_pi(block: Mapping[str, Any], signature: str, api: object) -> dict[str, Any] | None:
    """The block that pi keeps as a signature, or as the JSON of a whole reasoning item (OpenAI)."""
    text = string(block.get("thinking")) or ""
    if not isinstance(api, str):
        return None
    if api.startswith("anthropic"):
        if block.get("redacted") is True:
            return {"type": "redacted_thinking", "data": signature}
        return {"type": "thinking", "thinking": text, "signature": signature}
    if api.startswith("google"):
        return {"text": text, "thought": True, "thoughtSignature": signature}
    if "responses" in api:
        return members(value_in(signature)) or None
    return None


def signature_in(block: Any) -> str | None:
    """What the provider signed or encrypted in a separate block."""
    if not isinstance(block, Mapping):
        return None
    inner = members(block.get("data")).get("signature")  # Kiro CLI
    return first_string((*map(block.get, _SIGNATURES), inner))


def raw_text(item: Any) -> str:
    """The reasoning itself in an item of OpenAI that may also have a summary; empty without it."""
    content = elements(members(item).get("content")) if members(item).get("summary") else []
    texts = (string(members(block).get("text")) for block in content)
    return "\n\n".join(filter(None, texts))


def part_signature(block: Any, message: Any) -> str | None:
    """The signature that Gemini adds to a text or a call, also in sessions of opencode and pi.

    pi keeps data of other APIs in the same members, and names the API of a message.
    """
    google = members(members(members(block).get("metadata")).get("google"))
    signature = thought_signature(block) or string(google.get("thoughtSignature")) or None
    api = string(members(message).get("api"))
    if api is None:
        return signature
    if not api.startswith("google"):
        return None
    return signature or string(members(block).get("textSignature"))


def thought_signature(block: Any) -> str | None:
    """The signature that Gemini adds to a text, a thought or a call."""
    if not isinstance(block, Mapping):
        return None
    return first_string((block.get("thoughtSignature"), block.get("thought_signature")))


def litellm_signature(value: Any) -> dict[str, Any]:
    """The signature of Gemini that LiteLLM keeps in a call, or for the text of an answer, as the
    member of Gemini's API of Chat Completions; empty without one.
    """
    outer = members(value)
    fields = members(outer.get(_LITELLM)) or members(members(outer.get("function")).get(_LITELLM))
    if not fields:
        return {}
    calls = dump(outer.get("tool_calls"))  # their signatures are repeated in the answer
    signatures = [fields.get("thought_signature")]
    for signature in elements(fields.get("thought_signatures")):
        if isinstance(signature, str) and signature not in calls:
            signatures.append(signature)
    signature = first_string(signatures)
    return {"extra_content": {"google": {"thought_signature": signature}}} if signature else {}


def signature_beside(call_members: Mapping[str, Any]) -> str | None:
    """The signature that Gemini adds to a call of Chat Completions, in the members of the call."""
    return string(
        members(members(call_members.get("extra_content")).get("google")).get("thought_signature")
    )
