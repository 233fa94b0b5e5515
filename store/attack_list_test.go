package store_test

const notificationCopy = `id, client, event_id, idempotency_key, purpose, recipient, country, hint, text_mac, encoding, segments, accepted_at,
	expires_at, state, version, final, due_at`

// attacksOnIdentity: I1, and what a notification is never changes.
func attacksOnIdentity() []attack {
	const rest = `, purpose, recipient, country, hint, text_mac, encoding, segments, accepted_at, expires_at, 'accepted', 0, 0, due_at FROM notifications
		WHERE id = {waiting}`
	insert := func(more string) string { return `INSERT INTO notifications (` + notificationCopy + more + `) ` }
	return []attack{
		{"the same key again", "notifications_insert", insert("") + `SELECT randomblob(16), client, 'evt-x', idempotency_key` + rest},
		{"the same event again", "notifications_insert", insert("") + `SELECT randomblob(16), client, event_id, 'key-x'` + rest},
		{"the same id again", "notifications_insert", insert("") + `SELECT id, client, 'evt-x', 'key-x'` + rest},
		{"the same rowid again", "notifications_insert", `INSERT INTO notifications (rowid, ` + notificationCopy + `)
			SELECT rowid, randomblob(16), client, 'evt-x', 'key-x'` + rest},
		{"two twins in one statement", "notifications_insert", insert("") + `SELECT randomblob(16), client, 'evt-x', 'key-x'` + rest +
			` UNION ALL SELECT randomblob(16), client, 'evt-y', idempotency_key` + rest},
		{"an upsert on the key", "notifications_insert notifications_update", insert("") + `SELECT randomblob(16), client, 'evt-x', idempotency_key` +
			rest + ` ON CONFLICT (client, idempotency_key) DO UPDATE SET text_mac = zeroblob(32)`},
		{"born with a version", "notifications_insert", insert("") + `SELECT randomblob(16), client, 'evt-x', 'key-x', purpose, recipient, country,
			hint, text_mac, encoding, segments, accepted_at, expires_at, 'accepted', 7, 0, due_at FROM notifications WHERE id = {waiting}`},
		{"born in doubt", "notifications_insert", insert("") + `SELECT randomblob(16), client, 'evt-x', 'key-x', purpose, recipient, country,
			hint, text_mac, encoding, segments, accepted_at, expires_at, 'dispatch_unknown', 0, 0, due_at FROM notifications WHERE id = {waiting}`},
		{"moved onto another's rowid", "notifications_update",
			`UPDATE !notifications SET rowid = (SELECT rowid FROM notifications WHERE id = {sent}) WHERE id = {waiting}`},
		{"another's key taken over", "notifications_update",
			`UPDATE !notifications SET idempotency_key = (SELECT idempotency_key FROM notifications WHERE id = {sent}) WHERE id = {waiting}`},
		{"another id", "notifications_update", `UPDATE !notifications SET id = randomblob(16) WHERE id = {waiting}`},
		{"another life", "notifications_update", `UPDATE !notifications SET expires_at = expires_at + 86400000`},
		{"the MAC of another text", "notifications_update", `UPDATE !notifications SET text_mac = zeroblob(32) WHERE id = {delivered}`},
		{"replays forgotten", "notifications_update", `UPDATE !notifications SET replays = -1 WHERE id = {waiting}`},
		{"deleted", "notifications_delete", `DELETE FROM notifications WHERE id = {sent}`},
		{"all deleted", "notifications_delete", `DELETE FROM notifications`},
	}
}

// attacksOnPermits: I2.
func attacksOnPermits() []attack {
	grant := func(rows string) string { return `INSERT INTO permits (notification, n, granted_at) VALUES ` + rows }
	return []attack{
		{"a second permit beside the first", "permits_insert", grant(`({waiting}, 2, {now})`)},
		{"several permits at once", "permits_insert", grant(`({waiting}, 2, {now}), ({waiting}, 3, {now})`)},
		{"a third permit beside the second", "permits_insert", grant(`({second_permit}, 3, {now})`)},
		{"a permit while the call is open", "permits_insert", grant(`({calling}, 2, {now})`)},
		{"a permit in doubt", "permits_insert", grant(`({doubt}, 2, {now})`)},
		{"a permit after it was sent", "permits_insert", grant(`({sent}, 2, {now})`)},
		{"a permit after the expiry in doubt", "permits_insert", grant(`({expired_in_doubt}, 2, {now})`)},
		{"a permit after the cancellation", "permits_insert", grant(`({cancelled}, 2, {now})`)},
		{"a spent permit made new", "permits_insert", grant(`({calling}, 1, {now})`)},
		{"a void permit made new", "permits_insert", grant(`({cancelled}, 1, {now})`)},
		{"a permit that is born spent", "permits_insert", `INSERT INTO permits (notification, n, granted_at, spent_at)
			VALUES ({waiting}, 2, {now}, {now})`},
		{"a permit for nothing", "permits_insert", grant(`(randomblob(16), 1, {now})`)},
		{"a permit with number 0", "", grant(`({waiting}, 0, {now})`)},
		{"a permit without a number", "", grant(`({waiting}, NULL, {now})`)},
		{"a permit numbered in words", "", grant(`({waiting}, 'two', {now})`)},
		{"unspent", "permits_update", `UPDATE !permits SET spent_at = NULL WHERE notification = {calling}`},
		{"unspent and void", "permits_update", `UPDATE !permits SET spent_at = NULL, void_at = {now} WHERE notification = {doubt}`},
		{"spent and void", "", `UPDATE !permits SET void_at = {now} WHERE notification = {calling}`},
		{"void no more", "permits_update", `UPDATE !permits SET void_at = NULL WHERE notification = {cancelled}`},
		{"spent without a call", "permits_update", `UPDATE !permits SET spent_at = {now} WHERE notification = {waiting}`},
		{"void without a stop", "permits_update", `UPDATE !permits SET void_at = {now} WHERE notification = {waiting}`},
		{"renumbered", "permits_update", `UPDATE !permits SET n = n + 1 WHERE notification = {calling}`},
		{"given to another", "permits_update", `UPDATE !permits SET notification = {calling} WHERE notification = {waiting}`},
		{"deleted permit", "permits_delete", `DELETE FROM permits WHERE notification = {calling}`},
		{"all permits deleted", "permits_delete", `DELETE FROM permits`},
	}
}

