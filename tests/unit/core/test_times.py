from datetime import UTC, datetime, timedelta, timezone

import pytest

from valkey_operator.core.times import parsed, stamp, stamp_after


def test_moments_are_written_in_utc_and_whole_seconds():
    assert stamp(datetime(2026, 1, 31, 12, 0, 0, 999_999, tzinfo=UTC)) == "2026-01-31T12:00:00Z"
    assert stamp(datetime(2026, 1, 31, 13, 0, tzinfo=timezone(timedelta(hours=1)))) == "2026-01-31T12:00:00Z"


def test_what_is_written_can_be_read():
    assert parsed("2026-01-31T12:00:00Z") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    with pytest.raises(ValueError, match="soon"):
        parsed("soon")


def test_a_moment_from_which_something_lasts_is_not_written_earlier_than_it_was():
    assert stamp_after(datetime(2026, 1, 31, 12, 0, 0, 1, tzinfo=UTC)) == "2026-01-31T12:00:01Z"
    assert stamp_after(datetime(2026, 1, 31, 12, 0, tzinfo=UTC)) == "2026-01-31T12:00:00Z"
