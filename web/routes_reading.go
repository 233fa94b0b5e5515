package web

// readingRoutes are the pages that show.
func readingRoutes() []route { return nil }

// Reading is what the pages that show need of the store.
type Reading interface{}
