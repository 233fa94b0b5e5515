package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
)

// authenticate lets a request in that carries what the route needs. It runs before the body is read, so that nobody without a key has
// anything parsed.
func (s *Server) authenticate(needs access) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		if needs.open {
			return next
		}
		return func(c echo.Context) error {
			found, err := s.keyOf(c.Request())
			if errors.Is(err, dispatch.ErrNotFound) {
				c.Response().Header().Set(echo.HeaderWWWAuthenticate, `Bearer realm="sentonce"`)
				return fail(problemUnauthorized, "a valid API key is needed: Authorization: Bearer <key>")
			}
			if err != nil {
				return fmt.Errorf("authenticate: %w", err)
			}
			callOf(c).key = found
			if !found.Allows(needs.scope) {
				challenge := fmt.Sprintf(`Bearer realm="sentonce", error="insufficient_scope", scope=%q`, needs.scope)
				c.Response().Header().Set(echo.HeaderWWWAuthenticate, challenge)
				return fail(problemForbidden, "the API key lacks the scope "+string(needs.scope))
			}
			return next(c)
		}
	}
}

// keyOf finds the key of a request. No token, an unknown, an expired and a revoked one are all ErrNotFound: the answer tells nothing apart.
func (s *Server) keyOf(r *http.Request) (dispatch.APIKey, error) {
	found, err := s.deps.Store.Authenticate(r.Context(), bearer(r.Header))
	if err != nil {
		return dispatch.APIKey{}, err
	}
	if !found.Valid(s.deps.Clock.Now()) {
		return dispatch.APIKey{}, fmt.Errorf("key %s is over: %w", found.ID, dispatch.ErrNotFound)
	}
	return found, nil
}

// bearer is the token of the Authorization header (RFC 6750, §2.1), or the empty one, which is no key. It is asked for, too, so that an
// answer takes its time whatever the header holds.
func bearer(h http.Header) dispatch.Secret {
	values := h.Values(echo.HeaderAuthorization)
	if len(values) != 1 {
		return dispatch.Secret{}
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return dispatch.Secret{}
	}
	return dispatch.NewSecret(strings.TrimSpace(token))
}
