"""The largest messages of a transcript."""

from ctxtrim.findings import Subject, subject_of
from ctxtrim.model import Transcript
from ctxtrim.tokens.counter import Counter


def largest(counter: Counter, transcript: Transcript, number: int) -> list[Subject]:
    """The largest visible messages, the largest first."""
    messages = transcript.messages
    shape, exactness = counter.shape(messages), counter.exactness(transcript)
    costs = [cost.total for cost in counter.costs(messages)]
    order = sorted(range(len(costs)), key=costs.__getitem__, reverse=True)
    subjects: list[Subject] = []
    for position in order:
        message, tokens = messages[position], costs[position]
        if len(subjects) == number:
            break
        if not message.agent_visible:
            continue
        line = transcript.line_of(message)
        subjects.append(subject_of(message, line, shape.call[position], tokens, exactness))
    return subjects
