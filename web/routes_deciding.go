package web

// decidingRoutes are the pages on which people decide.
func decidingRoutes() []route { return nil }

// Deciding is what the pages on which people decide need of the store.
type Deciding interface{}
