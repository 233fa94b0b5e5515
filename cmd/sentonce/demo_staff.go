package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/web/auth"
)

// login is an account of the demo.
type login struct {
	email    string
	role     store.Role
	password dispatch.Secret // the same for all, made anew for each demo
}

// hire adds one account for each role.
func hire(ctx context.Context, db *store.DB) (logins []login, err error) {
	password := dispatch.NewSecret("demo-" + strings.ToLower(rand.Text()[:10]))
	hash, err := auth.HashPassword(password, rand.Reader)
	if err != nil {
		return nil, err
	}
	names := map[store.Role]string{store.RoleSupport: "Sam Support", store.RoleCompliance: "Cleo Compliance", store.RoleAuditor: "Ada Auditor",
		store.RoleAdmin: "Alex Admin"}
	for _, role := range store.Roles() {
		l := login{email: string(role) + "@example.org", role: role, password: password}
		if _, err := db.AddStaff(ctx, store.NewStaff{Email: l.email, Name: names[role], Role: role, PasswordHash: hash, By: operator()}); err != nil {
			return nil, err
		}
		logins = append(logins, l)
	}
	return logins, nil
}

// roleWords says what each role is there for.
func roleWords(r store.Role) string {
	switch r {
	case store.RoleSupport:
		return "finds what became of a code, settles what is unknown"
	case store.RoleCompliance:
		return "that, and approves, and reads the audit log"
	case store.RoleAuditor:
		return "reads, changes nothing"
	}
	return "people, keys, providers, settings; decides nothing"
}

// staffLines are the logins as the demo prints them.
func staffLines(logins []login) string {
	var b strings.Builder
	for _, l := range logins {
		fmt.Fprintf(&b, "    %-24s %s\n", l.email, roleWords(l.role))
	}
	if len(logins) > 0 {
		fmt.Fprintf(&b, "    password                 %s", logins[0].password.Reveal())
	}
	return b.String()
}
