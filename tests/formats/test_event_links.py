"""Links between session events: repeated ids name the nearest event."""

from ctxtrim.formats.event_links import EventIndex, session_event
from ctxtrim.model import Span


def test_a_repeated_id_names_the_nearest_event_before_else_the_first_after() -> None:
    ids = [("x", "a"), ("a", None), ("y", "a"), ("a", None), ("z", "a")]
    index = EventIndex(
        [
            session_event({"id": name, "parentUuid": above}, Span(number))
            for number, (name, above) in enumerate(ids)
        ]
    )
    assert [index.find(number, "parentUuid") for number in range(5)] == [1, None, 1, None, 3]
