"""Answers captured from kube-apiserver 1.35, and what stands before it or fails on the way."""

import json
import ssl

import httpx2
import pytest
from lightkube.core.exceptions import ConfigError

from valkey_operator.kube import errors
from valkey_operator.kube.errors import Cause


def status(code, reason, message, **details):
    return json.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": details,
            "code": code,
        }
    ).encode()


@pytest.mark.parametrize(
    ("code", "body", "kind", "retryable"),
    [
        (404, status(404, "NotFound", 'services "q" not found', name="q", kind="services"), errors.NotFound, False),
        (404, b"404 page not found\n", errors.NotServed, False),
        (404, status(404, "NotFound", "the server could not find the requested resource"), errors.NotServed, False),
        (409, status(409, "AlreadyExists", 'services "np" already exists', name="np"), errors.AlreadyExists, False),
        (409, status(409, "Conflict", "Operation cannot be fulfilled", name="np"), errors.Conflict, True),
        (422, status(422, "Invalid", "is invalid", name="np"), errors.Invalid, False),
        (401, status(401, "Unauthorized", "Unauthorized"), errors.Forbidden, False),
        (403, status(403, "Forbidden", "pods is forbidden", kind="pods"), errors.Forbidden, False),
        (410, status(410, "Expired", "too old resource version: 1 (2)"), errors.Gone, True),
        (429, status(429, "TooManyRequests", "slow down", retryAfterSeconds=3), errors.Throttled, True),
        (500, status(500, "InternalError", "etcdserver: leader changed"), errors.Unavailable, True),
        (503, status(503, "ServiceUnavailable", "shutting down"), errors.Unavailable, True),
        (504, status(504, "Timeout", "Too large resource version: 9, current: 1"), errors.Unavailable, True),
        (502, b"<html>Bad Gateway</html>", errors.Unavailable, True),
        (400, status(400, "BadRequest", "unknown field"), errors.KubeError, False),
        (415, status(415, "UnsupportedMediaType", "no"), errors.KubeError, False),
    ],
)
def test_every_answer_has_its_error(code, body, kind, retryable):
    error = errors.from_answer(code, body)
    assert type(error) is kind
    assert error.retryable is retryable
    assert error.code == code


def test_an_invalid_object_names_its_fields():
    body = status(
        422,
        "Invalid",
        'Service "np2" is invalid: spec.ports[0].nodePort: Invalid value: 31909: provided port is already allocated',
        name="np2",
        kind="Service",
        causes=[
            {
                "reason": "FieldValueInvalid",
                "message": "Invalid value: 31909: provided port is already allocated",
                "field": "spec.ports[0].nodePort",
            }
        ],
    )
    error = errors.from_answer(422, body)
    assert (
        error.message
        == 'Service "np2" is invalid: spec.ports[0].nodePort: Invalid value: 31909: provided port is already allocated'
    )
    assert error.causes == (
        Cause("spec.ports[0].nodePort", "Invalid value: 31909: provided port is already allocated", "FieldValueInvalid"),
    )


def test_a_uid_of_another_object_is_a_conflict_however_the_api_server_calls_it():
    causes = [{"reason": "FieldValueInvalid", "message": "field is immutable", "field": "metadata.uid"}]
    body = status(422, "Invalid", 'Service "np" is invalid: metadata.uid: field is immutable', name="np", causes=causes)
    assert type(errors.from_answer(422, body)) is errors.Conflict


def test_when_to_come_back_is_read_from_the_status_or_the_header():
    assert errors.from_answer(429, status(429, "TooManyRequests", "x", retryAfterSeconds=3)).retry_after == 3.0
    assert errors.from_answer(429, b"later", retry_after="7").retry_after == 7.0
    assert errors.from_answer(429, b"later", retry_after="Wed, 02 Dec 2026 01:00:00 GMT").retry_after is None


def test_an_answer_that_is_no_status_is_quoted_in_short():
    assert errors.from_answer(502, b"Bad Gateway").message == "the API server answered 502: Bad Gateway"
    assert errors.from_answer(502, b"").message == "the API server answered 502"
    assert len(errors.from_answer(502, b"x" * 5000).message) < 300


def test_the_error_event_of_a_watch_is_read_the_same_way():
    event = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 1 (9)"}
    assert type(errors.from_status(event)) is errors.Gone


@pytest.mark.parametrize(
    ("failure", "kind", "message"),
    [
        (TimeoutError(), errors.Unavailable, "get Service a/b: the API server did not answer in time"),
        (httpx2.ReadTimeout(""), errors.Unavailable, "get Service a/b: the API server did not answer in time"),
        (
            httpx2.ConnectError("All connection attempts failed"),
            errors.Unavailable,
            "get Service a/b: cannot connect to the API server: All connection attempts failed",
        ),
        (httpx2.ReadError(""), errors.Unavailable, "get Service a/b: the connection to the API server broke: ReadError"),
        (
            httpx2.RemoteProtocolError("Server disconnected"),
            errors.Unavailable,
            "get Service a/b: the connection to the API server broke: Server disconnected",
        ),
        (
            ConfigError("Token file /x not found"),
            errors.Misconfigured,
            "get Service a/b: Token file /x not found",
        ),
    ],
)
def test_every_failure_on_the_way_has_its_error(failure, kind, message):
    assert isinstance(failure, errors.FAILURES)
    error = errors.translated(failure, "get Service a/b")
    assert type(error) is kind
    assert error.message == str(error) == message


def test_a_broken_answer_and_a_refused_certificate_are_failures_too():
    assert isinstance(json.JSONDecodeError("x", "", 0), errors.FAILURES)
    assert isinstance(ssl.SSLError(), errors.FAILURES)
