"""What takes too long ends with what was seen last, and nothing is waited for that needs a person."""

import pytest

from demo.endpoint import Look, StoryError, wait_for
from inferenceversion_operator.cli.errors import ClusterError
from inferenceversion_operator.cli.views.status import view_endpoint


def look(phase="Progressing", message="version 2.4.1 is getting ready"):
    status = {"phase": phase, "conditions": [condition("Stalled" if phase == "Stalled" else "Reconciling", message)]}
    endpoint = {"metadata": {"name": "news-sentiment", "namespace": "default"}, "status": status}
    return Look(view_endpoint(endpoint, ()), (), ())


def condition(kind, message):
    return {"type": kind, "status": "True", "reason": "Because", "message": message}


def looks(*seen):
    """Return a function that shows these one after the other, and the last one for ever; an error is raised."""
    left = list(seen)

    def next_look():
        now = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(now, Exception):
            raise now
        return now

    return next_look


def test_what_is_found_is_returned_and_each_look_is_told():
    told = []
    found = wait_for(
        looks(None, look(), look("Stable")),
        "it serves",
        lambda now: now.view.phase if now.view.phase == "Stable" else None,
        within=30,
        tell=lambda before, now: told.append((before and before.view.phase, now.view.phase)),
    )
    assert found == "Stable"
    assert told == [(None, "Progressing"), ("Progressing", "Stable")]


@pytest.mark.parametrize(
    ("seen", "last"),
    [
        (look(), "version 2.4.1 is getting ready"),
        (None, "does the operator run?"),
        (ClusterError("cluster x can't be reached"), "cluster x can't be reached"),
    ],
)
def test_what_takes_too_long_says_what_was_seen_last(seen, last):
    with pytest.raises(StoryError) as error:
        wait_for(looks(seen), "2.4.1 gets Ready", lambda _: None, within=0)
    assert str(error.value).startswith("2.4.1 gets Ready: not within 0 s; seen last: ")
    assert last in str(error.value)


def test_what_waits_for_a_person_is_not_waited_for():
    with pytest.raises(StoryError, match=r"it waits for a person: endpoint Because: set prometheus\.url"):
        wait_for(looks(look("Stalled", "set prometheus.url")), "the release", lambda _: None, within=3, stalled=0.1)


def test_a_cluster_that_is_away_for_a_moment_is_asked_again():
    back = looks(ClusterError("429 Too Many Requests"), look("Stable"))
    assert wait_for(back, "it serves", lambda now: now.view.phase == "Stable", within=30) is True
