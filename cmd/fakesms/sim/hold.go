package sim

import (
	"context"
	"time"
)

// hold keeps one request hanging. Whoever takes it out of the book, under the book's lock, closes release.
type hold struct {
	to, sid string
	since   time.Time
	release chan struct{}
}

// hang waits until the request is released (true), the client has left or the server closes (false).
func (b *book) hang(ctx context.Context, h *hold) bool {
	h.release = make(chan struct{})
	b.change(func() { b.held[h] = struct{}{} })
	select {
	case <-h.release:
		return true
	case <-ctx.Done():
		b.change(func() { delete(b.held, h) })
		return false
	}
}

// release frees the requests that hang for a number, or all when it is empty, and counts them.
func (b *book) release(to string) (n int) {
	b.change(func() {
		for h := range b.held {
			if to == "" || h.to == to {
				delete(b.held, h)
				close(h.release)
				n++
			}
		}
	})
	return n
}

// holding lists the requests that hang for a number, or all when it is empty.
func (b *book) holding(to string) (list []Held) {
	b.read(func() {
		for h := range b.held {
			if to == "" || h.to == to {
				list = append(list, Held{h.to, h.sid, h.since})
			}
		}
	})
	return list
}
