"""Access tokens: JSON Web Tokens, signed with HMAC-SHA256.

A token is compared as the text that it must be, and never decoded before that, so that of all its
spellings one is valid. The key is made when it is first needed.
"""

import base64
import hashlib
import hmac
import json
import os
import stat
import uuid
from datetime import datetime, timezone

from .contract import Failure, format_instant, now
from .users import email_key

KEY_NAME = "token-key"
KEY_BYTES = 32

# The first part of every token.
HEADER = {"alg": "HS256", "typ": "JWT"}

INVALID = {"valid": False, "user_id": None, "email": None, "scopes": [], "expires_at": None}


def generate(fields, database):
    user_id = fields.required_identifier("user_id")
    email = fields.required_text("email")
    scopes = fields.texts("scopes")
    lifetime = fields.number("expires_in_seconds", 300, 86400, default=3600)
    user = database.user(user_id)
    if user["email_key"] != email_key(email.strip()):
        raise Failure("UNAUTHORIZED", "the email address is not that of the user")
    issued = int(now().timestamp())
    expires = issued + lifetime
    token = issue(read_key(database.directory), user_id, user["email"], scopes, issued, expires)
    return {"access_token": token, "token_type": "Bearer", "expires_at": instant_of(expires)}


def validate(fields, database):
    token = fields.required_text("token")
    required = fields.texts("required_scopes")
    claims = read(read_key(database.directory), token, now().timestamp())
    if claims is None or not set(required) <= set(claims["scopes"]):
        return INVALID
    # A user who is gone, or has another address, has no tokens.
    user = database.row("SELECT email FROM users WHERE user_id = :user_id", user_id=claims["sub"])
    if user is None or user["email"] != claims["email"]:
        return INVALID
    return {
        "valid": True,
        "user_id": claims["sub"],
        "email": claims["email"],
        "scopes": claims["scopes"],
        "expires_at": instant_of(claims["exp"]),
    }


def issue(key, user_id, email, scopes, issued, expires):
    """A token with these claims. Both times are seconds since 1970."""
    claims = {
        "sub": user_id,
        "email": email,
        "scopes": scopes,
        "iat": issued,
        "exp": expires,
        "jti": str(uuid.uuid4()),
    }
    signed = f"{encode_json(HEADER)}.{encode_json(claims)}"
    return f"{signed}.{signature(key, signed)}"


def read(key, token, at):
    """The claims of a token that is valid at a time, in seconds since 1970; None of any other."""
    signed, _, given = token.rpartition(".")
    # As bytes: texts are compared in constant time if they are ASCII only.
    if not hmac.compare_digest(given.encode(), signature(key, signed).encode()):
        return None
    header, _, claims = signed.partition(".")
    # The key may sign nothing else; other kinds of tokens are not read.
    if header != encode_json(HEADER):
        return None
    claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    return claims if at < claims["exp"] else None


def signature(key, signed):
    return encode(hmac.new(key, signed.encode(), hashlib.sha256).digest())


def encode_json(value):
    return encode(json.dumps(value, separators=(",", ":")).encode())


def encode(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def instant_of(seconds):
    return format_instant(datetime.fromtimestamp(seconds, timezone.utc))


def read_key(directory):
    """The key, which is made if there is none. All who make one at the same time get the same."""
    path = os.path.join(directory, KEY_NAME)
    if not os.path.lexists(path):
        make_key(directory, path)
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(opened, "rb") as file:
        is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        key = file.read(KEY_BYTES + 1) if is_file else b""
    if len(key) != KEY_BYTES:
        raise Failure("PERSISTENCE_ERROR", reason="the key of the tokens is damaged")
    return key


def make_key(directory, path):
    """Makes the key under another name, so that it is whole when it has its own."""
    other = os.path.join(directory, f".{KEY_NAME}-{uuid.uuid4()}")
    opened = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(os.urandom(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(other, path)
        except FileExistsError:
            # Another was faster, and its key counts.
            pass
    finally:
        os.unlink(other)
