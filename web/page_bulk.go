package web

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// bulkSample is how many rows of a set are shown before the decision.
const bulkSample = 10

// previewBulk fixes the set of the chosen rows, or of all that a list holds, and shows it. No notification is changed.
func (s *Server) previewBulk(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	list := listOf(form.Get("query"), personOf(c).ID)
	sel := store.BulkSelection{By: decider(c), Query: queryOf(list)}
	if form.Get("scope") == "filter" {
		sel.List, sel.What = &list, "Everything in the list “"+tabLabel(list.Tab)+"”"
		if list.Provider != "" {
			sel.What += " through " + list.Provider
		}
	} else {
		sel.IDs, sel.What = idsOf(form), "The chosen rows of the list “"+tabLabel(list.Tab)+"”"
	}
	id, err := s.deps.Staff.FreezeBulk(c.Request().Context(), sel)
	if errors.Is(err, dispatch.ErrNotFound) {
		return pageFail(http.StatusUnprocessableEntity, "Choose at least one row first.").
			leading(views.Link{Text: "Back to the list", Path: views.PathUnknown + "?" + sel.Query})
	}
	if err != nil {
		return err
	}
	return seeOther(c, views.PathBulkPreview+"?set="+id.String())
}

// showPreview shows a set before it is decided.
func (s *Server) showPreview(c echo.Context) error {
	b, err := s.bulkOf(c, c.QueryParam("set"))
	if err != nil {
		return err
	}
	if !b.StartedAt.IsZero() {
		return seeOther(c, views.BulkPath(b.ID.String()))
	}
	return s.renderPreview(c, http.StatusOK, b, dispatch.Decision{}, "", nil)
}

func (s *Server) bulkOf(c echo.Context, text string) (store.Bulk, error) {
	id, err := dispatch.ParseBulkID(text)
	if err != nil {
		return store.Bulk{}, err
	}
	return s.deps.Staff.Bulk(c.Request().Context(), id)
}

func (s *Server) renderPreview(c echo.Context, status int, b store.Bulk, d dispatch.Decision, typed string, faults views.FieldErrors) error {
	m := views.BulkPreview{Set: b.ID.String(), What: b.What, Count: b.Count, Cap: store.BulkCap, ByGroup: byProvider(b), Typed: typed,
		Back: views.PathUnknown + "?" + b.Query}
	if b.By.ID != personOf(c).ID {
		return pageFail(http.StatusForbidden, "This set belongs to another person. Make your own preview.")
	}
	m.Form = views.VerdictForm{SecondPerson: true, Person: personOf(c).Name, Verdict: string(d.Ruling), Next: string(d.Next), Reason: d.Reason,
		EvidenceKind: d.EvidenceKind, EvidenceRef: safeText(d.EvidenceRef), Note: safeText(d.Note), Errors: faults}
	for _, item := range b.Items {
		switch {
		case item.LeftOut != "":
			m.Excluded = append(m.Excluded, views.Exclusion{ID: item.Notification.String(), Why: item.LeftOut})
		case len(m.Sample) < bulkSample:
			v, err := s.deps.Staff.DecisionView(c.Request().Context(), item.Notification)
			if err != nil {
				return err
			}
			m.Sample = append(m.Sample, sampleRow(v, item))
		}
	}
	return render(c, status, views.BulkPreviewPage(s.shell(c), m))
}

func sampleRow(v store.DecisionView, item store.BulkItem) views.WorkRow {
	r := v.Record
	row := views.WorkRow{ID: r.ID.String(), State: r.State, ExpiresAt: r.ExpiresAt, Urgency: urgency(r.Life(v.Circumstances.Terms.Now)),
		Since: item.Since, Provider: item.Provider, Recipient: views.Masked{Country: r.Country, Hint: r.Hint, Ref: r.Recipient.String(),
			Erased: r.Hint == ""}, Claim: views.Claim{By: v.Claim.Name, Until: v.Claim.Until}}
	if a, ok := v.Undecided(); ok {
		row.Phase, row.NextLookup = a.Phase, a.LookupAt
	}
	if n := len(v.Lookups); n > 0 {
		row.LastAnswer = views.LookupWords(v.Lookups[n-1].Result)
	}
	return row
}

// byProvider counts what would be decided, by provider and age.
func byProvider(b store.Bulk) (all []views.Measure) {
	at := map[string]int{}
	for _, item := range b.Items {
		if item.LeftOut != "" {
			continue
		}
		label := item.Provider + ", " + ageWords(b, item)
		n, known := at[label]
		if !known {
			n = len(all)
			at[label] = n
			all = append(all, views.Measure{Label: label})
		}
		all[n].Value++
	}
	return all
}

func ageWords(b store.Bulk, item store.BulkItem) string {
	switch age := b.FrozenAt.Sub(item.Since); {
	case age < almostOver:
		return "open for less than a minute"
	case age < store.BurstWindow:
		return "open for less than 10 minutes"
	}
	return "open for longer"
}

