"""Users. Of a password only its hash is kept."""

import base64
import hashlib
import os
import re
import sqlite3
import unicodedata
import uuid

from .contract import format_instant, invalid, now

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")

# Cost of scrypt: about 16 MiB and a fifth of a second, as OWASP recommends.
COST, BLOCK, PARALLEL = 2**14, 8, 5
MEMORY = 64 * 2**20


def create(fields, database):
    email = fields.required_text("email").strip()
    if not EMAIL.fullmatch(email):
        raise invalid("email", "it must be an email address")
    password = hashed(fields.required_text("password", least=8))
    display_name = fields.text("display_name", most=100)
    user_id, created_at = str(uuid.uuid4()), format_instant(now())
    try:
        with database.writing():
            database.change(
                "INSERT INTO users VALUES (:user_id, :email, :key, :password, :display_name, :created_at)",
                user_id=user_id,
                email=email,
                key=email_key(email),
                password=password,
                display_name=display_name,
                created_at=created_at,
            )
    except sqlite3.IntegrityError:
        raise invalid("email", "another user has this address") from None
    return {"user_id": user_id, "email": email, "created_at": created_at}


def email_key(email):
    """The same for all spellings of an address."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", email).casefold())


def hashed(password):
    """The hash of a password with what is needed to compare another: `scrypt$N$r$p$salt$hash`."""
    salt = os.urandom(16)
    derived = hashlib.scrypt(
        password.encode(), salt=salt, n=COST, r=BLOCK, p=PARALLEL, maxmem=MEMORY, dklen=32
    )
    parts = (base64.b64encode(part).decode() for part in (salt, derived))
    return "$".join(["scrypt", str(COST), str(BLOCK), str(PARALLEL), *parts])
