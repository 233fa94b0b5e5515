// Package sim is a simulator of the part of Twilio's Messages API that a sender uses: send, list, fetch, delivery receipts. It is stateful:
// its ledger is the independent witness of what a provider really took, however little of the answer reached the sender.
//
// It fails on demand, also after accepting, which no proxy in front of a well-behaved server can do. What happens to a send is chosen by
// the first of these that says something:
//
//  1. a script for the recipient (Server.Script, POST /admin/script),
//  2. the mode of the whole provider (Server.SetMode, the admin page),
//  3. the last two digits of the recipient (Patterns),
//  4. otherwise the message is accepted, answered, and reported sent and delivered.
//
// Start opens two listeners on loopback: the provider's own (BaseURL), which Down closes for real, so that connections are refused, and the
// control page's (ControlURL), which stays up so that a person can bring the provider back.
//
// The control interface takes JSON from scripts and forms from the page; both ports serve it, and neither asks for a password:
//
//	GET  /admin/ledger?to=&limit=   counters and accepted messages, newest first
//	GET  /admin/patterns            the named behaviours
//	POST /admin/script              {"to":"+49…","behaviour":"accept_then_hang","times":1,"delay":"2s"}, or "clear":true; raw answers by
//	                                "accept", "ending", "status", "code", "body", "content_type", "header"
//	POST /admin/mode                {"mode":"accept_then_drop"}
//	POST /admin/list                {"lag":"10m","hide":false}
//	POST /admin/release             {"to":"+49…"}, or {} for all
//	POST /admin/receipts            {"sid":"SM…","report":"delivered","error_code":"","forgery":""}
//
// The simulator plays the provider, so it holds numbers and texts in memory, unbounded, until Close. It never writes them anywhere.
package sim
