package web

import (
	"context"
	"net/http"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// Deciding is what the pages on which people decide need of the store. The errors are those of the domain: dispatch.ErrNotFound,
// dispatch.ErrForbidden, *dispatch.FormError, and dispatch.ErrStale, as *dispatch.NotNowError where words can say why.
type Deciding interface {
	DecisionView(ctx context.Context, id dispatch.NotificationID) (store.DecisionView, error)
	Decide(ctx context.Context, p store.PersonDecides) (store.Decided, error)
	AnswerProposal(ctx context.Context, a store.ProposalAnswer) error
	WithdrawByStaff(ctx context.Context, id dispatch.NotificationID, w dispatch.SecondWord, requestID string) error
	CloseIncident(ctx context.Context, id dispatch.NotificationID, incident dispatch.IncidentID, w dispatch.SecondWord, requestID string) error
	RevealNumber(ctx context.Context, v store.Reveal) (dispatch.Secret, error)
	// QuestionAbout makes the question to the provider about what is not known of a notification.
	QuestionAbout(ctx context.Context, id dispatch.NotificationID) (dispatch.LookupJob, error)

	WorkOn(ctx context.Context, o store.ClaimOrder) error
	ClaimNext(ctx context.Context, by dispatch.Person, requestID string) (dispatch.NotificationID, error)
	Worklist(ctx context.Context, w store.WorkQuery) ([]store.WorkItem, error)
	WorkCounts(ctx context.Context, w store.WorkQuery) (store.WorkCounts, error)
	Bursts(ctx context.Context) ([]store.Burst, error)

	FreezeBulk(ctx context.Context, s store.BulkSelection) (dispatch.BulkID, error)
	Bulk(ctx context.Context, id dispatch.BulkID) (store.Bulk, error)
	StartBulk(ctx context.Context, s store.BulkStart) error
	// BulkStep carries out the next items of a bulk decision that is under way; more is false when there is none.
	BulkStep(ctx context.Context) (more bool, err error)
}

// askPatience is how much longer than other requests one may take that asks providers.
const askPatience = 25 * time.Second

// decidingRoutes are the pages on which people decide.
func decidingRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	one := views.PathNotifications + "/:id"
	return []route{
		{method: get, path: views.PathUnknown, needs: readers(), serve: (*Server).worklist},
		{method: post, path: views.PathClaimNext, needs: settlers(), serve: (*Server).claimNext, body: formBody},
		{method: post, path: views.PathReconcileAll, needs: settlers(), serve: (*Server).reconcileAll, body: formBody, holds: askPatience},
		{method: post, path: views.PathBulkPreview, needs: settlers(), serve: (*Server).previewBulk, body: formBody},
		{method: get, path: views.PathBulkPreview, needs: settlers(), serve: (*Server).showPreview},
		{method: post, path: views.PathBulk, needs: settlers(), serve: (*Server).startBulk, body: formBody},
		{method: get, path: views.PathBulk + "/:bulk", needs: readers(), serve: (*Server).bulkRun},

		{method: post, path: one + "/verdict", needs: settlers(), serve: (*Server).verdict, body: formBody},
		{method: post, path: one + "/reconcile", needs: settlers(), serve: (*Server).reconcile, body: formBody, holds: askPatience},
		{method: post, path: one + "/claim", needs: settlers(), serve: (*Server).claim, body: formBody},
		{method: post, path: one + "/proposals/:proposal/approve", needs: settlers(), serve: (*Server).approve, body: formBody},
		{method: post, path: one + "/proposals/:proposal/decline", needs: settlers(), serve: (*Server).decline, body: formBody},
		{method: post, path: one + "/incidents/:incident/close", needs: settlers(), serve: (*Server).closeIncident, body: formBody},
		{method: get, path: one + "/reveal", needs: settlers(), serve: (*Server).askReveal},
		{method: post, path: one + "/reveal", needs: settlers(), serve: (*Server).reveal, body: formBody},
		{method: get, path: one + "/withdraw", needs: settlers(), serve: (*Server).askWithdraw},
		{method: post, path: one + "/withdraw", needs: settlers(), serve: (*Server).withdrawByStaff, body: formBody},
	}
}
