from valkey_operator.api.docstrings import attribute_docstrings, prose


class Example:
    """An example."""

    first: int
    """The first,
    over two lines."""

    second: int = 2
    """The second.

    With a paragraph."""

    silent: int = 3

    untyped = 4
    """Belongs to no field."""


def test_the_text_below_an_attribute_is_its_description():
    assert attribute_docstrings(Example) == {"first": "The first, over two lines.", "second": "The second.\n\nWith a paragraph."}


def test_lines_are_joined_and_paragraphs_stay_apart():
    assert prose("One\n    two.\n\n    Three.\n") == "One two.\n\nThree."
