package web_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"sentonce/web"
)

// validator holds every request and answer against openapi.yaml. Requests that are wrong on purpose are let through, their answers are not.
type validator struct {
	t    *testing.T
	next http.RoundTripper
}

type contract struct {
	doc    *openapi3.T
	router routers.Router
}

// theContract loads the description once.
var theContract = sync.OnceValues(func() (contract, error) {
	doc, err := openapi3.NewLoader().LoadFromData(web.OpenAPIDocument())
	if err != nil {
		return contract{}, err
	}
	router, err := gorillamux.NewRouter(doc)
	return contract{doc, router}, err
})

// RoundTrip implements http.RoundTripper.
func (v *validator) RoundTrip(req *http.Request) (*http.Response, error) {
	c, err := theContract()
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	invalid, _ := req.Context().Value(invalidKey{}).(bool)
	route, params, err := c.router.FindRoute(req)
	if err != nil && !invalid {
		v.t.Errorf("%s %s is not in openapi.yaml: %v", req.Method, req.URL.Path, err)
	}
	input := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
			SkipSettingDefaults: true, ExcludeRequestBody: strings.HasPrefix(req.URL.Path, "/receipts/")}}
	if route != nil && !invalid {
		if err := checkRequest(input); err != nil {
			v.t.Errorf("the request does not fit openapi.yaml: %v", err)
		}
	}
	res, err := v.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	v.checkAnswer(c, input, res, body)
	return res, nil
}

// alike remembers what has been checked. Compiling the schemas takes milliseconds, and a storm of twins has a thousand requests that differ in
// digits and ids at most.
var (
	checking sync.Mutex
	alike    = map[[32]byte]bool{}
)

// seen reports whether a message of the same form was found good before, and its mark.
func seen(parts ...string) (mark [32]byte, before bool) {
	form := idsAndDigits.ReplaceAllString(strings.Join(parts, "\n"), "0")
	mark = sha256.Sum256([]byte(form))
	return mark, alike[mark]
}

var idsAndDigits = regexp.MustCompile(`[0-9a-z]{26,}|[A-Z2-7]{26,}|[0-9]+`)

func checkRequest(input *openapi3filter.RequestValidationInput) error {
	req, body := input.Request, []byte(nil)
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return err
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	checking.Lock()
	defer checking.Unlock()
	mark, before := seen(req.Method, req.URL.RequestURI(), fmt.Sprint(req.Header), string(body))
	if before {
		return nil
	}
	if err := openapi3filter.ValidateRequest(req.Context(), input); err != nil {
		return err
	}
	alike[mark] = true
	req.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

func (v *validator) checkAnswer(c contract, input *openapi3filter.RequestValidationInput, res *http.Response, body []byte) {
	req := input.Request
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"} {
		if res.Header.Get(name) != want {
			v.t.Errorf("%s %s: header %s is %q", req.Method, req.URL.Path, name, res.Header.Get(name))
		}
	}
	if len(res.Header.Get("X-Request-Id")) != 36 {
		v.t.Errorf("%s %s: no request id", req.Method, req.URL.Path)
	}
	if input.Route == nil { // an address or a method that does not exist: a problem all the same
		var doc any
		if err := json.Unmarshal(body, &doc); err != nil && req.Method != http.MethodHead {
			v.t.Errorf("%s %s: not a problem: %s", req.Method, req.URL.Path, body)
		}
		return
	}
	checking.Lock()
	defer checking.Unlock()
	mark, before := seen(req.Method, input.Route.Path, fmt.Sprint(res.StatusCode), headerForm(res.Header), string(body))
	if before {
		return
	}
	options := *input.Options
	options.ExcludeResponseBody = req.Method == http.MethodHead
	err := openapi3filter.ValidateResponse(req.Context(), &openapi3filter.ResponseValidationInput{RequestValidationInput: input,
		Status: res.StatusCode, Header: res.Header, Body: io.NopCloser(bytes.NewReader(body)), Options: &options})
	if err != nil {
		v.t.Errorf("the answer %d to %s %s does not fit openapi.yaml: %v\n%s", res.StatusCode, req.Method, req.URL.Path, err, body)
		return
	}
	alike[mark] = true
}

// headerForm is the headers without those whose value is new each time.
func headerForm(h http.Header) string {
	h = h.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Etag"} {
		if h.Get(name) != "" {
			h.Set(name, "set")
		}
	}
	return fmt.Sprint(h)
}
