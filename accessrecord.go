package minikcm

// RecordAccess begins to record what a user asks the API server for. With enforce, the user
// may still do only what the roles allow; otherwise everything, so that the record shows all
// that the user needs. The caller ends the recording. It returns a Conflict error if the
// user is being recorded.
func (c *Cluster) RecordAccess(user string, enforce bool) (*AccessRecording, error) {
	return c.server.RecordAccess(user, enforce)
}
