// Package dispatch is the domain of sentonce: what a notification is, which states it can be in, what may be concluded from what was seen
// on the wire, and the engine that sends and reconciles.
//
// The promise, in four sentences. Accepted once: concurrent and repeated requests for one event converge on one record. Never sent on
// doubt: one permit allows one call to a provider, and a new permit exists only after proof or a named person's decision that the last call
// did not send. Never late: nothing is sent after the event's expiry. Never silent: each doubt has an age, an owner and an end.
//
//	            ┌────────────── next permit (verdict not_sent) ──────────────┐
//	            ▼                                                            │
//	accepted ──spend permit──► dispatching ──provider took it──► sent ──receipt──► delivered | undelivered
//	   │                         │   │  └─ proven not sent ──► accepted (next permit) | expired | cancelled
//	   │                         │   └──── refused ──────────► failed
//	   │                         └──────── no definite answer ► dispatch_unknown ──verdict──► sent | accepted | cancelled
//	   └─ expiry ► expired                                            └─ expiry ► expired (outcome_unknown)
//
// The rules are pure functions from a Record and a fact to a Change; the store applies a Change in one transaction. The package imports
// nothing else of this module.
package dispatch