// startBulk takes the decision for a set.
func (s *Server) startBulk(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	b, err := s.bulkOf(c, form.Get("set"))
	if err != nil {
		return err
	}
	d := decisionOf(form)
	err = s.deps.Staff.StartBulk(c.Request().Context(), store.BulkStart{ID: b.ID, By: decider(c), Decision: d,
		Typed: wholeNumber(strings.ReplaceAll(form.Get("count"), ",", "")), RequestID: callOf(c).id})
	var incomplete *dispatch.FormError
	var notNow *dispatch.NotNowError
	switch {
	case errors.As(err, &incomplete):
		return s.renderPreview(c, http.StatusUnprocessableEntity, b, d, "", fieldErrors(incomplete))
	case errors.As(err, &notNow):
		return pageFail(http.StatusConflict, "This was not carried out: "+notNow.Why+".").keeping(safeText(d.Note)).
			leading(views.Link{Text: "Go to this decision", Path: views.BulkPath(b.ID.String())},
				views.Link{Text: "Back to the list", Path: views.PathUnknown + "?" + b.Query})
	case errors.Is(err, dispatch.ErrForbidden):
		return pageFail(http.StatusForbidden, "This set belongs to another person. Make your own preview.").because(err)
	case err != nil:
		return err
	}
	return seeOther(c, views.BulkPath(b.ID.String()))
}

// bulkRun follows a decision for many and keeps its result.
func (s *Server) bulkRun(c echo.Context) error {
	b, err := s.bulkOf(c, c.Param("bulk"))
	if err != nil {
		return err
	}
	if b.StartedAt.IsZero() {
		return fmt.Errorf("the set %s was not decided: %w", b.ID, dispatch.ErrNotFound)
	}
	if c.QueryParam("format") == "csv" {
		return bulkCSV(c, b)
	}
	m := bulkModel(b)
	if seen := c.QueryParam(paramRev); seen != "" {
		if seen == strconv.Itoa(m.Done) && b.FinishedAt.IsZero() {
			return c.NoContent(http.StatusNoContent)
		}
		return render(c, http.StatusOK, views.BulkProgress(s.clock(c), m))
	}
	return render(c, http.StatusOK, views.BulkRunPage(s.shell(c), m))
}

func resultWords(result string) string {
	switch result {
	case store.BulkSettled:
		return "Settled"
	case store.BulkProposed:
		return "Proposal made; a second person has to approve"
	case store.BulkRefused:
		return "Refused"
	}
	return "Not yet"
}

func bulkModel(b store.Bulk) views.BulkRun {
	self := views.BulkPath(b.ID.String())
	m := views.BulkRun{ID: b.ID.String(), By: b.Name, StartedAt: b.StartedAt, FinishedAt: b.FinishedAt, All: b.Count,
		What: b.What + ": " + strings.ToLower(views.RulingWords(b.Decision.Ruling)), CSV: self + "?format=csv",
		List: views.PathUnknown + "?" + paramTab + "=" + string(store.WorkResolved)}
	counts := map[string]int{}
	for _, item := range b.Items {
		if item.LeftOut != "" {
			continue
		}
		if item.Result != "" {
			m.Done++
		}
		counts[item.Result]++
		m.Rows = append(m.Rows, views.BulkRow{ID: item.Notification.String(), Result: resultWords(item.Result), Done: item.Result != "",
			Why: item.Why})
	}
	for _, result := range []string{store.BulkSettled, store.BulkProposed, store.BulkRefused, ""} {
		if counts[result] > 0 {
			m.Outcomes = append(m.Outcomes, views.Measure{Label: resultWords(result), Value: counts[result]})
		}
	}
	if b.FinishedAt.IsZero() {
		m.Live = views.Live{Path: self + "?" + paramRev + "=" + strconv.Itoa(m.Done), Rev: int64(m.Done)}
	}
	return m
}

// bulkCSV is the result of each row, those left out included. No cell can begin a formula: ids and results are ours, and the reasons, which
// can hold a name, begin with a letter of ours or an apostrophe.
func bulkCSV(c echo.Context, b store.Bulk) error {
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	rows := [][]string{{"notification", "result", "why", "at"}}
	for _, item := range b.Items {
		result, why := item.Result, item.Why
		if item.LeftOut != "" {
			result, why = "left_out", item.LeftOut
		}
		if strings.HasPrefix(strings.TrimLeft(why, " \t"), "=") || strings.ContainsAny(why[:min(len(why), 1)], "+-@\t\r") {
			why = "'" + why
		}
		rows = append(rows, []string{item.Notification.String(), result, why, instant(item.At)})
	}
	if err := w.WriteAll(rows); err != nil {
		return fmt.Errorf("result of a bulk decision: %w", err)
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+b.ID.String()+`.csv"`)
	return c.Blob(http.StatusOK, "text/csv; charset=utf-8", buf.Bytes())
}
