// Package audit records the requests to the API server as audit.k8s.io/v1 events: which are
// recorded, at which stages and in which detail is the decision of a policy, as in
// kube-apiserver (Kubernetes documentation, "Auditing"). It evaluates the policy and builds
// the events with upstream's library, and sends them to a log file, a webhook and a function.
package audit
