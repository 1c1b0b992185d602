"""Log lines: one JSON object each for machines, or one plain line for a developer."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from valkey_operator.controllers.trace import current

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """time, level, message, logger, what the reconciler is at (namespace, cluster, reconcile_id), and the call's `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "logger": record.name,
            **current(),
            **{key: value for key, value in record.__dict__.items() if key not in _STANDARD},
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """Time of day, level, cluster, message."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and a traceback where there is one."""
        where = current()
        cluster = f" {where['namespace']}/{where['cluster']}" if where else ""
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3]
        line = f"{moment} {record.levelname.lower():7}{cluster} {record.getMessage()}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure(*, level: str, json_lines: bool) -> None:
    """Log to standard error in one of the two forms; libraries only when they warn."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if json_lines else TextFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("valkey_operator").setLevel(level.upper())
