from demo.table import table


def test_columns_are_as_wide_as_they_need_and_numbers_stand_at_the_right():
    lines = list(table(("shard", "endpoint"), [(0, "192.0.2.1:31200"), (12, "192.0.2.2:31201")], indent="  "))
    assert lines == [
        "  SHARD   ENDPOINT",
        "      0   192.0.2.1:31200",
        "     12   192.0.2.2:31201",
    ]


def test_a_table_without_rows_is_its_head():
    assert list(table(("shard", "endpoint"), [])) == ["SHARD   ENDPOINT"]
