import pytest
from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.api import template

LABELS = st.from_regex(r"[a-z]([-a-z0-9]{0,10}[a-z0-9])?", fullmatch=True)


def test_placeholders_are_replaced_per_node():
    rendered = template.render("{name}-{shard}-{node}.{namespace}.example.com", name="orders", namespace="shop", shard=2, node=1)
    assert rendered == "orders-2-1.shop.example.com"


def test_without_an_index_its_placeholders_stay():
    assert template.render("{name}-{shard}.example.com", name="orders", namespace="shop") == "orders-{shard}.example.com"


def test_unknown_words_and_json_stay_as_they_are():
    assert template.render('{"ports": {}, "to": "{name}", "by": "{who}"}', name="orders", namespace="shop") == (
        '{"ports": {}, "to": "orders", "by": "{who}"}'
    )


def test_a_name_that_looks_like_a_placeholder_is_not_rendered_again():
    assert template.render("{name}.{shard}", name="{shard}", namespace="shop", shard=1) == "{shard}.1"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{name}-{shard}-{node}.example.com", {"name", "shard", "node"}),
        ("{namespace}.example.com", {"namespace"}),
        ("valkey.example.com", set()),
        ("{index}.example.com", set()),
    ],
)
def test_the_placeholders_of_a_template_are_known(text, found):
    assert template.placeholders(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "{name}-{shard}-{node}.example.com",
        "valkey",
        "10.0.0.7",
        "1.2.3.4.example.com",
        "{node}.{shard}.a",
        "a" * 63 + ".b",
        "xn--nxasmq6b.com",
    ],
)
def test_good_templates_have_no_mistake(text):
    assert template.mistakes(text) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{index}.example.com", "has an unknown placeholder: known here are {name}, {namespace}, {shard}, {node}"),
        ("{ name }.example.com", "has an unknown placeholder: known here are {name}, {namespace}, {shard}, {node}"),
        ("{name.example.com", "has a brace without its partner: write placeholders as {name}"),
        ("{{name}}.example.com", "has an unknown placeholder: known here are {name}, {namespace}, {shard}, {node}"),
        ("Name.example.com", "must be lower case: DNS knows no other, and certificates and routes are compared letter by letter"),
        ("a" * 64 + ".example.com", "has a part between two dots of more than 63 characters: shorten it"),
        (
            "valkey_{node}.example.com",
            "must be a host name of lower-case letters, digits, '-' and '.', or an IPv4 address, without scheme and port",
        ),
        ("10.0.0.300", "ends in a number but is no IPv4 address: write a host name or four numbers of 0 to 255"),
        ("10.0.0.07", "ends in a number but is no IPv4 address: write a host name or four numbers of 0 to 255"),
    ],
)
def test_each_mistake_says_what_to_do(text, words):
    assert template.mistakes(text) == (words,)


def test_a_host_for_all_shards_knows_no_shard():
    assert template.mistakes("{name}-{shard}.example.com", allowed=template.CLUSTER_PLACEHOLDERS) == (
        "has an unknown placeholder: known here are {name}, {namespace}",
    )


@pytest.mark.parametrize(
    "host", ["example.com\n", "exa mple.com", "example.com.", ".example.com", "", "fd00::1", "é.com", "a-.com"]
)
def test_what_is_no_host_is_told(host):
    assert template.host_mistakes(host) == (
        "must be a host name of lower-case letters, digits, '-' and '.', or an IPv4 address, without scheme and port",
    )


def test_a_host_of_254_characters_is_told():
    assert template.host_mistakes("a." * 126 + "ab") == ("is longer than 253 characters: shorten it",)
    assert template.host_mistakes("a." * 126 + "a") == ()


@pytest.mark.parametrize("value", ["", "{", '{"a": {"b": 1}}', "{name}-{shard}.example.com", "{}", "{1}"])
def test_annotations_may_hold_json(value):
    assert template.annotation_mistakes(value) == ()


@pytest.mark.parametrize("value", ["{cluster}", '{"host": "{Name}"}'])
def test_annotations_may_hold_no_unknown_word(value):
    assert template.annotation_mistakes(value) == (
        "has an unknown placeholder: known here are {name}, {namespace}, {shard}, {node}",
    )


@given(name=LABELS, namespace=LABELS, shard=st.integers(0, 999), node=st.integers(0, 5))
def test_a_good_template_renders_to_a_good_host_whatever_the_names(name, namespace, shard, node):
    host = template.render("{name}-{shard}-{node}.{namespace}.example.com", name=name, namespace=namespace, shard=shard, node=node)
    assert template.host_mistakes(host) == ()
    assert template.placeholders(host) == frozenset()


@given(st.text(st.sampled_from("{}aA0.-_ :nméo"), max_size=80))
def test_every_text_is_judged_and_at_most_one_thing_is_said(text):
    said = template.mistakes(text)
    assert len(said) <= 1
    if not said:
        rendered = template.render(text, name="a", namespace="a", shard=0, node=0)
        assert template.host_mistakes(rendered) == ()
