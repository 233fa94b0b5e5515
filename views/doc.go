// Package views is what staff see: one page is one .templ file and one view model beside it. A view model mirrors the page; it is made of
// texts, times, truths and the small lists of package dispatch, and a template decides nothing but how to show it. Words for states, rules and
// reasons stand in words.go, formats in format.go, the addresses of forms and links in paths.go.
//
// Pages work without scripts. They hold no inline script, no inline handler and no style attribute, and a test keeps it so.
package views

//go:generate go tool templ generate
