package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

const (
	askedAtMost = 50 // items of a list that one click asks about
	askedAtOnce = 4
)

// reconcile asks the provider of one notification now.
func (s *Server) reconcile(c echo.Context) error {
	id, err := notificationID(c)
	if err != nil {
		return err
	}
	if why := s.cannotAsk(); why != "" {
		return s.conflict(c, id, lowerFirst(why), "")
	}
	result, err := s.ask(c.Request().Context(), id, personOf(c).actor())
	switch {
	case errors.Is(err, dispatch.ErrNoQuestion):
		return s.conflict(c, id, "its provider cannot be asked about this attempt", "")
	case errors.Is(err, dispatch.ErrStale):
		s.flash(c, "Nothing was asked: it is settled, or its call is under way.")
	case err != nil:
		return err
	default:
		s.flash(c, "Asked: the provider "+views.LookupWords(result)+".")
	}
	return seeOther(c, views.NotificationPath(id.String()))
}

// ask puts one question. The errors are dispatch.ErrNotFound, dispatch.ErrStale and dispatch.ErrNoQuestion.
func (s *Server) ask(ctx context.Context, id dispatch.NotificationID, by dispatch.Actor) (dispatch.LookupResult, error) {
	job, err := s.deps.Staff.QuestionAbout(ctx, id)
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	return s.deps.Reconciler.Ask(ctx, job, by)
}

// reconcileAll asks about the most urgent items of a list.
func (s *Server) reconcileAll(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	if why := s.cannotAsk(); why != "" {
		return pageFail(http.StatusConflict, why)
	}
	list := listOf(form.Get("query"), personOf(c).ID)
	list.Limit = askedAtMost + 1
	items, err := s.deps.Staff.Worklist(c.Request().Context(), list)
	if err != nil {
		return err
	}
	more := len(items) > askedAtMost
	items = items[:min(len(items), askedAtMost)]
	found, asked := s.askMany(c.Request().Context(), items, personOf(c).actor())
	s.flash(c, askedWords(asked, found, more))
	return seeOther(c, views.PathUnknown+"?"+queryOf(list))
}

// askMany puts questions, a few at once. A question that fails says nothing; it is on record where there was one.
func (s *Server) askMany(ctx context.Context, items []store.WorkItem, by dispatch.Actor) (found, asked int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, askedAtOnce)
	for _, item := range items {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		wg.Go(func() {
			defer func() { <-slots }()
			result, err := s.ask(ctx, item.ID, by)
			if err != nil {
				s.deps.Log.Info("a question by hand was not asked", "notification", item.ID, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			asked++
			if result == dispatch.LookupMatch || result == dispatch.LookupSeveral {
				found++
			}
		})
	}
	wg.Wait()
	return found, asked
}

func askedWords(asked, found int, more bool) string {
	text := fmt.Sprintf("Asked about %s; found: %d.", views.Plural(asked, "item", "items"), found)
	if more {
		text += fmt.Sprintf(" One click asks about %d at most, the least time left first; there are more.", askedAtMost)
	}
	return text
}

// lowerFirst makes a sentence the end of another one.
func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.TrimSuffix(strings.ToLower(s[:1])+s[1:], ".")
}
