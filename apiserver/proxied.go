package apiserver

// findProxied returns the function that serves a subresource whose requests upstream
// passes on to a node or a pod.
func (rq *request) findProxied() verbFunc {
	switch rq.Subresource {
	case "log":
		return serveLog
	case "exec":
		return texts(serveExec)
	case "attach":
		return texts(serveAttach)
	case "portforward":
		return texts(servePortForward)
	}
	return serveProxy
}
