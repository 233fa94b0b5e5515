package dispatch

import "errors"

// The errors that callers tell apart. They are wrapped with context on the way and classified once, at the edge.
var (
	// ErrNotFound: no such thing, or not visible to whoever asks.
	ErrNotFound = errors.New("not found")
	// ErrStale: the record is not (any more) in the state or version that the caller expects.
	ErrStale = errors.New("the record has changed")
	// ErrUnavailable: the store cannot take it now (locked, full, failing, closing). Nothing was kept; try again later.
	ErrUnavailable = errors.New("storage is unavailable")
	// ErrStopped: the call was given up before its first byte because the notification was withdrawn, stopped, or had too little life left.
	ErrStopped = errors.New("stopped before the first byte")
	// ErrUnbuildable: the message cannot be expressed for this provider; nothing was sent.
	ErrUnbuildable = errors.New("the message cannot be built for this provider")
	// ErrUnreadable: a stored row or sealed text cannot be read back.
	ErrUnreadable = errors.New("the stored record cannot be read")
	// ErrForged: a receipt whose authentication fails. It changes nothing.
	ErrForged = errors.New("the receipt's authentication failed")
	// ErrBadReceipt: a receipt that is authentic but cannot be understood.
	ErrBadReceipt = errors.New("the receipt cannot be understood")
)

func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }
