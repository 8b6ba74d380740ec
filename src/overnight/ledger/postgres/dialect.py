"""The ledger's SQL as PostgreSQL wants it: other marks for values, and the few functions that only SQLite brings."""

import re
from functools import lru_cache
from typing import NamedTuple

from overnight.ledger.database import Values

# The schema of what all runs of a database share.
SHARED = "overnight"
_TOKEN = re.compile(r"'[^']*'|::|\?(\d*)|:([a-z_]+)|%|CROSS JOIN")
_INSERT = re.compile(r"\s*INSERT INTO (\w+)")
_DELETE = re.compile(r"\s*DELETE FROM (\w+)")


class Statement(NamedTuple):
    text: str
    # Its marks are `?1`, `?2`: psycopg wants names for values that come more than once.
    numbered: bool
    # The table that it adds rows to, or takes them from.
    into: str | None
    out_of: str | None


@lru_cache(maxsize=4096)  # lists of values make many texts of one
def translated(sql: str) -> Statement:
    numbered = False

    def mark(match: re.Match[str]) -> str:
        nonlocal numbered
        found = match[0]
        if found[0] == "?":
            numbered = numbered or bool(match[1])
            return f"%(v{match[1]})s" if match[1] else "%s"
        if match[2]:
            return f"%({match[2]})s"
        # SQLite is held to an order of tables by a cross join; here, the statistics decide.
        return "JOIN" if found == "CROSS JOIN" else found.replace("%", "%%")

    text = _TOKEN.sub(mark, sql)
    into, out_of = _INSERT.match(sql), _DELETE.match(sql)
    return Statement(text, numbered, into and into[1], out_of and out_of[1])


def bound(statement: Statement, values: Values) -> Values:
    if statement.numbered and not isinstance(values, dict):
        return {f"v{number}": value for number, value in enumerate(values, start=1)}
    return values


# What SQLite brings and PostgreSQL does not. Sums end where the ledger's own do, and never fail.
FUNCTIONS = f"""
CREATE OR REPLACE FUNCTION {SHARED}.min(BIGINT, BIGINT) RETURNS BIGINT LANGUAGE SQL IMMUTABLE AS
$$ SELECT least($1, $2) $$;
CREATE OR REPLACE FUNCTION {SHARED}.max(BIGINT, BIGINT) RETURNS BIGINT LANGUAGE SQL IMMUTABLE AS
$$ SELECT greatest($1, $2) $$;
CREATE OR REPLACE FUNCTION {SHARED}.json_valid(text) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN PERFORM $1::json; RETURN $1 IS NOT NULL; EXCEPTION WHEN others THEN RETURN FALSE; END $$;
CREATE OR REPLACE FUNCTION {SHARED}.json_extract(text, text) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN RETURN $1::json #>> string_to_array(substr($2, 3), '.'); EXCEPTION WHEN others THEN RETURN NULL; END $$;
CREATE OR REPLACE FUNCTION {SHARED}.total_of(numeric) RETURNS BIGINT LANGUAGE SQL IMMUTABLE AS
$$ SELECT CAST(least(greatest(coalesce($1, 0), -{2**62}), {2**62}) AS BIGINT) $$;
CREATE OR REPLACE FUNCTION {SHARED}.add_up(numeric, BIGINT) RETURNS NUMERIC LANGUAGE SQL IMMUTABLE AS
$$ SELECT $1 + coalesce($2, 0) $$;
CREATE OR REPLACE AGGREGATE {SHARED}.total(BIGINT) (
    SFUNC = {SHARED}.add_up, STYPE = NUMERIC, FINALFUNC = {SHARED}.total_of, INITCOND = '0');
CREATE OR REPLACE FUNCTION {SHARED}.joined(text, text, text) RETURNS TEXT LANGUAGE SQL IMMUTABLE AS
$$ SELECT CASE WHEN $1 IS NULL THEN $2 WHEN $2 IS NULL THEN $1 ELSE $1 || $3 || $2 END $$;
CREATE OR REPLACE AGGREGATE {SHARED}.group_concat(text, text) (SFUNC = {SHARED}.joined, STYPE = TEXT);
"""
