"""Answers of the server as objects, and values as the server reads them."""
import datetime
import re


def snake(name):
    return re.sub(r"([A-Z])", lambda match: "_" + match.group(1).lower(), name)


def as_duration(value):
    """Seconds, a text such as "90s", or a timedelta, as a duration of the API."""
    if isinstance(value, datetime.timedelta):
        return f"{round(value.total_seconds() * 1000)}ms"
    return value


def as_time(value):
    """A datetime (without a zone: local time), or a text in RFC 3339, as a time of the API."""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    return value


def as_either(value):
    return as_time(as_duration(value))


class Answer:
    """The members of a JSON object as attributes in snake_case; `raw` is the object itself."""

    def __init__(self, raw):
        self.raw = raw

    def __getattr__(self, name):
        if name.startswith("__") or name == "raw":
            raise AttributeError(name)
        parts = name.split("_")
        camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
        try:
            return self.raw[camel]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name}") from None

    def __dir__(self):
        return [*super().__dir__(), *(snake(name) for name in self.raw)]

    def __repr__(self):
        shown = ("id", "type", "status", "kind", "existing")
        text = " ".join(f"{name}={self.raw[name]!r}" for name in shown if self.raw.get(name) is not None)
        return f"<{type(self).__name__} {text}>"

    def __eq__(self, other):
        return isinstance(other, Answer) and self.raw == other.raw

    __hash__ = None


ENDED = ("completed", "failed", "dead_letter", "cancelled")


class Task(Answer):
    """A task as it was at one moment: `id type status input output error attempts ...`; times are texts in RFC 3339."""

    @property
    def existing(self):
        """In the answer to a submit: its key was in use, and this is the first task."""
        return self.raw.get("existing", False)

    @property
    def has_ended(self):
        return self.raw["status"] in ENDED


class Submitted(Answer):
    """The result of one of many submits: `id` and `existing`, or `problem`."""

    @property
    def problem(self):
        return self.raw if "code" in self.raw else None


class Operation(Answer):
    """A stored act on many tasks: `id kind status matched done failed`."""
