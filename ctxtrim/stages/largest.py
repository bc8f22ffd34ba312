"""The largest messages of a transcript."""

from itertools import islice

from ctxtrim.findings import Subject, subject_of
from ctxtrim.model import Transcript
from ctxtrim.tokens.counter import Counter


def largest(counter: Counter, transcript: Transcript, number: int) -> list[Subject]:
    """The largest visible messages, the largest first."""
    messages = transcript.messages
    shape, exactness = counter.shape(messages), counter.exactness(transcript)
    costs = [cost.total for cost in counter.costs(messages)]
    order = sorted(range(len(costs)), key=costs.__getitem__, reverse=True)
    visible = (position for position in order if messages[position].agent_visible)
    subjects: list[Subject] = []
    for position in islice(visible, number):
        message, call = messages[position], shape.call[position]
        line = transcript.line_of(message)
        subjects.append(subject_of(message, line, call, costs[position], exactness))
    return subjects
