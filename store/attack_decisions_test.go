package store_test

// proposed begins with a proposal that could be made, so that what follows is the attack.
const proposed = `INSERT INTO proposals (id, notification, attempt, version, digest, reason_code, evidence_kind, evidence_ref, note, by_staff, by_id,
	at, lapses_at, state) SELECT zeroblob(16), id, 1, version, zeroblob(32), 'other', 'ticket', 'x', 'x', x'01', 'stf_1', {now}, {now}, 'open'
	FROM notifications WHERE id = {doubt}; `

// setOnce begins with a setting that could be made.
const setOnce = `INSERT INTO settings (name, version, value, set_at, by_kind, by_id, note) VALUES ('x', 1, 'on', {now}, 'staff', 's', ''); `

// attacksOnDecisions: nobody sends again alone, a proposal ends once, and settings keep their history.
func attacksOnDecisions() []attack {
	born := func(id, state string) string {
		return `INSERT INTO proposals (id, notification, attempt, version, digest, reason_code, evidence_kind, evidence_ref, note, by_staff, by_id,
			at, lapses_at, state, ended_at, ended_staff, ended_by) VALUES (randomblob(16), ` + id + `, 1, 1, zeroblob(32), 'other', 'ticket', 'x', 'x',
			x'01', 'stf_1', {now}, {now}, ` + state + `)`
	}
	return []attack{
		{"sent again on one person's word", "verdicts_second_person", `INSERT INTO verdicts (id, notification, attempt, ruling, grade, next,
			reason_code, evidence_kind, evidence_ref, note, by_kind, by_id, at)
			VALUES (randomblob(16), {doubt}, 1, 'not_sent', 'human', 'send_again', '', '', '', '', 'staff', 'stf_1', {now})`},
		{"sent again on an approval that is none", "verdicts_second_person", `INSERT INTO verdicts (id, notification, attempt, ruling, grade, next,
			reason_code, evidence_kind, evidence_ref, note, by_kind, by_id, approved_kind, approved_id, at)
			VALUES (randomblob(16), {doubt}, 1, 'not_sent', 'human', 'send_again', '', '', '', '', 'staff', 'stf_1', 'staff', 'stf_2', {now})`},
		{"sent again while the proposal waits", "verdicts_second_person", proposed + `INSERT INTO verdicts (id, notification, attempt, ruling, grade,
			next, reason_code, evidence_kind, evidence_ref, note, by_kind, by_id, approved_kind, approved_id, at)
			VALUES (randomblob(16), {doubt}, 1, 'not_sent', 'human', 'send_again', '', '', '', '', 'staff', 'stf_1', 'staff', 'stf_2', {now})`},
		{"a proposal that is born approved", "proposals_insert", born("{doubt}", `'approved', {now}, x'02', 'stf_2'`)},
		{"a proposal for what was sent", "proposals_insert", born("{sent}", `'single', {now}, NULL, NULL`)},
		{"the proposer approves", "proposals_update", proposed +
			`UPDATE !proposals SET state = 'approved', ended_at = {now}, ended_staff = by_staff, ended_by = by_id`},
		{"a stranger approves", "proposals_update", proposed +
			`UPDATE !proposals SET state = 'approved', ended_at = {now}, ended_staff = x'02', ended_by = 'stf_2'`},
		{"another's name under it", "proposals_update", proposed + `UPDATE !proposals SET by_staff = x'02', by_id = 'stf_2'`},
		{"made single afterwards", "proposals_update", proposed + `UPDATE !proposals SET state = 'single', ended_at = {now}`},
		{"deleted proposal", "proposals_delete", proposed + born("{doubt}", `'single', {now}, NULL, NULL`) +
			`; DELETE FROM proposals WHERE state = 'open'`},
		{"a setting that skips its history", "settings_insert", `INSERT INTO settings (name, version, value, set_at, by_kind, by_id, note)
			VALUES ('four_eyes', 7, 'off', {now}, 'staff', 's', '')`},
		{"a setting rewritten", "settings_update", setOnce + `UPDATE !settings SET value = 'off'`},
		{"a setting forgotten", "settings_delete", setOnce + `INSERT INTO settings (name, version, value, set_at, by_kind, by_id, note)
			VALUES ('x', 2, 'off', {now}, 'staff', 's', ''); DELETE FROM settings WHERE version = 1`},
	}
}
