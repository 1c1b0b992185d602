from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from valkey_operator.kube.kinds import Key
from valkey_operator.kube.store import Store


@dataclass(frozen=True, slots=True)
class View:
    owners: tuple[str, ...]
    value: int = 0


def filled(**views):
    store = Store(index=lambda view: view.owners)
    for name, view in views.items():
        store.put(Key("ns", name), view)
    return store


def test_views_are_found_by_name_by_index_and_all_together():
    store = filled(b=View(("x",)), a=View(("x", "y")), c=View(()))
    assert store.get("ns", "a") == View(("x", "y"))
    assert store.get("other", "a") is None
    assert store.by("x") == (View(("x", "y")), View(("x",)))
    assert store.by("nobody") == ()
    assert len(store) == 3
    assert store.keys() == {Key("ns", "a"), Key("ns", "b"), Key("ns", "c")}


def test_a_changed_view_is_found_under_its_new_index_only():
    store = filled(a=View(("x",)))
    store.put(Key("ns", "a"), View(("y",)))
    assert store.by("x") == ()
    assert store.by("y") == (View(("y",)),)


def test_listeners_hear_of_changes_after_the_store_shows_them():
    store = filled(a=View((), 1))
    heard = []
    store.subscribe(lambda old, new: heard.append((old, new, store.get("ns", "a"))))
    store.put(Key("ns", "a"), View((), 1))
    store.put(Key("ns", "a"), View((), 2))
    store.put(Key("ns", "a"), None)
    store.put(Key("ns", "a"), None)
    assert heard == [(View((), 1), View((), 2), View((), 2)), (View((), 2), None, None)]


def test_the_same_key_in_two_namespaces_is_two_objects():
    store = Store()
    store.put(Key("one", "a"), View((), 1))
    store.put(Key("two", "a"), View((), 2))
    store.put(Key("one", "a"), None)
    assert store.all() == (View((), 2),)


steps = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.none() | st.builds(View, st.frozensets(st.sampled_from("xyz")).map(tuple), st.integers(0, 2))
    ),
    max_size=30,
)


@settings(deadline=None)  # the machine may be busy
@given(steps)
def test_the_index_always_says_what_the_views_say(story):
    store, plain = filled(), {}
    for name, view in story:
        store.put(Key("ns", name), view)
        plain[name] = view
    present = {name: view for name, view in plain.items() if view is not None}
    assert sorted(map(repr, store.all())) == sorted(map(repr, present.values()))
    for owner in "xyz":
        assert list(store.by(owner)) == [present[name] for name in sorted(present) if owner in present[name].owners]
