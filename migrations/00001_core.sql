-- +goose Up
-- Times are milliseconds UTC; ids are 16-byte UUIDv7 blobs; pseudonyms are 16-byte keyed MACs. The lists in the CHECKs repeat the constants
-- of package dispatch, and a test compares them.

CREATE TABLE index_keys (
    name    TEXT    NOT NULL PRIMARY KEY,
    key_no  INTEGER NOT NULL,
    wrapped BLOB    NOT NULL
) STRICT;

CREATE TABLE clients (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    name       TEXT    NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 100),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    client     BLOB    NOT NULL REFERENCES clients (id),
    name       TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    secret_mac BLOB    NOT NULL UNIQUE CHECK (length(secret_mac) = 32),
    scopes     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    UNIQUE (client, name)
) STRICT;

CREATE TABLE staff (
    id         BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    email      TEXT    NOT NULL UNIQUE COLLATE NOCASE,
    name       TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    role       TEXT    NOT NULL CHECK (role IN ('support', 'compliance', 'auditor', 'admin')),
    password   TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    ends_at    INTEGER
) STRICT;

CREATE TABLE notifications (
    id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    client           BLOB    NOT NULL REFERENCES clients (id),
    event_id         TEXT    NOT NULL CHECK (length(event_id) BETWEEN 1 AND 128),
    idempotency_key  TEXT    NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 128),
    purpose          TEXT    NOT NULL CHECK (length(purpose) BETWEEN 1 AND 64),
    subject          BLOB CHECK (subject IS NULL OR length(subject) = 16),
    recipient        BLOB    NOT NULL CHECK (length(recipient) = 16),
    country          TEXT    NOT NULL,
    hint             TEXT    NOT NULL CHECK (length(hint) <= 2),
    text_mac         BLOB    NOT NULL CHECK (length(text_mac) = 32),
    encoding         TEXT    NOT NULL CHECK (encoding IN ('GSM-7', 'UCS-2')),
    segments         INTEGER NOT NULL CHECK (segments >= 1),
    accepted_at      INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL CHECK (expires_at > accepted_at),
    occurred_at      INTEGER,
    state            TEXT    NOT NULL CHECK (state IN ('accepted', 'dispatching', 'dispatch_unknown', 'sent', 'delivered', 'undelivered',
                         'failed', 'expired', 'cancelled')),
    reason           TEXT CHECK (reason IN ('provider_accepted', 'expired_before_send', 'provider_unavailable', 'withdrawn_by_client',
                         'withdrawn_by_staff', 'superseded', 'refused_by_policy', 'restored', 'unreadable', 'provider_refused',
                         'attempts_exhausted', 'closed_not_sent', 'closed_undetermined', 'outcome_unknown', 'no_receipt')),
    version          INTEGER NOT NULL,
    final            INTEGER NOT NULL CHECK (final IN (0, 1)),
    due_at           INTEGER NOT NULL,
    withdrawn_at     INTEGER,
    withdrawn_reason TEXT,
    stopped_at       INTEGER,
    stopped_kind     TEXT,
    stopped_id       TEXT,
    replays          INTEGER NOT NULL DEFAULT 0,
    last_seq         INTEGER NOT NULL DEFAULT 0,
    UNIQUE (client, idempotency_key),
    UNIQUE (client, event_id, purpose),
    CHECK ((stopped_at IS NULL) = (state IN ('accepted', 'dispatching', 'dispatch_unknown'))),
    CHECK ((reason IS NULL) = (stopped_at IS NULL)),
    CHECK ((withdrawn_at IS NULL) = (withdrawn_reason IS NULL)),
    CHECK (final = 0 OR stopped_at IS NOT NULL)
) STRICT;

CREATE INDEX notifications_due ON notifications (client, due_at) WHERE state = 'accepted';
CREATE INDEX notifications_ends ON notifications (expires_at) WHERE state = 'accepted';
CREATE INDEX notifications_doubts ON notifications (expires_at) WHERE state = 'dispatch_unknown';
CREATE INDEX notifications_unreported ON notifications (stopped_at) WHERE state = 'sent' AND final = 0;
CREATE INDEX notifications_subject ON notifications (client, subject) WHERE subject IS NOT NULL;
CREATE INDEX notifications_recipient ON notifications (recipient);

CREATE TABLE sealed_messages (
    notification BLOB    NOT NULL PRIMARY KEY REFERENCES notifications (id),
    key_no       INTEGER NOT NULL,
    sealed       BLOB    NOT NULL
) STRICT;

