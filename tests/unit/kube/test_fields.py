"""The literals were captured from kube-apiserver 1.35: a Service made by POST, changed by others, then applied."""

from copy import deepcopy
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from valkey_operator.kube.fields import adopted, covers, is_current, owned, quantity, stamped

MANAGER = "valkey-operator"

POSTED = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "np",
        "namespace": "default",
        "uid": "ec2fdf5f-66bc-41c1-9195-c93c3d423649",
        "resourceVersion": "237",
        "labels": {"a": "b"},
        "annotations": {"valkey.io/applied": "ac8108397adb65e9"},
        "managedFields": [
            {
                "manager": "valkey-operator",
                "operation": "Update",
                "apiVersion": "v1",
                "time": "2026-12-02T01:24:29Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:metadata": {
                        "f:annotations": {".": {}, "f:valkey.io/applied": {}},
                        "f:labels": {".": {}, "f:a": {}},
                    },
                    "f:spec": {
                        "f:externalTrafficPolicy": {},
                        "f:internalTrafficPolicy": {},
                        "f:ports": {
                            ".": {},
                            'k:{"port":6379,"protocol":"TCP"}': {
                                ".": {},
                                "f:name": {},
                                "f:port": {},
                                "f:protocol": {},
                                "f:targetPort": {},
                            },
                        },
                        "f:selector": {},
                        "f:sessionAffinity": {},
                        "f:type": {},
                    },
                },
            }
        ],
    },
    "spec": {
        "ports": [{"name": "np-0", "protocol": "TCP", "port": 6379, "targetPort": "valkey-0-0", "nodePort": 31909}],
        "selector": {"x": "y"},
        "clusterIP": "10.96.177.239",
        "clusterIPs": ["10.96.177.239"],
        "type": "NodePort",
        "sessionAffinity": "None",
        "externalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    },
    "status": {"loadBalancer": {}},
}

WANTED = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "np", "namespace": "default", "labels": {"a": "b"}},
    "spec": {
        "type": "NodePort",
        "selector": {"x": "y"},
        "ports": [{"port": 6379, "name": "np-0", "targetPort": "valkey-0-0"}],
    },
}


def live(spec, fields, **metadata):
    """An object that our manager owns `fields` of."""
    entry = {"manager": MANAGER, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields}}
    return {"metadata": {"name": "x", "managedFields": [entry], **metadata}, "spec": spec}


def test_what_we_created_is_ours_with_its_defaults_and_what_was_allocated_is_not():
    assert owned(POSTED, MANAGER) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "np",
            "namespace": "default",
            "uid": "ec2fdf5f-66bc-41c1-9195-c93c3d423649",
            "labels": {"a": "b"},
            "annotations": {"valkey.io/applied": "ac8108397adb65e9"},
        },
        "spec": {
            # the node port is a number beside what is ours
            "ports": [{"name": "np-0", "protocol": "TCP", "port": 6379, "targetPort": "valkey-0-0", "nodePort": 31909}],
            "selector": {"x": "y"},
            "type": "NodePort",
            "sessionAffinity": "None",
            "externalTrafficPolicy": "Cluster",
            "internalTrafficPolicy": "Cluster",
        },
    }


def test_of_an_object_of_somebody_else_only_its_identity_is_seen():
    assert owned(POSTED, "somebody") == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "np", "namespace": "default", "uid": "ec2fdf5f-66bc-41c1-9195-c93c3d423649"},
    }


def test_items_of_associative_lists_of_sets_and_by_index_are_told_apart():
    ports = [{"port": 1, "name": "ours", "who": "them"}, {"port": 2, "name": "theirs"}]
    spec = {"ports": ports, "finalizers": ["a", "b"], "list": ["x", "y"], "map": {"k": "v", "l": "w"}}
    fields = {
        "f:ports": {'k:{"port":1}': {".": {}, "f:name": {}}},
        "f:finalizers": {'v:"b"': {}},
        "f:list": {"i:1": {}},
        "f:map": {".": {}, "f:l": {}},
    }
    assert owned(live(spec, fields), MANAGER)["spec"] == {
        "ports": [{"name": "ours", "port": 1}],
        "finalizers": ["b"],
        "list": ["y"],
        "map": {"l": "w"},
    }


def test_what_is_owned_through_a_subresource_is_asked_for_by_its_name():
    entry = {"manager": MANAGER, "operation": "Apply", "subresource": "status", "fieldsV1": {"f:status": {"f:phase": {}}}}
    body = {"metadata": {"name": "x", "managedFields": [entry]}, "status": {"phase": "Ready", "other": "x"}}
    assert owned(body, MANAGER) == {"metadata": {"name": "x"}}
    assert owned(body, MANAGER, subresource="status") == {"metadata": {"name": "x"}, "status": {"phase": "Ready"}}


