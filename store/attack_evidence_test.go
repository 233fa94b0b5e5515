package store_test

// attacksOnEvents: I7, the log is gapless and unchanged, and states move through it alone.
func attacksOnEvents() []attack {
	event := func(seq, action, from, to, version, of string) string {
		return `INSERT INTO events (seq, at, by_kind, by_id, action, notification, from_state, to_state, version, final, reason) SELECT ` + seq +
			`, {now}, 'worker', '', '` + action + `', id, ` + from + `, ` + to + `, ` + version + `, 0, NULL FROM notifications WHERE id = {` + of + `}`
	}
	set := func(what, where string) string {
		return `UPDATE !notifications SET ` + what + ` WHERE id = {` + where + `}`
	}
	const moves = "notifications_update"
	return []attack{
		{"a state without its event", moves, set("state = 'dispatching'", "waiting")},
		{"a stop without its event", moves, set("state = 'sent', reason = 'provider_accepted', stopped_at = {now}", "waiting")},
		{"a stop taken back", moves, set("state = 'accepted', reason = NULL, stopped_at = NULL, final = 0", "cancelled")},
		{"a version without its event", moves, set("version = version + 1", "waiting")},
		{"an older version", moves, set("version = version - 1", "sent")},
		{"another reason", moves, set("reason = 'superseded'", "cancelled")},
		{"another stopper", moves, set("stopped_kind = 'staff', stopped_id = 'x'", "cancelled")},
		{"stopped at another time", moves, set("stopped_at = stopped_at - 1", "sent")},
		{"a withdrawal without its event", moves, set("withdrawn_at = {now}, withdrawn_reason = 'superseded'", "waiting")},
		{"a withdrawal taken back", moves, set("withdrawn_at = NULL, withdrawn_reason = NULL", "withdrawn_in_doubt")},
		{"final without its event", moves, set("final = 1", "sent")},
		{"another last event", moves, set("last_seq = (SELECT max(seq) FROM events)", "waiting")},
		{"the first event again", "events_insert", event("1", "lookup_recorded", "NULL", "NULL", "NULL", "sent")},
		{"a gap in the log", "events_insert", event("{seq} + 1", "dispatch_started", "state", "'dispatching'", "version + 1", "waiting")},
		{"an event before the first", "events_insert", event("0", "lookup_recorded", "NULL", "NULL", "NULL", "sent")},
		{"an event that takes any number", "events_insert", event("NULL", "dispatch_started", "state", "'dispatching'", "version + 1", "waiting")},
		{"two events with one number", "events_insert", event("{seq}", "lookup_recorded", "NULL", "NULL", "NULL", "sent") + ` UNION ALL SELECT {seq},
			{now}, 'worker', '', 'lookup_recorded', NULL, NULL, NULL, NULL, 0, NULL`},
		{"an event from another state", "events_move", event("{seq}", "verdict_recorded", "'dispatch_unknown'", "'accepted'", "version + 1", "waiting")},
		{"an event that skips a version", "events_move", event("{seq}", "dispatch_started", "state", "'dispatching'", "version + 2", "waiting")},
		{"an event with an old version", "events_move", event("{seq}", "dispatch_started", "state", "'dispatching'", "version", "waiting")},
		{"a second admission", "events_move", event("{seq}", "accepted", "NULL", "'accepted'", "1", "waiting")},
		{"an admission that moves nothing", "", event("{seq}", "accepted", "NULL", "NULL", "NULL", "waiting")},
		{"an event about nothing", "events_move", `INSERT INTO events (seq, at, by_kind, by_id, action, notification, version, final)
			VALUES ({seq}, {now}, 'worker', '', 'verdict_recorded', randomblob(16), 1, 0)`},
		{"a stop without a reason", "events_move", event("{seq}", "expired", "state", "'expired'", "version + 1", "waiting")},
		{"a step that the lifecycle does not have", "", event("{seq}", "verdict_recorded", "state", "'accepted'", "version + 1", "cancelled")},
		{"a step from undelivered", "", event("{seq}", "receipt_recorded", "state", "'delivered'", "version + 1", "undelivered")},
		{"a step without a version", "", event("{seq}", "dispatch_started", "state", "'dispatching'", "NULL", "waiting")},
		{"a step from nowhere", "", event("{seq}", "dispatch_started", "NULL", "'dispatching'", "version + 1", "waiting")},
		{"an action that is not on the list", "", event("{seq}", "nothing", "state", "'dispatching'", "version + 1", "waiting")},
		{"an event changed", "events_update", `UPDATE !events SET by_kind = 'staff', by_id = 'x' WHERE notification = {sent}`},
		{"an event renumbered", "events_update", `UPDATE !events SET seq = seq + 1000 WHERE notification = {sent}`},
		{"two events swapped", "events_update", `UPDATE !events SET seq = 1 WHERE seq = 2`},
		{"an event upserted", "events_insert events_update", `INSERT INTO events (seq, at, by_kind, by_id, action, final) VALUES (1, 0, 'staff', 'x',
			'replayed', 0) ON CONFLICT (seq) DO UPDATE SET at = 0`},
		{"the last event deleted", "events_delete", `DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)`},
		{"the log deleted", "events_delete", `DELETE FROM events`},
	}
}

