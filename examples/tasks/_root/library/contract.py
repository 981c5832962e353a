"""What all skills share: failures, the fields of an input, and points in time.

The server has validated the input against the schema of the skill. What a schema cannot say is
checked here, and the rest once more, so that the handler can be run by hand. No message repeats a
value of the input, which may be a secret.
"""

import json
import re
import uuid
from datetime import datetime, timedelta, timezone

RFC_3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))",
    re.ASCII,
)


class Failure(Exception):
    """A failure that the contract of a skill declares.

    `message` goes into the template of the code: the details of a VALIDATION_ERROR, the resource
    that was NOT_FOUND, the reason for which somebody is UNAUTHORIZED.
    """

    def __init__(self, code, message=None, **details):
        super().__init__(code)
        self.code = code
        self.message = message
        self.details = details

    def as_json(self):
        parts = {"code": self.code, "message": self.message, "details": self.details}
        return {name: part for name, part in parts.items() if part}


def invalid(field, problem):
    """The failure of a field whose value is not accepted."""
    return Failure("VALIDATION_ERROR", f"{field}: {problem}", field=field)


def not_found(kind, identifier):
    """The failure of something that is not there."""
    return Failure("NOT_FOUND", f"{kind} {identifier}", resource_type=kind, resource_id=identifier)


class Fields:
    """The fields of an input. One that is null counts as not given."""

    def __init__(self, values):
        self.values = values

    @classmethod
    def read(cls, text):
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            raise Failure("VALIDATION_ERROR", "the input is not JSON") from None
        if not isinstance(values, dict):
            raise Failure("VALIDATION_ERROR", "the input is not an object")
        return cls(values)

    def get(self, name, default=None):
        value = self.values.get(name)
        return default if value is None else value

    def required(self, name):
        value = self.get(name)
        if value is None:
            raise invalid(name, "it is missing")
        return value

    def text(self, name, most=None, least=0):
        """A text of this many characters, or None."""
        value = self.get(name)
        if value is None:
            return None
        check_text(name, value)
        if len(value) < least or (most is not None and len(value) > most):
            bounds = f"at least {least}" if most is None else f"{least} to {most}"
            raise invalid(name, f"it must have {bounds} characters")
        return value

    def required_text(self, name, most=None, least=0):
        self.required(name)
        return self.text(name, most=most, least=least)

    def number(self, name, least, most, default=None):
        """A whole number in a range, both ends included."""
        value = self.get(name, default)
        if value is None:
            return None
        # JSON Schema takes 1.0 for an integer, and Python true for 1.
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not least <= value <= most or value != int(value):
            raise invalid(name, f"it must be a whole number from {least} to {most}")
        return int(value)

    def choice(self, name, words):
        value = self.get(name)
        if value is not None and value not in words:
            raise invalid(name, f"it must be one of {', '.join(words)}")
        return value

    def identifier(self, name):
        """A UUID in its usual form, or None."""
        value = self.get(name)
        if value is None:
            return None
        try:
            found = uuid.UUID(value)
        except (AttributeError, TypeError, ValueError):
            found = None
        # The constructor also takes braces and no hyphens.
        if found is None or str(found) != value.lower():
            raise invalid(name, "it must be a UUID")
        return str(found)

    def required_identifier(self, name):
        self.required(name)
        return self.identifier(name)

    def texts(self, name):
        """A list of texts, without repetitions."""
        values = self.get(name, [])
        if not isinstance(values, list):
            raise invalid(name, "it must be a list")
        for value in values:
            check_text(name, value)
        return list(dict.fromkeys(values))

    def instant(self, name):
        """A point in time as it is stored, or None."""
        value = self.get(name)
        if value is None:
            return None
        found = parse_instant(value) if isinstance(value, str) else None
        if found is None:
            expected = "a date and a time with an offset, such as 2026-01-31T09:00:00Z"
            raise invalid(name, f"it must be {expected}")
        return format_instant(found)


def check_text(name, value):
    """Half of a surrogate pair is JSON and no text."""
    try:
        value.encode()
    except AttributeError:
        raise invalid(name, "it must be a text") from None
    except UnicodeEncodeError:
        raise invalid(name, "it is not valid Unicode") from None


def now():
    return datetime.now(timezone.utc)


def parse_instant(text):
    """A point in time of RFC 3339 in UTC; None if it is none, or one that no calendar has."""
    found = RFC_3339.fullmatch(text)
    if found is None:
        return None
    *numbers, fraction, _, sign, hours, minutes = found.groups()
    year, month, day, hour, minute, second = map(int, numbers)
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    if int(hours or 0) > 23 or int(minutes or 0) > 59:
        return None
    microseconds = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        # A leap second is the last one that other clocks know.
        second = 59 if second == 60 else second
        local = datetime(year, month, day, hour, minute, second, microseconds)
        instant = local + offset if sign == "-" else local - offset
    except (ValueError, OverflowError):
        return None
    return instant.replace(tzinfo=timezone.utc)


def format_instant(instant):
    """The same with milliseconds. Texts of this form are in the order of time."""
    milliseconds = instant.microsecond // 1000
    date = f"{instant.year:04}-{instant.month:02}-{instant.day:02}"
    return f"{date}T{instant.hour:02}:{instant.minute:02}:{instant.second:02}.{milliseconds:03}Z"
