package dispatch

// What people do on the pages that read and run the service.
const (
	ActionSearched       Action = "searched"        // somebody searched; Cause is the kind of what was searched for, never the thing itself
	ActionViewSaved      Action = "view_saved"      // a named filter was kept; Cause is "own" or "shared"
	ActionViewDeleted    Action = "view_deleted"    //
	ActionAPIKeyRotated  Action = "api_key_rotated" // a key got a successor and an end; Cause is the id of the old key
	ActionAPIKeyRevoked  Action = "api_key_revoked" // Cause is the id of the key
	ActionSettingChanged Action = "setting_changed" // Cause is the setting's name, Count its new version
)
