package minikcm

// RecordAccess begins to record a user's requests to the API server. With enforce, the roles
// still limit the user; otherwise the user may do everything, so that the record shows all
// permissions that it needs. The caller ends the recording. It returns a Conflict error if the
// user is being recorded.
func (c *Cluster) RecordAccess(user string, enforce bool) (*AccessRecording, error) {
	return c.server.RecordAccess(user, enforce)
}
