package views

import "time"

// Profile is a person's own page: /profile.
type Profile struct {
	Name, Email, Role string
	Zones             []Choice
	Zone              string
	KeysOn            bool
	SecondFactor      bool
	Required          bool // an admin demands a second factor
	CodesLeft         int
	Sessions          []Session
	PasswordErrors    FieldErrors
}

// TOTP is the enrolment of an authenticator app: /profile/totp. The secret is shown on this page only.
type TOTP struct {
	Secret string // in groups of four, to type in
	URI    string // otpauth://…
	QR     *QR
	Forced bool // nothing else can be done before
	Errors FieldErrors
}

// QR is a code to scan: the dark modules as path data on a grid of Size × Size, four of which are the quiet border on each side.
type QR struct {
	Size int
	Path string
}

// RecoveryCodes are shown once, after the enrolment.
type RecoveryCodes struct{ Codes []string }

// Login is the form of sign-in: /login.
type Login struct {
	Email   string
	Next    string // where to go afterwards: a path of ours
	Problem LoginProblem
	Wait    time.Duration // before the next try, when throttled
	Kept    bool          // what was typed into the form before is kept
}

// LoginProblem is why the form is shown again.
type LoginProblem string

// The problems. The first does not say which of the fields was wrong.
const (
	LoginWrong     LoginProblem = "wrong"
	LoginThrottled LoginProblem = "throttled"
	LoginEnded     LoginProblem = "ended"     // the session ended
	LoginSignedOut LoginProblem = "signedout" // on purpose
)

// Invitation is the page behind an invitation's link: /invitation.
type Invitation struct {
	Token, Name, Email, Role string
	ExpiresAt                time.Time
	Gone                     bool // used, replaced or expired
	Errors                   FieldErrors
}

func (l Login) alert() *Alert {
	switch l.Problem {
	case LoginWrong:
		return &Alert{Tone: ToneBad, Title: "That did not fit together.", Text: "Check the e-mail address, the password and the code of your authenticator app, and sign in again."}
	case LoginThrottled:
		return &Alert{Tone: ToneWarn, Title: "Too many tries.", Text: "You can sign in again in " + Duration(l.Wait) + ". The account is not locked for good."}
	case LoginEnded:
		text := "You were away for a while, or your account was changed."
		if l.Kept {
			text += " What you had typed is kept and will be there when you are back."
		}
		return &Alert{Tone: ToneInfo, Title: "Your session has ended.", Text: text}
	case LoginSignedOut:
		return &Alert{Tone: ToneGood, Title: "You are signed out."}
	}
	return nil
}
