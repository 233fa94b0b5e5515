-- +goose Up
-- What the pages read. A list is cut by id (UUIDv7: newest first, and equal times keep an order), so that each filter that can be rare has an
-- index that ends in the id. What an index costs a write stands beside it. The engine's statements have indexes of their own and must not be
-- planned over these: a term that is true of every row ("version > 0", "number > 0") keeps them to the statements that repeat it.

-- One entry at admission, moved with each step of the lifecycle: a state can be as rare or as common as any other, so that none is left out.
CREATE INDEX notifications_state ON notifications (state, id) WHERE version > 0;
-- One entry at admission, at the right end of its client.
CREATE INDEX notifications_client ON notifications (client, id) WHERE version > 0;
-- Replaces the index on the recipient alone, so that admission writes as many as before.
DROP INDEX notifications_recipient;
CREATE INDEX notifications_recipient ON notifications (recipient, id);
-- Nothing on the common way: what the provider took is found by its state.
CREATE INDEX notifications_reason ON notifications (reason, id) WHERE reason <> 'provider_accepted';
-- One entry a call.
CREATE INDEX attempts_provider ON attempts (provider, notification) WHERE number > 0;
-- Nothing on the common way: hardly anything is called a second time.
CREATE INDEX attempts_again ON attempts (number, notification) WHERE number > 1;
-- The audit log is cut by seq. Three actions belong to every notification and are found in any stretch of the log; the others have an index.
CREATE INDEX events_action ON events (action, seq) WHERE action NOT IN ('accepted', 'dispatch_started', 'attempt_finished');
-- What people did.
CREATE INDEX events_people ON events (by_kind, seq) WHERE by_kind IN ('staff', 'operator');

-- How many of the notifications accepted in an hour stand in which state now (what = the state), so that a bar of a chart is the length of the
-- list behind it; and how many doubts began ('opened') and ended, by grade ('settled:wire' …), in an hour. Hours are counted from 1970 UTC.
-- The counts are kept by triggers, in the transaction of what they count.
CREATE TABLE hourly (
    hour INTEGER NOT NULL,
    what TEXT    NOT NULL,
    n    INTEGER NOT NULL,
    PRIMARY KEY (hour, what)
) STRICT, WITHOUT ROWID;

