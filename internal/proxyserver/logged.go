package proxyserver

import "k8s.io/klog/v2"

// logged logs net/http's messages at verbosity 2.
type logged struct{ logger klog.Logger }

// Write implements io.Writer.
func (l logged) Write(line []byte) (int, error) {
	l.logger.V(2).Info("Serving a connection", "error", string(line))
	return len(line), nil
}
