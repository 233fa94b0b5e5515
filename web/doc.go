// Package web is the HTTP edge of sentonce: the machine API, the providers' call-backs, health and metrics.
//
// Reading order: routes.go lists every address with what it takes to be let in; middleware.go lists what every request passes, in order;
// a handler parses, calls, and answers, or returns an error; problems.go and errors.go turn errors into answers, in one place.
//
// Nothing that a request carries is repeated in a problem or a log line: not the body, not the query, not the Authorization header.
package web