-- The purposes that there are, for the filter.
CREATE TABLE purposes (
    purpose TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
INSERT INTO purposes (purpose) SELECT DISTINCT purpose FROM notifications;

-- Calls by the hour in which they began, and by what is known of them now.
CREATE TABLE hourly_calls (
    hour     INTEGER NOT NULL,
    provider TEXT    NOT NULL,
    outcome  TEXT    NOT NULL,
    n        INTEGER NOT NULL,
    PRIMARY KEY (hour, provider, outcome)
) STRICT, WITHOUT ROWID;

INSERT INTO hourly (hour, what, n) SELECT accepted_at / 3600000, state, count(*) FROM notifications GROUP BY 1, 2;
INSERT INTO hourly (hour, what, n) SELECT unknown_since / 3600000, 'opened', count(*) FROM attempts WHERE unknown_since IS NOT NULL GROUP BY 1;
-- A doubt is over with the first verdict that came after it began; the wire, which is no end of a doubt, gives the other verdicts.
INSERT INTO hourly (hour, what, n)
SELECT v.at / 3600000, 'settled:' || v.grade, count(*) FROM verdicts v JOIN attempts a ON a.notification = v.notification AND a.number = v.attempt
WHERE a.unknown_since <= v.at AND v.grade <> 'wire'
  AND NOT EXISTS (SELECT 1 FROM verdicts e WHERE e.notification = v.notification AND e.attempt = v.attempt AND e.id < v.id)
GROUP BY 1, 2;
INSERT INTO hourly_calls (hour, provider, outcome, n) SELECT started_at / 3600000, provider, outcome, count(*) FROM attempts GROUP BY 1, 2, 3;

-- +goose StatementBegin
CREATE TRIGGER hourly_accepted AFTER INSERT ON notifications
BEGIN
    INSERT INTO hourly (hour, what, n) VALUES (NEW.accepted_at / 3600000, NEW.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
    INSERT INTO purposes (purpose) VALUES (NEW.purpose) ON CONFLICT DO NOTHING;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER hourly_moved AFTER UPDATE OF state ON notifications WHEN NEW.state <> OLD.state
BEGIN
    UPDATE hourly SET n = n - 1 WHERE hour = OLD.accepted_at / 3600000 AND what = OLD.state;
    INSERT INTO hourly (hour, what, n) VALUES (NEW.accepted_at / 3600000, NEW.state, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER hourly_called AFTER INSERT ON attempts
BEGIN
    INSERT INTO hourly_calls (hour, provider, outcome, n) VALUES (NEW.started_at / 3600000, NEW.provider, NEW.outcome, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER hourly_turned_out AFTER UPDATE OF outcome ON attempts WHEN NEW.outcome <> OLD.outcome
BEGIN
    UPDATE hourly_calls SET n = n - 1 WHERE hour = OLD.started_at / 3600000 AND provider = OLD.provider AND outcome = OLD.outcome;
    INSERT INTO hourly_calls (hour, provider, outcome, n) VALUES (NEW.started_at / 3600000, NEW.provider, NEW.outcome, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER hourly_opened AFTER UPDATE OF unknown_since ON attempts WHEN OLD.unknown_since IS NULL AND NEW.unknown_since IS NOT NULL
BEGIN
    INSERT INTO hourly (hour, what, n) VALUES (NEW.unknown_since / 3600000, 'opened', 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd

-- The verdict is stored before the outcome moves, so that the attempt still is in doubt when the one that ends it comes.
-- +goose StatementBegin
CREATE TRIGGER hourly_settled AFTER INSERT ON verdicts
WHEN EXISTS (SELECT 1 FROM attempts WHERE notification = NEW.notification AND number = NEW.attempt AND outcome = 'unknown')
BEGIN
    INSERT INTO hourly (hour, what, n) VALUES (NEW.at / 3600000, 'settled:' || NEW.grade, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd

CREATE TABLE saved_views (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    owner      BLOB    NOT NULL REFERENCES staff (id),
    name       TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 40),
    query      TEXT    NOT NULL CHECK (length(query) <= 2000), -- canonical; it holds no number
    shared     INTEGER NOT NULL CHECK (shared IN (0, 1)),
    created_at INTEGER NOT NULL,
    UNIQUE (owner, name)
) STRICT;
CREATE INDEX saved_views_shared ON saved_views (name) WHERE shared = 1;

-- Providers to which a person sends no new calls.
CREATE TABLE provider_holds (
    provider TEXT    NOT NULL PRIMARY KEY,
    held_at  INTEGER NOT NULL,
    by_kind  TEXT    NOT NULL,
    by_id    TEXT    NOT NULL,
    reason   TEXT    NOT NULL,
    note     TEXT    NOT NULL CHECK (length(note) <= 500)
) STRICT, WITHOUT ROWID;

-- Policy values; the newest version of a name counts, and older ones stay as its history.
CREATE TABLE settings (
    name    TEXT    NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    value   TEXT    NOT NULL CHECK (length(value) <= 2000),
    set_at  INTEGER NOT NULL,
    by_kind TEXT    NOT NULL,
    by_id   TEXT    NOT NULL,
    note    TEXT    NOT NULL CHECK (length(note) <= 500),
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;
-- +goose StatementBegin
CREATE TRIGGER settings_update BEFORE UPDATE ON settings
BEGIN
    SELECT RAISE(ABORT, 'settings: a version is not changed');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER settings_insert BEFORE INSERT ON settings
BEGIN
    SELECT RAISE(ABORT, 'settings: version is not the next one')
    WHERE NEW.version <> (SELECT coalesce(max(version), 0) + 1 FROM settings WHERE name = NEW.name);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER settings_delete BEFORE DELETE ON settings
BEGIN
    SELECT RAISE(ABORT, 'settings: a version stays');
END;
-- +goose StatementEnd

INSERT INTO actions (name) VALUES
    ('searched'), ('view_saved'), ('view_deleted'), ('api_key_rotated'), ('api_key_revoked'), ('setting_changed');
