# What a developer needs: make demo, make test, make check, make generate, make bench, make browser-deps.

.PHONY: demo test check browser-deps format generate bench

# The service and a simulated provider on this machine; nothing to install, nothing kept. Ctrl-C is how it ends, and `go run` answers that with 1.
demo:
	@trap ended=1 INT; go run ./cmd/sentonce demo || [ -n "$$ended" ]

# Everything that a merge has to pass; .ci/run calls this. Most tests need nothing but Go; those in a real browser need it and its driver.
# Those that drive the real binary, and a real browser, run one after the other behind the rest: they measure patience, not speed.
test: check browser-deps
	go test -race -shuffle=on -timeout 40m $$(go list ./... | grep -v -e /systemtest -e /browsertest)
	go test -p 1 -timeout 40m ./cmd/sentonce/systemtest ./cmd/sentonce/browsertest

# What can be seen without running the tests. staticcheck.conf gives the reason of each check that is off.
check:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt these:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...
	.ci/vulncheck

# Chromium and Node (packages of the system: installing them takes root) and, in .tools/, the driver and the checker of accessibility.
browser-deps:
	.ci/browser-deps

format:
	gofmt -w .

generate:
	go generate ./...

bench:
	go test -run '^$$' -bench . -benchmem ./...