def test_ownership_by_several_operations_is_united():
    one = live({"a": "1", "b": "2", "c": "3"}, {"f:a": {}})
    entry = {"manager": MANAGER, "operation": "Update", "fieldsV1": {"f:spec": {"f:b": {}}}}
    one["metadata"]["managedFields"].append(entry)
    assert owned(one, MANAGER)["spec"] == {"a": "1", "b": "2"}


def test_the_generation_that_every_change_of_anybody_moves_is_not_ours():
    entry = {"manager": MANAGER, "operation": "Apply", "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}}}
    body = {"metadata": {"name": "x", "generation": 7, "labels": {"a": "b"}, "managedFields": [entry]}}
    assert owned(body, MANAGER) == {"metadata": {"name": "x", "labels": {"a": "b"}}}


def test_a_created_object_is_current():
    body = stamped(WANTED)
    made = deepcopy(POSTED)
    made["metadata"]["annotations"] = body["metadata"]["annotations"]
    assert is_current(owned(made, MANAGER), body)


def test_an_object_that_says_something_less_since_is_not_current_though_covered():
    less = deepcopy(WANTED)
    del less["metadata"]["labels"]
    made = deepcopy(POSTED)
    made["metadata"]["annotations"] = stamped(WANTED)["metadata"]["annotations"]
    assert covers(owned(made, MANAGER), less)
    assert not is_current(owned(made, MANAGER), stamped(less))


def test_a_field_that_somebody_took_over_is_no_longer_current():
    taken = deepcopy(POSTED)
    taken["metadata"]["annotations"] = stamped(WANTED)["metadata"]["annotations"]
    taken["spec"]["selector"] = {"x": "z"}
    del taken["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:selector"]
    assert not is_current(owned(taken, MANAGER), stamped(WANTED))


def test_a_switch_that_we_want_off_and_somebody_turned_on_is_seen():
    wanted = {"spec": {"type": "NodePort", "publishNotReadyAddresses": False}}
    untouched = live({"type": "NodePort"}, {"f:type": {}})
    turned = live({"type": "NodePort", "publishNotReadyAddresses": True}, {"f:type": {}})
    assert covers(owned(untouched, MANAGER), wanted)
    assert not covers(owned(turned, MANAGER), wanted)


def test_an_object_with_another_uid_is_not_current():
    body = stamped(WANTED)
    body["metadata"]["uid"] = "11111111-66bc-41c1-9195-c93c3d423649"
    made = deepcopy(POSTED)
    made["metadata"]["annotations"] = body["metadata"]["annotations"]
    assert not is_current(owned(made, MANAGER), body)


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ({"a": 1, "b": 2}, {"a": 1}),
        ({}, {"a": None, "b": {}, "c": [], "d": "", "e": False, "f": 0}),
        ({"a": {}}, {}),
        ({}, {"a": {"b": {"c": None}, "d": []}}),
        ({"emptyDir": {"medium": "Memory"}}, {"emptyDir": {}}),
        ({"l": [1, 2]}, {"l": [1, 2]}),
        ({"l": [{"name": "b", "x": 1, "y": 2}, {"name": "a"}]}, {"l": [{"name": "a"}, {"name": "b", "x": 1}]}),
        ({"l": [{"x": 1, "y": 2}]}, {"l": ({"x": 1},)}),
        ({"resources": {"limits": {"cpu": "500m"}}}, {"resources": {"limits": {"cpu": "0.5"}}}),
        ({"resources": {"limits": {"cpu": "1"}}}, {"resources": {"limits": {"cpu": 1}}}),
        ({"requests": {"memory": "1Gi"}}, {"requests": {"memory": "1024Mi"}}),
        ({"emptyDir": {"sizeLimit": "1Gi"}}, {"emptyDir": {"sizeLimit": "1073741824"}}),
    ],
)
def test_covered(there, wanted):
    assert covers(there, wanted)


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ({}, {"a": 1}),
        ({"a": 2}, {"a": 1}),
        ({"a": 1}, {"a": True}),
        ({"a": "1"}, {"a": 1}),
        ({"a": True}, {"a": False}),
        ({"a": 3}, {"a": 0}),
        ({"a": "x"}, {"a": ""}),
        ({"a": "x"}, {"a": {}}),
        ({"a": "x"}, {"a": None}),
        ({"a": ["x"]}, {"a": []}),
        ({"a": {"b": 1}}, {"a": "b"}),
        ({"a": 1}, {"a": {"b": 1}}),
        ({"l": [1, 2]}, {"l": [1]}),
        ({"l": [1, 2]}, {"l": [2, 1]}),
        ({"args": ["--a", "--b"]}, {"args": ["--b", "--a"]}),
        ({"l": [{"name": "a"}]}, {"l": [{"name": "b"}]}),
        ({"l": [{"name": "a", "x": 1}, {"name": "b", "x": 2}]}, {"l": [{"name": "a", "x": 2}, {"name": "b", "x": 1}]}),
        ({"limits": {"cpu": "501m"}}, {"limits": {"cpu": "0.5"}}),
        ({"data": {"x": "1Gi"}}, {"data": {"x": "1024Mi"}}),  # no quantity: text that a user wrote
    ],
)
def test_not_covered(there, wanted):
    assert not covers(there, wanted)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.5", "0.5"),
        ("500m", "0.5"),
        (2, "2"),
        ("1Ki", "1024"),
        ("1Gi", "1073741824"),
        ("1.5Gi", "1610612736"),
        ("2k", "2000"),
        ("1E", "1000000000000000000"),
        ("12e6", "12000000"),
        ("12E6", "12000000"),
        ("100n", "0.0000001"),
        ("3u", "0.000003"),
    ],
)
def test_quantities_mean_numbers(text, number):
    assert quantity(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "Gi", "1mi", "1KiB", "one", "1 Gi", None])