// started is the event of a claim of a notification that waits; without its attempt it must not be committed alone.
const started = `INSERT INTO events (seq, at, by_kind, by_id, action, notification, from_state, to_state, version, final)
	SELECT {seq}, {now}, 'worker', '', 'dispatch_started', id, 'accepted', 'dispatching', version + 1, 0 FROM notifications WHERE id = {waiting}; `

// attacksOnCalls: I2 and I3, a call without its permit, or beside another one.
func attacksOnCalls() []attack {
	call := func(notification, number, outcome, at string) string {
		return `INSERT INTO attempts (id, notification, number, provider, outcome, started_at, deadline_at, validity_ms)
			VALUES (randomblob(16), ` + notification + `, ` + number + `, 'main', '` + outcome + `', ` + at + `, {now}, 1000)`
	}
	return []attack{
		{"a call of what waits", "attempts_insert", call("{waiting}", "1", "pending", "0")},
		{"a call without a permit", "attempts_insert attempts_spend", call("{waiting}", "2", "pending", "0")},
		{"a call beside an open one", "attempts_insert attempts_spend", call("{calling}", "2", "pending", "0")},
		{"a call beside a doubt", "attempts_insert attempts_spend", call("{doubt}", "2", "pending", "0")},
		{"an open call made again", "attempts_insert permits_update", call("{calling}", "1", "pending", "0")},
		{"a call after it was sent", "attempts_insert attempts_spend", call("{sent}", "2", "pending", "0")},
		{"a call after the withdrawal", "attempts_insert attempts_spend", call("{cancelled}", "1", "pending", "0")},
		{"a call after the expiry", "attempts_insert attempts_spend", call("{expired}", "1", "pending", "0")},
		{"a call that begins at the expiry", "attempts_insert", started + call("{waiting}", "1", "pending",
			"(SELECT expires_at FROM notifications WHERE id = {waiting})")},
		{"a call that is born accepted", "attempts_insert", started + call("{waiting}", "1", "accepted", "0")},
		{"a call out of turn", "attempts_insert attempts_spend", started + call("{waiting}", "2", "pending", "0")},
		{"a call under another's id", "attempts_insert", started + `INSERT INTO attempts (id, notification, number, provider, outcome, started_at,
			deadline_at, validity_ms) SELECT id, {waiting}, 1, 'main', 'pending', 0, 0, 0 FROM attempts WHERE notification = {sent}`},
	}
}

// attacksOnOutcomes: I7, the result once and the outcome forwards only.
func attacksOnOutcomes() []attack {
	set := func(what, where string) string {
		return `UPDATE !attempts SET ` + what + ` WHERE notification = {` + where + `}`
	}
	const by = "attempts_update"
	return []attack{
		{"a second result", by, set("finished_at = finished_at + 1, http_status = 500", "sent")},
		{"another rule", by, set("rule = 'R2', phase = 'connecting'", "doubt")},
		{"another answer", by, set("answer_sha = zeroblob(32), answer_id = 'x'", "sent")},
		{"the result taken back", by, set("finished_at = NULL, rule = NULL, outcome = 'pending'", "doubt")},
		{"accepted becomes not sent", by, set("outcome = 'not_sent'", "sent")},
		{"accepted becomes unknown", by, set("outcome = 'unknown'", "sent")},
		{"refused becomes not sent", by, set("outcome = 'not_sent'", "failed")},
		{"unknown becomes refused", by, set("outcome = 'refused'", "doubt")},
		{"unknown becomes not sent without a verdict", by, set("outcome = 'not_sent'", "doubt")},
		{"unknown becomes accepted without a verdict", by, set("outcome = 'accepted'", "doubt")},
		{"undetermined becomes not sent without a verdict", by, set("outcome = 'not_sent'", "expired_in_doubt")},
		{"pending becomes not sent without a result", by, set("outcome = 'not_sent'", "calling")},
		{"pending becomes unknown without a result", by, set("outcome = 'unknown'", "calling")},
		{"pending becomes undetermined", by, set("outcome = 'undetermined', finished_at = 1, rule = 'R8'", "calling")},
		{"an outcome that is not on the list", "", set("outcome = 'perhaps'", "calling")},
		{"another id bound", by, set("message_id = 'SM-x'", "sent")},
		{"the id forgotten", by, set("message_id = NULL", "delivered")},
		{"the doubt begins later", by, set("unknown_since = unknown_since + 1", "doubt")},
		{"the report forgotten", by, set("receipt = NULL", "delivered")},
		{"the report made worse", by, set("receipt = 'delivered'", "undelivered")},
		{"questions forgotten", by, set("lookups = 0", "absent")},
		{"another provider", by, set("provider = 'other'", "sent")},
		{"begun at another time", by, set("started_at = started_at - 1", "sent")},
		{"an attempt renumbered", by, set("number = number + 1", "sent")},
		{"an attempt given to another", by, set("notification = {sent}", "calling")},
		{"an attempt deleted", "attempts_delete", `DELETE FROM attempts WHERE notification = {doubt}`},
		{"all attempts deleted", "attempts_delete", `DELETE FROM attempts`},
	}
}
