package dispatch

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// The canonical encodings make evidence rows comparable byte for byte, so that the event which announces a row can carry its SHA-256. An
// encoding is a title and the row's members in a fixed order: text and blobs as a 4-byte big-endian length and the bytes, numbers and
// booleans as 8 bytes big-endian, instants as milliseconds since 1970 UTC (the zero time as the smallest number).

type canonical struct{ buf []byte }

func encode(title string) *canonical { return (&canonical{}).text("sentonce/" + title + "/v1") }

func (c *canonical) bytes(b []byte) *canonical {
	c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(len(b)))
	c.buf = append(c.buf, b...)
	return c
}

func (c *canonical) text(s string) *canonical { return c.bytes([]byte(s)) }

func (c *canonical) number(n int64) *canonical {
	c.buf = binary.BigEndian.AppendUint64(c.buf, uint64(n))
	return c
}

func (c *canonical) flag(b bool) *canonical {
	if b {
		return c.number(1)
	}
	return c.number(0)
}

func (c *canonical) instant(t time.Time) *canonical {
	if t.IsZero() {
		return c.number(-1 << 63)
	}
	return c.number(t.UnixMilli())
}

func (c *canonical) sum() [32]byte { return sha256.Sum256(c.buf) }

// SumResult is the digest of an attempt with its result.
func SumResult(n NotificationID, a Attempt) [32]byte {
	return encode("attempt").bytes(n[:]).bytes(a.ID[:]).number(int64(a.Number)).text(a.Provider).instant(a.StartedAt).
		instant(a.DeadlineAt).number(a.Validity.Milliseconds()).instant(a.FinishedAt).text(string(a.Phase)).text(string(a.Rule)).
		number(int64(a.HTTPStatus)).text(a.Code).text(a.AnswerID).text(a.RequestID).bytes(a.AnswerSHA[:]).sum()
}

// SumLookup is the digest of a lookup.
func SumLookup(n NotificationID, l Lookup) [32]byte {
	return encode("lookup").bytes(n[:]).bytes(l.ID[:]).number(int64(l.Attempt)).text(l.Provider).instant(l.AskedAt).
		text(string(l.By.Kind)).text(l.By.ID).text(string(l.Result)).number(int64(l.Candidates)).number(int64(l.Pages)).flag(l.Complete).
		flag(l.LaterSeen).number(int64(l.HTTPStatus)).bytes(l.SHA256[:]).text(l.MessageID).sum()
}

// SumReceipt is the digest of a delivery report; the notification is zero for one that names nothing here.
func SumReceipt(n NotificationID, r Receipt) [32]byte {
	return encode("receipt").bytes(n[:]).bytes(r.ID[:]).number(int64(r.Attempt)).text(r.Provider).instant(r.ReceivedAt).text(r.MessageID).
		text(string(r.Status)).text(r.Raw).text(r.Code).flag(r.Repeat).bytes(r.SHA256[:]).sum()
}

// SumVerdict is the digest of a verdict.
func SumVerdict(n NotificationID, v Verdict) [32]byte {
	return encode("verdict").bytes(n[:]).bytes(v.ID[:]).number(int64(v.Attempt)).text(string(v.Ruling)).text(string(v.Grade)).
		text(string(v.Next)).text(v.ReasonCode).text(v.EvidenceKind).text(v.EvidenceRef).text(v.Note).text(string(v.By.Kind)).
		text(v.By.ID).text(string(v.ApprovedBy.Kind)).text(v.ApprovedBy.ID).instant(v.At).text(v.MessageID).sum()
}
