package web

import (
	"net/http"

	"sentonce/store"
	"sentonce/views"
)

// admins may change what the service runs under.
func admins() access { return page(store.RoleAdmin) }

// readingRoutes are the pages that show, and those on which the service is run.
func readingRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	pausers := page(store.RoleSupport, store.RoleCompliance, store.RoleAdmin)
	auditors := page(store.RoleCompliance, store.RoleAuditor)
	client, key := views.PathClients+"/:id", views.PathClients+"/:id/keys/:key"
	provider := views.PathProviders + "/:name"
	return []route{
		{method: get, path: views.PathOverview, needs: everybody(), serve: (*Server).showOverview},
		{method: get, path: views.PathNotifications, needs: readers(), serve: (*Server).showList},
		{method: get, path: pathNewer, needs: readers(), serve: (*Server).showNewer},
		{method: get, path: views.PathNotifications + "/:id", needs: readers(), serve: (*Server).showNotification},
		{method: post, path: views.PathSearch, needs: settlers(), serve: (*Server).search, body: formBody},
		{method: post, path: views.PathViews, needs: readers(), serve: (*Server).saveView, body: formBody},
		{method: post, path: views.PathViews + "/:id/delete", needs: readers(), serve: (*Server).deleteView, body: formBody},
		{method: get, path: views.PathAudit, needs: auditors, serve: (*Server).showAudit},
		{method: get, path: views.PathEvidence, needs: auditors, serve: (*Server).showEvidence},
		{method: get, path: pathEvidenceFile, needs: auditors, serve: (*Server).refuseEvidenceFile},

		{method: get, path: views.PathProviders, needs: everybody(), serve: (*Server).showProviders},
		{method: get, path: provider + "/pause", needs: pausers, serve: (*Server).askPause},
		{method: post, path: provider + "/pause", needs: pausers, serve: (*Server).pauseProvider, body: formBody},
		{method: get, path: provider + "/resume", needs: pausers, serve: (*Server).askResume},
		{method: post, path: provider + "/resume", needs: pausers, serve: (*Server).resumeProvider, body: formBody},

		{method: get, path: views.PathClients, needs: admins(), serve: (*Server).showClients},
		{method: get, path: views.PathNewClient, needs: admins(), serve: (*Server).askClient},
		{method: post, path: views.PathNewClient, needs: admins(), serve: (*Server).addClient, body: formBody},
		{method: get, path: client, needs: admins(), serve: (*Server).showClient},
		{method: post, path: client + "/keys", needs: admins(), serve: (*Server).makeKey, body: formBody},
		{method: get, path: key + "/rotate", needs: admins(), serve: (*Server).askRotate},
		{method: post, path: key + "/rotate", needs: admins(), serve: (*Server).rotateKey, body: formBody},
		{method: get, path: key + "/revoke", needs: admins(), serve: (*Server).askRevoke},
		{method: post, path: key + "/revoke", needs: admins(), serve: (*Server).revokeKey, body: formBody},

		{method: get, path: views.PathSettings, needs: everybody(), serve: (*Server).showSettings},
		{method: get, path: views.PathSettings + "/:name", needs: admins(), serve: (*Server).askSetting},
		{method: post, path: views.PathSettings + "/:name", needs: admins(), serve: (*Server).changeSetting, body: formBody},
	}
}
