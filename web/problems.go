package web

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// problemKind is one type of problem (RFC 9457). Its name is part of the API: "/problems/<name>" is the type, and docs/problems.md has a
// section for each.
type problemKind struct {
	name   string
	status int
	title  string
	means  string // what has happened
	todo   string // what the client does
}

// uri is the problem's type. It is relative to the service's address, and answered there.
func (k problemKind) uri() string { return "/problems/" + k.name }

// The kinds of problems, by status.
func problemInvalid() problemKind {
	return problemKind{"invalid-request", http.StatusBadRequest, "The request cannot be understood",
		"The body is not exactly one JSON object of the documented members, a member or a query parameter has the wrong form, or an id is blank or has characters that cannot be seen. `errors` names each member by its JSON pointer; a member that the API does not know has an empty pointer, because its name is not repeated.",
		"Correct the request. Repeating it as it is will fail again. Nothing was stored."}
}

func problemKey() problemKind {
	return problemKind{"idempotency-key", http.StatusBadRequest, "The idempotency key is missing or malformed",
		"An admission needs exactly one key: in the header `Idempotency-Key` (a quoted string as in RFC 9651, or bare), in the member `idempotency_key`, or the same in both. It has 1 to 128 visible ASCII characters.",
		"Send one key. Nothing was stored."}
}

func problemReceiptUnreadable() problemKind {
	return problemKind{"receipt-unreadable", http.StatusBadRequest, "The receipt cannot be understood",
		"The call-back is authentic, but it is not a delivery report that this service can read.",
		"For providers: nothing to do. For operators: the log has the reason under the request id."}
}

func problemUnauthorized() problemKind {
	return problemKind{"unauthorized", http.StatusUnauthorized, "A valid API key is needed",
		"There is no `Authorization: Bearer` header, or its key is unknown, expired or revoked. The answer does not tell these apart.",
		"Send a valid key. A new one is known within seconds."}
}

func problemForbidden() problemKind {
	return problemKind{"forbidden", http.StatusForbidden, "The API key may not do this",
		"The key is valid and lacks the scope that the operation needs; the detail names it.",
		"Use a key with that scope."}
}

func problemReceiptForged() problemKind {
	return problemKind{"receipt-refused", http.StatusForbidden, "The receipt is not authentic",
		"The signature of the call-back does not fit the public address of this service, its body, or the provider's secret. It changed nothing.",
		"For operators: compare `public_url` and the provider's secret; the log has the reason under the request id."}
}

func problemNotFound() problemKind {
	return problemKind{"not-found", http.StatusNotFound, "There is no such thing",
		"The address or the id names nothing, or what it names belongs to another client. The answer does not tell these apart.",
		"Check the id and the key that it is asked with."}
}

func problemMethod() problemKind {
	return problemKind{"method-not-allowed", http.StatusMethodNotAllowed, "The address does not take this method",
		"The address exists; the header `Allow` lists its methods.",
		"Use one of those."}
}

func problemSlow() problemKind {
	return problemKind{"request-timeout", http.StatusRequestTimeout, "The body took too long to arrive",
		"The request's body was not complete within its time.",
		"Repeat it with the same idempotency key. Nothing was stored."}
}

func problemEventTaken() problemKind {
	return problemKind{"event-exists", http.StatusConflict, "The event was accepted under another key",
		"A notification for this event and purpose exists, and it was asked for with another idempotency key. `existing` is its id.",
		"Read the existing one. Nothing was changed and nothing else will be sent."}
}

func problemTooLarge() problemKind {
	return problemKind{"body-too-large", http.StatusRequestEntityTooLarge, "The body is too large",
		"A command has at most 16 KiB, a provider's call-back 64 KiB.",
		"Send less. Nothing was stored."}
}

func problemMediaType() problemKind {
	return problemKind{"unsupported-media-type", http.StatusUnsupportedMediaType, "The body is not JSON",
		"The body must be `application/json` in UTF-8, uncompressed.",
		"Set `Content-Type: application/json`. Nothing was stored."}
}

func problemRefused() problemKind {
	return problemKind{"refused", http.StatusUnprocessableEntity, "The notification is not accepted",
		"The request is well formed, and its content is not accepted: the event has expired, its life is too short or too long, the number is not valid, its country is not served, or the text is empty or too long. `errors` has the member and the rule.",
		"Correct the content. Nothing was stored."}
}

func problemKeyReused() problemKind {
	return problemKind{"key-reused", http.StatusUnprocessableEntity, "The idempotency key was used for other content",
		"A notification with this key exists, and its content differs. `existing` is its id, `differs` names the members.",
		"Use a new key for a new event. Nothing was changed."}
}

func problemRateLimited() problemKind {
	return problemKind{"rate-limited", http.StatusTooManyRequests, "Too many requests",
		"The API key or its client has used up its limit. Repeated admissions are never limited.",
		"Repeat the request after `Retry-After` seconds. Nothing was stored."}
}

func problemClientGone() problemKind {
	return problemKind{"client-closed", 499, "The client went away",
		"The client closed the connection before the answer. It is written to the log only.",
		"Repeat the request with the same idempotency key: whether it was stored is not known."}
}

func problemInternal() problemKind {
	return problemKind{"internal", http.StatusInternalServerError, "Something went wrong here",
		"An unexpected fault. The log has it under the request id.",
		"Repeat the request with the same idempotency key, and tell the operator the request id."}
}

func problemUnavailable() problemKind {
	return problemKind{"unavailable", http.StatusServiceUnavailable, "Not possible at the moment",
		"The storage cannot be written, evidence cannot be recorded, or the service is stopping or in quarantine. Nothing of the request was kept.",
		"Repeat the request with the same idempotency key after `Retry-After` seconds."}
}

func problemTimeout() problemKind {
	return problemKind{"timeout", http.StatusGatewayTimeout, "The answer took too long",
		"The work on the request was not done within its time. Whether it was stored is not known.",
		"Repeat the request with the same idempotency key: if it was stored, the answer shows it."}
}

// problemKinds lists every kind, by status.
func problemKinds() []problemKind {
	return []problemKind{problemInvalid(), problemKey(), problemReceiptUnreadable(), problemUnauthorized(), problemForbidden(),
		problemReceiptForged(), problemNotFound(), problemMethod(), problemSlow(), problemEventTaken(), problemTooLarge(), problemMediaType(),
		problemRefused(), problemKeyReused(), problemRateLimited(), problemClientGone(), problemInternal(), problemUnavailable(),
		problemTimeout()}
}

// explain answers a problem's type with its section of docs/problems.md.
func (s *Server) explain(c echo.Context) error {
	for _, k := range problemKinds() {
		if k.name == c.Param("name") {
			return c.Blob(http.StatusOK, plainText, []byte(k.section()))
		}
	}
	return fail(problemNotFound, "")
}

// section is the kind's section in docs/problems.md; a test holds the page to it.
func (k problemKind) section() string {
	var b strings.Builder
	b.WriteString("## " + k.name + "\n\n")
	b.WriteString("`" + k.uri() + "`, status " + itoa(k.status) + ": " + k.title + ".\n\n")
	b.WriteString(k.means + "\n\n")
	b.WriteString("What to do: " + k.todo + "\n")
	return b.String()
}
