# What a developer needs: make demo, make test, make check, make generate, make bench.

.PHONY: demo test check format generate bench

# The service and a simulated provider on this machine; nothing to install, nothing kept. Ctrl-C is how it ends, and `go run` answers that with 1.
demo:
	@trap ended=1 INT; go run ./cmd/sentonce demo || [ -n "$$ended" ]

# Everything that a merge has to pass; .ci/run calls this. The tests need nothing but Go.
test: check
	go test -race -shuffle=on -timeout 12m ./...

# What can be seen without running the tests. staticcheck.conf gives the reason of each check that is off.
check:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt these:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...
	.ci/vulncheck

format:
	gofmt -w .

generate:
	go generate ./...

bench:
	go test -run '^$$' -bench . -benchmem ./...
