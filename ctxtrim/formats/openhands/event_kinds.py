"""The kinds of OpenHands events: actions and observations of version 0, and events of its SDK."""

SILENT_ACTIONS = (
    "null", "recall", "system", "change_agent_state", "agent_state_changed", "pause", "resume",
    "stop", "start", "condensation", "condensation_request", "status", "server_ready",
    "loop_recall",
)  # fmt: skip
"""Actions and observations that the model does not read, or not as a call or its result."""

MAIN_ARGUMENT = {
    "run": "command",
    "run_ipython": "code",
    "read": "path",
    "write": "path",
    "edit": "path",
    "browse": "url",
    "browse_interactive": "browser_actions",
    "call_tool_mcp": "name",
    "delegate": "agent",
}
"""The main argument of an action that is a call; without it there is no call."""
_MESSAGE_ACTIONS = ("message", "finish", "think")

_SDK_MESSAGES = (
    "ActionEvent", "AgentErrorEvent", "CondensationSummaryEvent", "MessageEvent",
    "ObservationEvent", "SystemPromptEvent", "UserRejectObservation",
)  # fmt: skip
SILENT_SDK_EVENTS = (
    "ACPToolCallEvent", "Condensation", "CondensationRequest", "ConversationErrorEvent",
    "ConversationIterationLimitEvent", "ConversationStateUpdateEvent", "HookExecutionEvent",
    "InterruptEvent", "LLMCompletionLogEvent", "PauseEvent", "ServerErrorEvent",
    "StreamingDeltaEvent", "TokenEvent",
)  # fmt: skip
"""Events of the SDK that the model does not read, except the summary of a condensation."""


def is_action_or_observation(value: object) -> bool:
    """Whether a value is an action or observation; no other format writes them."""
    if not isinstance(value, dict):
        return False
    action, observation = value.get("action"), value.get("observation")
    if isinstance(action, str) and observation is None:
        return isinstance(value.get("args"), dict) or (
            "source" not in value and action in (*MAIN_ARGUMENT, *_MESSAGE_ACTIONS, "null")
        )
    if not isinstance(observation, str) or not isinstance(value.get("content"), str):
        return False
    if action is not None:
        return False
    return isinstance(value.get("extras"), dict) or (
        "source" not in value and observation in (*MAIN_ARGUMENT, *SILENT_ACTIONS)
    )


def is_sdk_event(value: object) -> bool:
    """Whether a value is an event of the SDK of a known kind."""
    if not isinstance(value, dict) or "source" not in value:
        return False
    return value.get("kind") in (*_SDK_MESSAGES, *SILENT_SDK_EVENTS)