// attacksOnEvidence: I7 and I8, what was found out stays, and the text does not come back.
func attacksOnEvidence() []attack {
	verdict := func(ruling, of string) string {
		return `INSERT INTO verdicts (id, notification, attempt, ruling, grade, next, reason_code, evidence_kind, evidence_ref, note, by_kind, by_id, at)
			VALUES (randomblob(16), {` + of + `}, 1, '` + ruling + `', 'human', 'close', '', '', '', '', 'staff', 's', {now})`
	}
	lookup := `INSERT INTO lookups (id, notification, attempt, provider, asked_at, by_kind, by_id, result, candidates, pages, complete, later_seen) `
	receipt := `INSERT INTO receipts (id, notification, attempt, provider, received_at, message_id, status, raw, code, repeated, sha256) `
	text := func(of string) string {
		return `INSERT INTO sealed_messages (notification, key_no, sealed) VALUES ({` + of + `}, 1, x'00')`
	}
	return []attack{
		{"a verdict not sent on an open call", "verdicts_insert", verdict("not_sent", "calling")},
		{"a verdict undetermined on an open call", "verdicts_insert", verdict("undetermined", "calling")},
		{"a verdict not sent on an accepted call", "verdicts_insert", verdict("not_sent", "sent")},
		{"a verdict on a call that was never made", "verdicts_insert", verdict("not_sent", "waiting")},
		{"a verdict replaced", "verdicts_insert", `INSERT INTO verdicts SELECT id, notification, attempt, 'undetermined', grade, next, reason_code,
			evidence_kind, evidence_ref, note, by_kind, by_id, approved_kind, approved_id, at, message_id FROM verdicts WHERE notification = {absent}`},
		{"a verdict changed", "verdicts_update", `UPDATE !verdicts SET ruling = 'sent'`},
		{"a verdict deleted", "verdicts_delete", `DELETE FROM verdicts WHERE notification = {absent}`},
		{"a lookup replaced", "lookups_insert", lookup + `SELECT id, notification, attempt, provider, 0, by_kind, by_id, 'failed', 0, 0, 0, 0 FROM lookups`},
		{"a lookup of nothing", "lookups_insert", lookup + `VALUES (randomblob(16), {waiting}, 1, 'main', 0, 'worker', '', 'empty', 0, 0, 0, 0)`},
		{"a lookup changed", "lookups_update", `UPDATE !lookups SET result = 'absent', id = randomblob(16)`},
		{"a lookup deleted", "lookups_delete", `DELETE FROM lookups`},
		{"a receipt replaced", "receipts_insert", receipt + `SELECT id, notification, attempt, provider, 0, 'SM-x', status, raw, code, 0, sha256
			FROM receipts WHERE notification = {delivered}`},
		{"a receipt of nothing", "receipts_insert", receipt + `VALUES (randomblob(16), {waiting}, 1, 'main', 0, 'SM', 'taken', '', '', 0, zeroblob(32))`},
		{"a receipt with half an address", "receipts_insert", receipt + `VALUES (randomblob(16), {sent}, NULL, 'main', 0, 'SM', 'taken', '', '', 0,
			zeroblob(32))`},
		{"a receipt changed", "receipts_update", `UPDATE !receipts SET status = 'undelivered' WHERE notification = {delivered}`},
		{"a receipt deleted", "receipts_delete", `DELETE FROM receipts WHERE notification = {delivered}`},
		{"an incident replaced", "incidents_insert", `INSERT INTO incidents (id, notification, kind, attempt, opened_at)
			SELECT randomblob(16), notification, kind, attempt, 0 FROM incidents`},
		{"an incident hidden", "incidents_update", `UPDATE !incidents SET notification = {waiting}`},
		{"an incident merged into another", "incidents_update", `UPDATE !incidents SET kind = 'two_provider_ids', attempt = 9`},
		{"an incident deleted", "incidents_delete", `DELETE FROM incidents`},
		{"the text back after it was sent", "sealed_messages_insert", text("sent")},
		{"the text back after the withdrawal", "sealed_messages_insert", text("cancelled")},
		{"the text back after the expiry", "sealed_messages_insert", text("expired")},
		{"a text for nothing", "sealed_messages_insert", `INSERT INTO sealed_messages (notification, key_no, sealed) VALUES (randomblob(16), 1, x'00')`},
		{"another text", "sealed_messages_insert", text("waiting")},
		{"the text moved to what has stopped", "sealed_messages_update", `UPDATE !sealed_messages SET notification = {sent} WHERE notification = {waiting}`},
	}
}
