from inferenceversion_operator.reconcile.lanes import Lanes


def drained(lanes):
    served = []
    while (key := lanes.pop()) is not None:
        served.append("/".join(key))
    return served


def filled(**lanes_of):
    """Return lanes with these keys in the order given, written as namespace/name."""
    lanes = Lanes()
    for lane, keys in lanes_of.items():
        for key in keys.split():
            lanes.push(tuple(key.split("/")), fast=lane == "fast")
    return lanes


def test_within_a_namespace_who_comes_first_is_served_first():
    assert drained(filled(slow="a/1 a/2 a/3")) == ["a/1", "a/2", "a/3"]


def test_a_thousand_of_one_namespace_do_not_hold_up_one_of_another():
    lanes = filled(fast=" ".join(f"a/{n}" for n in range(1000)) + " b/1")
    assert drained(lanes).index("b/1") == 1


def test_what_a_person_asked_for_goes_first_and_the_rest_keeps_a_share():
    lanes = filled(slow="a/s1 a/s2 a/s3", fast="a/f1 a/f2 a/f3 a/f4 a/f5")
    assert drained(lanes) == ["a/f1", "a/f2", "a/f3", "a/s1", "a/f4", "a/f5", "a/s2", "a/s3"]


def test_a_key_waits_once_whatever_it_is_asked_for():
    lanes = filled(slow="a/1 a/2 a/1", fast="a/1 a/3 a/1")
    assert len(lanes) == 3
    assert drained(lanes) == ["a/1", "a/3", "a/2"]
    assert len(lanes) == 0


def test_a_key_that_changed_to_the_fast_lane_does_not_go_back():
    lanes = filled(fast="a/1 a/2", slow="a/2 a/3")
    assert drained(lanes) == ["a/1", "a/2", "a/3"]


def test_a_key_that_was_served_may_wait_again():
    lanes = filled(slow="a/1")
    assert ("a", "1") in lanes
    assert drained(lanes) == ["a/1"]
    assert ("a", "1") not in lanes
    lanes.push(("a", "1"), fast=False)
    assert drained(lanes) == ["a/1"]


def test_a_key_that_left_the_slow_lane_and_comes_back_to_it_waits_at_its_old_place_at_most():
    lanes = filled(slow="a/1 a/2", fast="a/1")
    assert lanes.pop() == ("a", "1")
    lanes.push(("a", "1"), fast=False)
    assert sorted(drained(lanes)) == ["a/1", "a/2"]