def test_other_text_is_no_quantity(text):
    assert quantity(text) is None


def test_fields_that_we_own_by_creating_become_ours_by_applying():
    (entry,) = adopted(POSTED, MANAGER)
    before = POSTED["metadata"]["managedFields"][0]
    assert entry == {**before, "operation": "Apply"}


def test_fields_of_an_update_join_those_of_an_apply_and_other_managers_stay():
    other = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:z": {}}}}
    status = {"manager": MANAGER, "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}}
    apply = {
        "manager": MANAGER,
        "operation": "Apply",
        "time": "t",
        "fieldsV1": {"f:spec": {"f:a": {}, "f:m": {}, "f:n": {"f:1": {}}}},
    }
    update = {
        "manager": MANAGER,
        "operation": "Update",
        "fieldsV1": {"f:spec": {"f:b": {}, "f:m": {"f:x": {}}, "f:n": {".": {}, "f:2": {}}}},
    }
    body = {"metadata": {"managedFields": [other, status, apply, update]}}
    assert adopted(body, MANAGER) == [
        {
            "manager": MANAGER,
            "operation": "Apply",
            "time": "t",
            "fieldsV1": {
                "f:spec": {"f:a": {}, "f:b": {}, "f:m": {".": {}, "f:x": {}}, "f:n": {".": {}, "f:1": {}, "f:2": {}}},
            },
        },
        other,
        status,
    ]
    assert adopted({"metadata": {"managedFields": adopted(body, MANAGER)}}, MANAGER) is None


def test_an_object_without_managed_fields_needs_nothing():
    assert adopted({"metadata": {"name": "x"}}, MANAGER) is None


def test_the_stamp_is_the_same_for_the_same_content_whatever_its_order_and_uid():
    shuffled = dict(reversed(list(WANTED.items())))
    shuffled["metadata"] = {**WANTED["metadata"], "uid": "1", "resourceVersion": "2", "annotations": {"valkey.io/applied": "old"}}
    assert stamped(shuffled)["metadata"]["annotations"] == stamped(WANTED)["metadata"]["annotations"]
    assert "annotations" not in WANTED["metadata"]


def test_the_stamp_changes_with_any_word_and_leaves_other_annotations():
    annotated = {**WANTED, "metadata": {**WANTED["metadata"], "annotations": {"k": "v"}}}
    stamps = stamped(annotated)["metadata"]["annotations"]
    assert stamps["k"] == "v"
    assert stamps["valkey.io/applied"] != stamped(WANTED)["metadata"]["annotations"]["valkey.io/applied"]
    assert len(stamps["valkey.io/applied"]) == 16


scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "500m"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "a", "b", "limits"]), inner, max_size=3),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(["a", "b", "c"]), values, max_size=3)


@settings(deadline=None)  # the machine may be busy
@given(values)
def test_everything_covers_itself(value):
    assert covers(value, value)


@settings(deadline=None)  # the machine may be busy
@given(objects, objects)
def test_more_beside_what_is_wanted_changes_nothing(wanted, more):
    assert covers({**more, **wanted}, wanted)


@settings(deadline=None)  # the machine may be busy
@given(objects, st.data())
def test_an_object_without_something_that_is_wanted_does_not_cover_it(wanted, data):
    said = [key for key, value in wanted.items() if not covers(None, value)]
    if said:
        key = data.draw(st.sampled_from(said))
        assert not covers({name: value for name, value in wanted.items() if name != key}, wanted)


def fields_of(value):
    """fieldsV1 of a value of which every part is owned."""
    if isinstance(value, dict) and value:
        return {f"f:{key}": fields_of(inner) for key, inner in value.items()}
    return {}


@settings(deadline=None)  # the machine may be busy
@given(objects)
def test_of_an_object_that_is_all_ours_nothing_is_left_out(spec):
    assert owned(live(spec, fields_of(spec)), MANAGER).get("spec") == spec


@settings(deadline=None)  # the machine may be busy
@given(objects, objects)
def test_what_is_ours_of_an_object_covers_exactly_what_we_wrote_into_it(wrote, others):
    assert covers(owned(live({**others, **wrote}, fields_of(wrote)), MANAGER).get("spec"), wrote)
