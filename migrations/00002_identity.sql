-- +goose Up
-- Who the members of staff are, how they prove it, and the sessions in which they have. A token is kept as its hash alone.

ALTER TABLE staff ADD COLUMN disabled_at INTEGER;
ALTER TABLE staff ADD COLUMN password_changed_at INTEGER;
ALTER TABLE staff ADD COLUMN must_totp INTEGER NOT NULL DEFAULT 0 CHECK (must_totp IN (0, 1));
ALTER TABLE staff ADD COLUMN totp_since INTEGER; -- NULL: no second factor
ALTER TABLE staff ADD COLUMN totp_key_no INTEGER;
ALTER TABLE staff ADD COLUMN totp_sealed BLOB;
ALTER TABLE staff ADD COLUMN totp_step INTEGER NOT NULL DEFAULT 0; -- the newest time step whose code was used
ALTER TABLE staff ADD COLUMN zone TEXT NOT NULL DEFAULT 'UTC';
ALTER TABLE staff ADD COLUMN theme TEXT NOT NULL DEFAULT 'auto' CHECK (theme IN ('auto', 'light', 'dark'));
ALTER TABLE staff ADD COLUMN density TEXT NOT NULL DEFAULT 'comfortable' CHECK (density IN ('comfortable', 'compact'));
ALTER TABLE staff ADD COLUMN live INTEGER NOT NULL DEFAULT 1 CHECK (live IN (0, 1));
ALTER TABLE staff ADD COLUMN keys_off INTEGER NOT NULL DEFAULT 0 CHECK (keys_off IN (0, 1));
ALTER TABLE staff ADD COLUMN seen_at INTEGER; -- the newest sign-in

CREATE TABLE recovery_codes (
    mac     BLOB    NOT NULL PRIMARY KEY CHECK (length(mac) = 32),
    staff   BLOB    NOT NULL REFERENCES staff (id),
    used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX recovery_codes_staff ON recovery_codes (staff);

CREATE TABLE invites (
    mac        BLOB    NOT NULL PRIMARY KEY CHECK (length(mac) = 32),
    staff      BLOB    NOT NULL REFERENCES staff (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX invites_staff ON invites (staff);

CREATE TABLE sessions (
    hash       TEXT    NOT NULL PRIMARY KEY CHECK (length(hash) > 0),
    staff      BLOB    NOT NULL REFERENCES staff (id),
    data       BLOB    NOT NULL,
    agent      TEXT    NOT NULL, -- the browser in words
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_staff ON sessions (staff);
CREATE INDEX sessions_created ON sessions (created_at);

-- Tries to sign in, by the keyed hash of an account's name or of an address.
CREATE TABLE throttles (
    mac      BLOB    NOT NULL PRIMARY KEY CHECK (length(mac) = 32),
    tries    INTEGER NOT NULL, -- since the last success or the last quiet day
    until    INTEGER NOT NULL, -- no try before
    last_at  INTEGER NOT NULL,
    noted_at INTEGER NOT NULL DEFAULT 0, -- the last event about it
    unnoted  INTEGER NOT NULL DEFAULT 0  -- failures since then
) STRICT, WITHOUT ROWID;
CREATE INDEX throttles_last ON throttles (last_at);

INSERT INTO actions (name) VALUES
    ('signed_in'), ('sign_in_failed'), ('signed_out'), ('sessions_ended'), ('password_changed'), ('totp_enrolled'), ('totp_removed'),
    ('recovery_codes_made'), ('staff_invited'), ('invitation_accepted'), ('staff_changed'), ('staff_disabled'), ('staff_enabled'),
    ('access_refused');
