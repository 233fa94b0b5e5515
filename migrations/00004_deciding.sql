-- +goose Up
-- What people decide, who approved it, who works on what, and what was decided together.

CREATE TABLE proposals (
    id            BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    notification  BLOB    NOT NULL,
    attempt       INTEGER NOT NULL,
    version       INTEGER NOT NULL, -- of the notification, as the first person saw it
    digest        BLOB    NOT NULL CHECK (length(digest) = 32), -- of what was known then
    reason_code   TEXT    NOT NULL,
    evidence_kind TEXT    NOT NULL,
    evidence_ref  TEXT    NOT NULL CHECK (length(evidence_ref) <= 200),
    note          TEXT    NOT NULL CHECK (length(note) BETWEEN 1 AND 500),
    by_staff      BLOB    NOT NULL REFERENCES staff (id),
    by_id         TEXT    NOT NULL, -- the same as in events and verdicts
    at            INTEGER NOT NULL,
    lapses_at     INTEGER NOT NULL,
    bulk          BLOB, -- the bulk decision that made it
    state         TEXT    NOT NULL CHECK (state IN ('open', 'approved', 'declined', 'void', 'lapsed', 'single')),
    ended_at      INTEGER,
    ended_staff   BLOB REFERENCES staff (id),
    ended_by      TEXT, -- the same as in verdicts
    ended_note    TEXT CHECK (ended_note IS NULL OR length(ended_note) <= 500),
    FOREIGN KEY (notification, attempt) REFERENCES attempts (notification, number),
    CHECK ((ended_at IS NULL) = (state = 'open')),
    CHECK ((ended_by IS NOT NULL) = (state IN ('approved', 'declined'))),
    CHECK ((ended_staff IS NULL) = (ended_by IS NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX proposals_open ON proposals (notification, attempt) WHERE state = 'open';
CREATE INDEX proposals_notification ON proposals (notification, at);
CREATE INDEX proposals_waiting ON proposals (lapses_at) WHERE state = 'open';

-- +goose StatementBegin
CREATE TRIGGER proposals_insert BEFORE INSERT ON proposals
BEGIN
    SELECT RAISE(ABORT, 'proposals: exists')
    WHERE EXISTS (SELECT 1 FROM proposals WHERE id = NEW.id)
       OR NEW.state = 'open'
          AND EXISTS (SELECT 1 FROM proposals WHERE notification = NEW.notification AND attempt = NEW.attempt AND state = 'open');
    SELECT RAISE(ABORT, 'proposals: begins open, or single') WHERE NEW.state NOT IN ('open', 'single');
    SELECT RAISE(ABORT, 'proposals: the attempt is not in doubt')
    WHERE NOT EXISTS (SELECT 1 FROM attempts WHERE notification = NEW.notification AND number = NEW.attempt AND outcome = 'unknown');
END;
-- +goose StatementEnd

-- A proposal ends once, and is approved by another person than the one who made it.
-- +goose StatementBegin
CREATE TRIGGER proposals_update BEFORE UPDATE ON proposals
BEGIN
    SELECT RAISE(ABORT, 'proposals: fixed')
    WHERE OLD.state <> 'open' OR NEW.state = 'single' OR NEW.id IS NOT OLD.id OR NEW.notification IS NOT OLD.notification
       OR NEW.attempt IS NOT OLD.attempt OR NEW.version IS NOT OLD.version OR NEW.digest IS NOT OLD.digest
       OR NEW.reason_code IS NOT OLD.reason_code OR NEW.evidence_kind IS NOT OLD.evidence_kind
       OR NEW.evidence_ref IS NOT OLD.evidence_ref OR NEW.note IS NOT OLD.note OR NEW.by_staff IS NOT OLD.by_staff
       OR NEW.by_id IS NOT OLD.by_id OR NEW.at IS NOT OLD.at OR NEW.lapses_at IS NOT OLD.lapses_at OR NEW.bulk IS NOT OLD.bulk;
    SELECT RAISE(ABORT, 'proposals: a second person approves')
    WHERE NEW.state = 'approved'
      AND (NEW.ended_by IS NEW.by_id OR NEW.ended_staff IS NEW.by_staff
           OR NOT EXISTS (SELECT 1 FROM staff a, staff b WHERE a.id = NEW.by_staff AND b.id = NEW.ended_staff AND a.email <> b.email)
           OR NOT EXISTS (SELECT 1 FROM notifications WHERE id = NEW.notification AND version = NEW.version AND NEW.ended_at < expires_at));
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER proposals_delete BEFORE DELETE ON proposals
BEGIN
    SELECT RAISE(ABORT, 'proposals: are not deleted');
END;
-- +goose StatementEnd

-- The second line behind Record.Decide: no code path sends again on one person's word.
-- +goose StatementBegin
CREATE TRIGGER verdicts_second_person BEFORE INSERT ON verdicts WHEN NEW.grade = 'human' AND NEW.next = 'send_again'
BEGIN
    SELECT RAISE(ABORT, 'verdicts: to send again takes a second person')
    WHERE NOT EXISTS (SELECT 1 FROM proposals
                      WHERE notification = NEW.notification AND attempt = NEW.attempt AND by_id = NEW.by_id AND NEW.by_kind = 'staff'
                        AND ended_at = NEW.at
                        AND (state = 'approved' AND NEW.approved_kind IS 'staff' AND NEW.approved_id IS ended_by AND ended_by <> NEW.by_id
                             OR state = 'single' AND NEW.approved_id IS NULL));
END;
-- +goose StatementEnd

-- Who works on an item. A claim is a courtesy among people with an end; it keeps nothing and nobody from settling the item.
CREATE TABLE claims (
    notification BLOB    NOT NULL PRIMARY KEY REFERENCES notifications (id),
    staff        BLOB    NOT NULL REFERENCES staff (id),
    since        INTEGER NOT NULL,
    until        INTEGER NOT NULL,
    note         TEXT    NOT NULL DEFAULT '' CHECK (length(note) <= 200) -- why it was taken over from another person
) STRICT, WITHOUT ROWID;
CREATE INDEX claims_staff ON claims (staff);

-- Why a number was shown to a person. The event recipient_revealed goes with it.
CREATE TABLE reveals (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    notification BLOB    NOT NULL REFERENCES notifications (id),
    staff        BLOB    NOT NULL REFERENCES staff (id),
    at           INTEGER NOT NULL,
    reason       TEXT    NOT NULL CHECK (reason IN ('customer_on_the_line', 'provider_asks', 'legal_request', 'other')),
    note         TEXT    NOT NULL CHECK (length(note) <= 200)
) STRICT, WITHOUT ROWID;

-- One decision for many: the set is fixed when it is shown, the decision is added when it is made, and the result when it has been carried out.
CREATE TABLE bulks (
    id            BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    staff         BLOB    NOT NULL REFERENCES staff (id),
    what          TEXT    NOT NULL CHECK (length(what) <= 500), -- the selection in words
    query         TEXT    NOT NULL CHECK (length(query) <= 500),
    frozen_at     INTEGER NOT NULL,
    count         INTEGER NOT NULL, -- of the items to decide
    ruling        TEXT CHECK (ruling IN ('sent', 'not_sent', 'undetermined')),
    next          TEXT CHECK (next IN ('close', 'send_again')),
    reason_code   TEXT,
    evidence_kind TEXT,
    evidence_ref  TEXT,
    note          TEXT,
    started_at    INTEGER,
    finished_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX bulks_running ON bulks (started_at) WHERE started_at IS NOT NULL AND finished_at IS NULL;

CREATE TABLE bulk_items (
    bulk         BLOB    NOT NULL REFERENCES bulks (id),
    n            INTEGER NOT NULL,
    notification BLOB    NOT NULL,
    attempt      BLOB    NOT NULL, -- its id
    version      INTEGER NOT NULL,
    left_out     TEXT, -- why it was left out when the set was frozen
    result       TEXT CHECK (result IN ('settled', 'proposed', 'refused')),
    why          TEXT,
    at           INTEGER,
    PRIMARY KEY (bulk, n)
) STRICT, WITHOUT ROWID;

-- The worklist: what is open is found by notifications_doubts; these find the two lists of what is over.
CREATE INDEX notifications_never_known ON notifications (expires_at, id) WHERE state = 'expired' AND reason = 'outcome_unknown';
CREATE INDEX verdicts_settled ON verdicts (at, id) WHERE grade <> 'wire';

INSERT INTO actions (name) VALUES
    ('proposal_made'), ('proposal_approved'), ('proposal_declined'), ('proposal_voided'), ('proposal_lapsed'), ('claimed'),
    ('claim_released'), ('claim_taken_over'), ('recipient_revealed'), ('incident_closed'), ('bulk_started'), ('bulk_finished');
