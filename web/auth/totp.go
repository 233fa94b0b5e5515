package auth

import (
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/piglig/go-qr"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"sentonce/dispatch"
)

// The parameters of a second factor: the ones that every authenticator knows (RFC 6238).
const (
	totpPeriod = 30 * time.Second
	totpSkew   = 1 // time steps before and after ours that still count
	issuer     = "sentonce"
)

// TOTPStep finds the time step whose code was typed, among ours and its neighbours, and later than the newest one that was used: a code works
// once. 0: there is none.
func TOTPStep(secret dispatch.Secret, typed string, now time.Time, used int64) (int64, error) {
	typed = strings.ReplaceAll(strings.TrimSpace(typed), " ", "")
	own := now.Unix() / int64(totpPeriod/time.Second)
	for step := own - totpSkew; step <= own+totpSkew; step++ {
		want, err := hotp.GenerateCodeCustom(TOTPText(secret), uint64(step), hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, fmt.Errorf("second factor: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(typed)) == 1 && step > used {
			return step, nil
		}
	}
	return 0, nil
}

// TOTPText is a secret as people type it into an authenticator.
func TOTPText(secret dispatch.Secret) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(secret.Reveal()))
}

// TOTPAddress is a secret as an authenticator reads it from a picture.
func TOTPAddress(secret dispatch.Secret, account string) string {
	q := url.Values{"secret": {TOTPText(secret)}, "issuer": {issuer}}
	return "otpauth://totp/" + url.PathEscape(issuer+":"+account) + "?" + q.Encode()
}

// QR draws a text as the dark squares of a QR code: rows from the top, without the quiet zone.
func QR(text string) ([][]bool, error) {
	code, err := go_qr.EncodeText(text, go_qr.Medium)
	if err != nil {
		return nil, fmt.Errorf("QR code: %w", err)
	}
	rows := make([][]bool, code.Size())
	for y := range rows {
		rows[y] = make([]bool, code.Size())
		for x := range rows[y] {
			rows[y][x] = code.Module(x, y)
		}
	}
	return rows, nil
}