CREATE TABLE sealed_recipients (
    recipient  BLOB    NOT NULL PRIMARY KEY CHECK (length(recipient) = 16),
    key_no     INTEGER NOT NULL,
    sealed     BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE subject_withdrawals (
    client      BLOB    NOT NULL REFERENCES clients (id),
    subject     BLOB    NOT NULL CHECK (length(subject) = 16),
    occurred_at INTEGER NOT NULL,
    PRIMARY KEY (client, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE permits (
    notification BLOB    NOT NULL REFERENCES notifications (id),
    n            INTEGER NOT NULL CHECK (n >= 1),
    granted_at   INTEGER NOT NULL,
    spent_at     INTEGER,
    void_at      INTEGER,
    PRIMARY KEY (notification, n),
    CHECK (spent_at IS NULL OR void_at IS NULL)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
    id            BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    notification  BLOB    NOT NULL REFERENCES notifications (id),
    number        INTEGER NOT NULL,
    provider      TEXT    NOT NULL,
    outcome       TEXT    NOT NULL CHECK (outcome IN ('pending', 'accepted', 'refused', 'not_sent', 'unknown', 'undetermined')),
    started_at    INTEGER NOT NULL,
    deadline_at   INTEGER NOT NULL,
    validity_ms   INTEGER NOT NULL,
    finished_at   INTEGER,
    phase         TEXT CHECK (phase IN ('none', 'connecting', 'connected', 'writing', 'written', 'responding', 'answered')),
    rule          TEXT CHECK (rule IN ('R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'R7', 'R8', 'R10', 'R11')),
    http_status   INTEGER,
    code          TEXT,
    answer_id     TEXT,
    request_id    TEXT,
    answer_sha    BLOB CHECK (answer_sha IS NULL OR length(answer_sha) = 32),
    message_id    TEXT,
    unknown_since INTEGER,
    lookup_at     INTEGER,
    lookups       INTEGER NOT NULL DEFAULT 0,
    receipt       TEXT CHECK (receipt IN ('taken', 'delivered', 'undelivered')),
    receipt_code  TEXT,
    PRIMARY KEY (notification, number),
    CHECK ((finished_at IS NULL) = (rule IS NULL))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX attempts_open ON attempts (notification) WHERE outcome IN ('pending', 'unknown');
CREATE INDEX attempts_lookup ON attempts (lookup_at) WHERE lookup_at IS NOT NULL;
CREATE INDEX attempts_message ON attempts (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE lookups (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    notification BLOB    NOT NULL,
    attempt      INTEGER NOT NULL,
    provider     TEXT    NOT NULL,
    asked_at     INTEGER NOT NULL,
    by_kind      TEXT    NOT NULL,
    by_id        TEXT    NOT NULL,
    result       TEXT    NOT NULL CHECK (result IN ('match', 'several', 'ambiguous', 'empty', 'absent', 'failed')),
    candidates   INTEGER NOT NULL,
    pages        INTEGER NOT NULL,
    complete     INTEGER NOT NULL,
    later_seen   INTEGER NOT NULL,
    http_status  INTEGER,
    sha256       BLOB CHECK (sha256 IS NULL OR length(sha256) = 32),
    message_id   TEXT,
    FOREIGN KEY (notification, attempt) REFERENCES attempts (notification, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX lookups_attempt ON lookups (notification, attempt);

CREATE TABLE receipts (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    notification BLOB, -- NULL: it names nothing here
    attempt      INTEGER,
    provider     TEXT    NOT NULL,
    received_at  INTEGER NOT NULL,
    message_id   TEXT    NOT NULL,
    status       TEXT    NOT NULL CHECK (status IN ('taken', 'delivered', 'undelivered')),
    raw          TEXT    NOT NULL,
    code         TEXT    NOT NULL,
    forgotten    BLOB, -- the notification that its signed reference names, when that is not here (any more)
    repeated     INTEGER NOT NULL,
    sha256       BLOB    NOT NULL CHECK (length(sha256) = 32),
    FOREIGN KEY (notification, attempt) REFERENCES attempts (notification, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_attempt ON receipts (notification, attempt) WHERE notification IS NOT NULL;
CREATE INDEX receipts_message ON receipts (message_id, raw, code);

CREATE TABLE verdicts (
    id            BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    notification  BLOB    NOT NULL,
    attempt       INTEGER NOT NULL,
    ruling        TEXT    NOT NULL CHECK (ruling IN ('sent', 'not_sent', 'undetermined')),
    grade         TEXT    NOT NULL CHECK (grade IN ('wire', 'provider_confirmed', 'provider_denied', 'receipt', 'human', 'expiry')),
    next          TEXT    NOT NULL CHECK (next IN ('close', 'send_again')),
    reason_code   TEXT    NOT NULL,
    evidence_kind TEXT    NOT NULL,
    evidence_ref  TEXT    NOT NULL,
    note          TEXT    NOT NULL,
    by_kind       TEXT    NOT NULL,
    by_id         TEXT    NOT NULL,
    approved_kind TEXT,
    approved_id   TEXT,
    at            INTEGER NOT NULL,
    message_id    TEXT,
    FOREIGN KEY (notification, attempt) REFERENCES attempts (notification, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX verdicts_attempt ON verdicts (notification, attempt);

CREATE TABLE incidents (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    notification BLOB    NOT NULL REFERENCES notifications (id),
    kind         TEXT    NOT NULL CHECK (kind IN ('second_send', 'two_provider_ids', 'evidence_contradiction', 'several_candidates')),
    attempt      INTEGER NOT NULL,
    opened_at    INTEGER NOT NULL,
    owner        TEXT,
    closed_at    INTEGER,
    closed_kind  TEXT,
    closed_id    TEXT,
    why          TEXT,
    UNIQUE (notification, kind, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX incidents_open ON incidents (opened_at) WHERE closed_at IS NULL;

-- The catalogue of what can happen. It is a table, so that a later step can add to it without copying the log.
CREATE TABLE actions (
    name TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
INSERT INTO actions (name) VALUES
    ('accepted'), ('replayed'), ('dispatch_started'), ('attempt_finished'), ('attempt_interrupted'), ('lookup_recorded'),
    ('receipt_recorded'), ('receipt_repeated'), ('receipt_unmatched'), ('verdict_recorded'), ('withdrawn'), ('subject_withdrawn'),
    ('expired'), ('set_aside'), ('finalised'), ('incident_opened'), ('provider_paused'), ('provider_resumed'), ('clock_stepped'),
    ('clock_confirmed'), ('server_started'), ('server_stopped'), ('client_added'), ('api_key_added'), ('staff_added');

CREATE TABLE events (
    seq           INTEGER NOT NULL PRIMARY KEY,
    at            INTEGER NOT NULL,
    by_kind       TEXT    NOT NULL CHECK (by_kind IN ('client', 'staff', 'worker', 'provider', 'operator')),
    by_id         TEXT    NOT NULL,
    action        TEXT    NOT NULL, -- one of the table actions
    client        BLOB,
    notification  BLOB,
    attempt       INTEGER,
    from_state    TEXT,
    to_state      TEXT,
    version       INTEGER, -- of the notification after the event; NULL: it does not move it
    final         INTEGER NOT NULL CHECK (final IN (0, 1)),
    reason        TEXT CHECK (reason IN ('provider_accepted', 'expired_before_send', 'provider_unavailable', 'withdrawn_by_client',
                      'withdrawn_by_staff', 'superseded', 'refused_by_policy', 'restored', 'unreadable', 'provider_refused',
                      'attempts_exhausted', 'closed_not_sent', 'closed_undetermined', 'outcome_unknown', 'no_receipt')),
    outcome       TEXT CHECK (outcome IN ('pending', 'accepted', 'refused', 'not_sent', 'unknown', 'undetermined')),
    grade         TEXT CHECK (grade IN ('wire', 'provider_confirmed', 'provider_denied', 'receipt', 'human', 'expiry')),
    provider      TEXT,
    cause         TEXT,
    count         INTEGER,
    evidence      TEXT CHECK (evidence IN ('attempt', 'lookup', 'receipt', 'verdict')),
    evidence_id   BLOB CHECK (evidence_id IS NULL OR length(evidence_id) = 16),
    evidence_sha  BLOB CHECK (evidence_sha IS NULL OR length(evidence_sha) = 32),
    request_id    TEXT,
    CHECK (version IS NULL OR notification IS NOT NULL),
    CHECK (to_state IS NULL OR version IS NOT NULL),
    CHECK ((from_state IS NULL) = (to_state IS NULL) OR action = 'accepted' AND version = 1 AND from_state IS NULL),
    CHECK (action <> 'accepted' OR to_state IS 'accepted'),
    CHECK (from_state IS NULL
        OR from_state = 'accepted' AND to_state IN ('dispatching', 'sent', 'delivered', 'undelivered', 'failed', 'expired', 'cancelled')
        OR from_state = 'dispatching' AND to_state IN ('accepted', 'dispatch_unknown', 'sent', 'delivered', 'undelivered', 'failed',
               'expired', 'cancelled')
        OR from_state = 'dispatch_unknown' AND to_state IN ('accepted', 'sent', 'delivered', 'undelivered', 'expired', 'cancelled')
        OR from_state = 'sent' AND to_state IN ('delivered', 'undelivered')
        OR from_state = 'delivered' AND to_state IN ('undelivered')),
    CHECK ((evidence IS NULL) = (evidence_sha IS NULL))
) STRICT;
CREATE INDEX events_notification ON events (notification, seq) WHERE notification IS NOT NULL;

-- The invariants marked DB. They are triggers so that they hold with foreign_keys = 0 and against OR REPLACE, whose implicit deletes fire no
-- trigger: every BEFORE INSERT therefore refuses a row that exists, and evidence has no rowid by which one row could replace another.
-- Whoever can change the schema is not stopped by them, nor whoever switches the CHECKs off (ignore_check_constraints) or puts a TEMP trigger
-- in front of them.

-- I1, and a notification begins as accepted and unmoved.
-- +goose StatementBegin
CREATE TRIGGER notifications_insert BEFORE INSERT ON notifications
BEGIN
    SELECT RAISE(ABORT, 'notifications: the key or the event exists')
    WHERE EXISTS (SELECT 1 FROM notifications WHERE client = NEW.client AND idempotency_key = NEW.idempotency_key)
       OR EXISTS (SELECT 1 FROM notifications WHERE client = NEW.client AND event_id = NEW.event_id AND purpose = NEW.purpose)
       OR EXISTS (SELECT 1 FROM notifications WHERE id = NEW.id)
       OR EXISTS (SELECT 1 FROM notifications WHERE rowid = NEW.rowid);
    SELECT RAISE(ABORT, 'notifications: begins accepted and unmoved')
    WHERE NEW.state <> 'accepted' OR NEW.version <> 0 OR NEW.last_seq <> 0 OR NEW.final <> 0 OR NEW.stopped_at IS NOT NULL
       OR NEW.withdrawn_at IS NOT NULL OR NEW.replays <> 0;
END;
-- +goose StatementEnd

-- I7: what it is never changes, and where it stands changes only through the event that says so.
-- +goose StatementBegin
CREATE TRIGGER notifications_update BEFORE UPDATE ON notifications
BEGIN
    SELECT RAISE(ABORT, 'notifications: its identity is fixed')
    WHERE NEW.rowid IS NOT OLD.rowid OR NEW.id IS NOT OLD.id OR NEW.client IS NOT OLD.client OR NEW.event_id IS NOT OLD.event_id
       OR NEW.idempotency_key IS NOT OLD.idempotency_key OR NEW.purpose IS NOT OLD.purpose OR NEW.subject IS NOT OLD.subject
       OR NEW.recipient IS NOT OLD.recipient OR NEW.country IS NOT OLD.country OR NEW.hint IS NOT OLD.hint
       OR NEW.text_mac IS NOT OLD.text_mac OR NEW.encoding IS NOT OLD.encoding OR NEW.segments IS NOT OLD.segments
       OR NEW.accepted_at IS NOT OLD.accepted_at OR NEW.expires_at IS NOT OLD.expires_at
       OR NEW.occurred_at IS NOT OLD.occurred_at OR NEW.replays < OLD.replays;
    SELECT RAISE(ABORT, 'notifications: moves only through its event')
    WHERE (NEW.state IS NOT OLD.state OR NEW.reason IS NOT OLD.reason OR NEW.version IS NOT OLD.version OR NEW.final IS NOT OLD.final
           OR NEW.withdrawn_at IS NOT OLD.withdrawn_at OR NEW.withdrawn_reason IS NOT OLD.withdrawn_reason
           OR NEW.stopped_at IS NOT OLD.stopped_at OR NEW.stopped_kind IS NOT OLD.stopped_kind OR NEW.stopped_id IS NOT OLD.stopped_id
           OR NEW.last_seq IS NOT OLD.last_seq)
      AND NOT EXISTS (SELECT 1 FROM events e
                      WHERE e.seq = NEW.last_seq AND e.seq > OLD.last_seq AND e.notification = NEW.id
                        AND e.version = NEW.version AND e.version = OLD.version + 1
                        AND coalesce(e.from_state, OLD.state) = OLD.state AND coalesce(e.to_state, OLD.state) = NEW.state
                        AND NEW.final = max(OLD.final, e.final)
                        AND NEW.stopped_at IS coalesce(OLD.stopped_at, CASE WHEN e.to_state NOT IN ('accepted', 'dispatching',
                            'dispatch_unknown') THEN e.at END)
                        AND NEW.reason IS coalesce(OLD.reason, CASE WHEN NEW.stopped_at IS NOT NULL THEN e.reason END)
                        AND NEW.withdrawn_at IS coalesce(OLD.withdrawn_at, CASE WHEN e.action = 'withdrawn' THEN e.at END)
                        AND NEW.withdrawn_reason IS coalesce(OLD.withdrawn_reason, CASE WHEN e.action = 'withdrawn' THEN e.reason END));
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER notifications_delete BEFORE DELETE ON notifications
BEGIN
    SELECT RAISE(ABORT, 'notifications: are not deleted');
END;
-- +goose StatementEnd

-- I7: events are gapless, and each moves its notification in the same statement. A stop voids what is unspent and destroys the text (I8),
-- so that no code path can forget either. An event that changes no state has an UPDATE of its own: one that names the state rewrites every
-- index over states, a tenth of an admission.
-- +goose StatementBegin
CREATE TRIGGER events_insert BEFORE INSERT ON events
BEGIN
    SELECT RAISE(ABORT, 'events: seq is not the next one')
    WHERE NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events);
    SELECT RAISE(ABORT, 'events: no such action') WHERE NOT EXISTS (SELECT 1 FROM actions WHERE name = NEW.action);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER events_move AFTER INSERT ON events WHEN NEW.version IS NOT NULL
BEGIN
    UPDATE notifications
    SET version = NEW.version,
        last_seq = NEW.seq,
        withdrawn_at = coalesce(withdrawn_at, CASE WHEN NEW.action = 'withdrawn' THEN NEW.at END),
        withdrawn_reason = coalesce(withdrawn_reason, CASE WHEN NEW.action = 'withdrawn' THEN NEW.reason END)
    WHERE NEW.from_state IS NULL AND NEW.final = 0
      AND id = NEW.notification AND version = NEW.version - 1 AND state = coalesce(NEW.to_state, state);
    UPDATE notifications
    SET state = coalesce(NEW.to_state, state),
        version = NEW.version,
        last_seq = NEW.seq,
        final = max(final, NEW.final),
        withdrawn_at = coalesce(withdrawn_at, CASE WHEN NEW.action = 'withdrawn' THEN NEW.at END),
        withdrawn_reason = coalesce(withdrawn_reason, CASE WHEN NEW.action = 'withdrawn' THEN NEW.reason END),
        reason = coalesce(reason, CASE WHEN NEW.to_state NOT IN ('accepted', 'dispatching', 'dispatch_unknown') THEN NEW.reason END),
        stopped_kind = CASE WHEN stopped_at IS NULL AND NEW.to_state NOT IN ('accepted', 'dispatching', 'dispatch_unknown')
            THEN NEW.by_kind ELSE stopped_kind END,
        stopped_id = CASE WHEN stopped_at IS NULL AND NEW.to_state NOT IN ('accepted', 'dispatching', 'dispatch_unknown')
            THEN NEW.by_id ELSE stopped_id END,
        stopped_at = coalesce(stopped_at, CASE WHEN NEW.to_state NOT IN ('accepted', 'dispatching', 'dispatch_unknown') THEN NEW.at END)
    WHERE (NEW.from_state IS NOT NULL OR NEW.final = 1)
      AND id = NEW.notification AND version = NEW.version - 1 AND state = coalesce(NEW.from_state, state);
    SELECT RAISE(ABORT, 'events: the notification is not where the event says')
    WHERE NOT EXISTS (SELECT 1 FROM notifications WHERE id = NEW.notification AND last_seq = NEW.seq);
    UPDATE permits SET void_at = NEW.at
    WHERE notification = NEW.notification AND spent_at IS NULL AND void_at IS NULL
      AND NEW.to_state NOT IN ('accepted', 'dispatching', 'dispatch_unknown');
    DELETE FROM sealed_messages
    WHERE notification = NEW.notification AND NEW.to_state NOT IN ('accepted', 'dispatching', 'dispatch_unknown');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER events_update BEFORE UPDATE ON events
BEGIN
    SELECT RAISE(ABORT, 'events: are not changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER events_delete BEFORE DELETE ON events
BEGIN
    SELECT RAISE(ABORT, 'events: are not deleted');
END;
-- +goose StatementEnd

-- I2: permit 1 at admission, permit n+1 only with a verdict not_sent on attempt n and none `sent` on any.
-- +goose StatementBegin
CREATE TRIGGER permits_insert BEFORE INSERT ON permits
BEGIN
    SELECT RAISE(ABORT, 'permits: exists') WHERE EXISTS (SELECT 1 FROM permits WHERE notification = NEW.notification AND n >= NEW.n);
    SELECT RAISE(ABORT, 'permits: begins unspent') WHERE NEW.spent_at IS NOT NULL OR NEW.void_at IS NOT NULL;
    SELECT RAISE(ABORT, 'permits: the notification is not waiting')
    WHERE NOT EXISTS (SELECT 1 FROM notifications
                      WHERE id = NEW.notification AND state = 'accepted' AND version >= 1 AND withdrawn_at IS NULL AND stopped_at IS NULL);
    SELECT RAISE(ABORT, 'permits: needs a verdict not_sent on the attempt before')
    WHERE NEW.n > 1 AND NOT EXISTS (SELECT 1 FROM verdicts
                                    WHERE notification = NEW.notification AND attempt = NEW.n - 1 AND ruling = 'not_sent');
    SELECT RAISE(ABORT, 'permits: an attempt was sent')
    WHERE EXISTS (SELECT 1 FROM verdicts WHERE notification = NEW.notification AND ruling = 'sent')
       OR EXISTS (SELECT 1 FROM attempts WHERE notification = NEW.notification AND outcome IN ('pending', 'unknown', 'accepted'));
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER permits_update BEFORE UPDATE ON permits
BEGIN
    SELECT RAISE(ABORT, 'permits: fixed')
    WHERE NEW.notification IS NOT OLD.notification OR NEW.n IS NOT OLD.n OR NEW.granted_at IS NOT OLD.granted_at
       OR OLD.spent_at IS NOT NULL OR OLD.void_at IS NOT NULL;
    SELECT RAISE(ABORT, 'permits: spent without an attempt')
    WHERE NEW.spent_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM attempts WHERE notification = NEW.notification AND number = NEW.n AND started_at = NEW.spent_at);
    SELECT RAISE(ABORT, 'permits: void without a stop')
    WHERE NEW.void_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM notifications WHERE id = NEW.notification AND stopped_at IS NOT NULL);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER permits_delete BEFORE DELETE ON permits
BEGIN
    SELECT RAISE(ABORT, 'permits: are not deleted');
END;
-- +goose StatementEnd

-- I2, I3: an attempt spends the one open permit of a notification that is dispatching, not withdrawn and alive.
-- +goose StatementBegin
CREATE TRIGGER attempts_insert BEFORE INSERT ON attempts
BEGIN
    SELECT RAISE(ABORT, 'attempts: begins pending and without a result')
    WHERE NEW.outcome <> 'pending' OR NEW.finished_at IS NOT NULL OR NEW.message_id IS NOT NULL OR NEW.unknown_since IS NOT NULL
       OR NEW.receipt IS NOT NULL OR NEW.lookups <> 0;
    SELECT RAISE(ABORT, 'attempts: exists')
    WHERE EXISTS (SELECT 1 FROM attempts WHERE notification = NEW.notification AND number >= NEW.number)
       OR EXISTS (SELECT 1 FROM attempts WHERE id = NEW.id);
    SELECT RAISE(ABORT, 'attempts: another one is open')
    WHERE EXISTS (SELECT 1 FROM attempts WHERE notification = NEW.notification AND outcome IN ('pending', 'unknown'));
    SELECT RAISE(ABORT, 'attempts: an earlier one was sent')
    WHERE EXISTS (SELECT 1 FROM attempts WHERE notification = NEW.notification AND outcome = 'accepted')
       OR EXISTS (SELECT 1 FROM verdicts WHERE notification = NEW.notification AND ruling = 'sent');
    SELECT RAISE(ABORT, 'attempts: no open permit')
    WHERE NOT EXISTS (SELECT 1 FROM permits
                      WHERE notification = NEW.notification AND n = NEW.number AND spent_at IS NULL AND void_at IS NULL);
    SELECT RAISE(ABORT, 'attempts: the notification may not be sent')
    WHERE NOT EXISTS (SELECT 1 FROM notifications
                      WHERE id = NEW.notification AND state = 'dispatching' AND withdrawn_at IS NULL AND stopped_at IS NULL
                        AND NEW.started_at < expires_at);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER attempts_spend AFTER INSERT ON attempts
BEGIN
    UPDATE permits SET spent_at = NEW.started_at WHERE notification = NEW.notification AND n = NEW.number;
    SELECT RAISE(ABORT, 'attempts: the permit was not spent')
    WHERE NOT EXISTS (SELECT 1 FROM permits
                      WHERE notification = NEW.notification AND n = NEW.number AND spent_at = NEW.started_at);
END;
-- +goose StatementEnd

-- I7: an attempt takes its result once, and its outcome moves only along the allowed steps: the first time by the result or by a verdict
-- that overtakes it, then only by a verdict.
-- +goose StatementBegin
CREATE TRIGGER attempts_update BEFORE UPDATE ON attempts
BEGIN
    SELECT RAISE(ABORT, 'attempts: fixed')
    WHERE NEW.id IS NOT OLD.id OR NEW.notification IS NOT OLD.notification OR NEW.number IS NOT OLD.number
       OR NEW.provider IS NOT OLD.provider OR NEW.started_at IS NOT OLD.started_at OR NEW.deadline_at IS NOT OLD.deadline_at
       OR NEW.validity_ms IS NOT OLD.validity_ms OR NEW.lookups < OLD.lookups;
    SELECT RAISE(ABORT, 'attempts: the result is set once')
    WHERE OLD.finished_at IS NOT NULL
      AND (NEW.finished_at IS NOT OLD.finished_at OR NEW.phase IS NOT OLD.phase OR NEW.rule IS NOT OLD.rule
           OR NEW.http_status IS NOT OLD.http_status OR NEW.code IS NOT OLD.code OR NEW.answer_id IS NOT OLD.answer_id
           OR NEW.request_id IS NOT OLD.request_id OR NEW.answer_sha IS NOT OLD.answer_sha)
       OR OLD.message_id IS NOT NULL AND NEW.message_id IS NOT OLD.message_id
       OR OLD.unknown_since IS NOT NULL AND NEW.unknown_since IS NOT OLD.unknown_since
       OR OLD.receipt IS NOT NULL AND NEW.receipt IS NULL
       OR OLD.receipt = 'delivered' AND NEW.receipt = 'taken' OR OLD.receipt = 'undelivered' AND NEW.receipt <> 'undelivered';
    SELECT RAISE(ABORT, 'attempts: the outcome does not move that way')
    WHERE NEW.outcome <> OLD.outcome
      AND NOT (OLD.outcome = 'pending' AND NEW.outcome IN ('accepted', 'refused', 'not_sent', 'unknown')
            OR OLD.outcome = 'unknown' AND NEW.outcome IN ('accepted', 'not_sent', 'undetermined')
            OR OLD.outcome = 'undetermined' AND NEW.outcome IN ('accepted', 'not_sent')
            OR OLD.outcome IN ('not_sent', 'refused') AND NEW.outcome = 'accepted');
    SELECT RAISE(ABORT, 'attempts: the outcome moves only by its result or a verdict')
    WHERE NEW.outcome <> OLD.outcome AND (OLD.outcome <> 'pending' OR NEW.finished_at IS NULL)
      AND NOT EXISTS (SELECT 1 FROM verdicts
                      WHERE notification = NEW.notification AND attempt = NEW.number
                        AND ruling = CASE NEW.outcome WHEN 'accepted' THEN 'sent' ELSE NEW.outcome END);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER attempts_delete BEFORE DELETE ON attempts
BEGIN
    SELECT RAISE(ABORT, 'attempts: are not deleted');
END;
-- +goose StatementEnd

-- I7: evidence is written once.
-- +goose StatementBegin
CREATE TRIGGER lookups_insert BEFORE INSERT ON lookups
BEGIN
    SELECT RAISE(ABORT, 'lookups: exists') WHERE EXISTS (SELECT 1 FROM lookups WHERE id = NEW.id);
    SELECT RAISE(ABORT, 'lookups: no such attempt')
    WHERE NOT EXISTS (SELECT 1 FROM attempts WHERE notification = NEW.notification AND number = NEW.attempt);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER lookups_update BEFORE UPDATE ON lookups
BEGIN
    SELECT RAISE(ABORT, 'lookups: are not changed');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER lookups_delete BEFORE DELETE ON lookups
BEGIN
    SELECT RAISE(ABORT, 'lookups: are not deleted');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER receipts_insert BEFORE INSERT ON receipts
BEGIN
    SELECT RAISE(ABORT, 'receipts: exists') WHERE EXISTS (SELECT 1 FROM receipts WHERE id = NEW.id);
    SELECT RAISE(ABORT, 'receipts: no such attempt')
    WHERE (NEW.notification IS NULL) <> (NEW.attempt IS NULL)
       OR NEW.notification IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM attempts WHERE notification = NEW.notification AND number = NEW.attempt);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER receipts_update BEFORE UPDATE ON receipts
BEGIN
    SELECT RAISE(ABORT, 'receipts: are not changed');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER receipts_delete BEFORE DELETE ON receipts
BEGIN
    SELECT RAISE(ABORT, 'receipts: are not deleted');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER verdicts_insert BEFORE INSERT ON verdicts
BEGIN
    SELECT RAISE(ABORT, 'verdicts: exists') WHERE EXISTS (SELECT 1 FROM verdicts WHERE id = NEW.id);
    SELECT RAISE(ABORT, 'verdicts: no such attempt')
    WHERE NOT EXISTS (SELECT 1 FROM attempts WHERE notification = NEW.notification AND number = NEW.attempt);
    SELECT RAISE(ABORT, 'verdicts: the call is still open')
    WHERE NEW.ruling <> 'sent'
      AND EXISTS (SELECT 1 FROM attempts WHERE notification = NEW.notification AND number = NEW.attempt AND outcome = 'pending');
    SELECT RAISE(ABORT, 'verdicts: the attempt was accepted')
    WHERE NEW.ruling <> 'sent'
      AND EXISTS (SELECT 1 FROM attempts WHERE notification = NEW.notification AND number = NEW.attempt AND outcome = 'accepted');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER verdicts_update BEFORE UPDATE ON verdicts
BEGIN
    SELECT RAISE(ABORT, 'verdicts: are not changed');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER verdicts_delete BEFORE DELETE ON verdicts
BEGIN
    SELECT RAISE(ABORT, 'verdicts: are not deleted');
END;
-- +goose StatementEnd

-- A sealed text belongs to one live notification and never comes back after the stop.
-- +goose StatementBegin
CREATE TRIGGER sealed_messages_insert BEFORE INSERT ON sealed_messages
BEGIN
    SELECT RAISE(ABORT, 'sealed_messages: exists')
    WHERE EXISTS (SELECT 1 FROM sealed_messages WHERE notification = NEW.notification);
    SELECT RAISE(ABORT, 'sealed_messages: the notification has stopped')
    WHERE NOT EXISTS (SELECT 1 FROM notifications WHERE id = NEW.notification AND state = 'accepted');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER sealed_messages_update BEFORE UPDATE ON sealed_messages
BEGIN
    SELECT RAISE(ABORT, 'sealed_messages: a text stays with its notification') WHERE NEW.notification IS NOT OLD.notification;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER incidents_delete BEFORE DELETE ON incidents
BEGIN
    SELECT RAISE(ABORT, 'incidents: are not deleted');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER incidents_insert BEFORE INSERT ON incidents
BEGIN
    SELECT RAISE(ABORT, 'incidents: exists')
    WHERE EXISTS (SELECT 1 FROM incidents
                  WHERE id = NEW.id OR notification = NEW.notification AND kind = NEW.kind AND attempt = NEW.attempt);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER incidents_update BEFORE UPDATE ON incidents
BEGIN
    SELECT RAISE(ABORT, 'incidents: fixed')
    WHERE NEW.id IS NOT OLD.id OR NEW.notification IS NOT OLD.notification OR NEW.kind IS NOT OLD.kind OR NEW.attempt IS NOT OLD.attempt
       OR NEW.opened_at IS NOT OLD.opened_at OR OLD.closed_at IS NOT NULL;
END;
-- +goose StatementEnd
