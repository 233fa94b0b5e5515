// Package browsertest drives the staff web app of the real binary in a real browser: what only a browser can show, such as the content
// policy, the scripts and the focus. `make browser-deps` brings what it needs; without that its tests fail and say so.
package browsertest
