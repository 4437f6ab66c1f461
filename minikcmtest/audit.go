package minikcmtest

import (
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"minikcm.dev/minikcm"
)

// WithAudit calls record with the audit events of all requests that policy selects, including
// requests of the cluster's own parts. Several goroutines call record at the same time. It
// owns the event, and must not block.
func WithAudit(policy auditv1.Policy, record func(*auditv1.Event)) Option {
	return func(o *minikcm.Options) { o.Security.Audit.Policy, o.Security.Audit.Events = &policy, record }
}
