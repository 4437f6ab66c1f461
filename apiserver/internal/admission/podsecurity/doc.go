// Package podsecurity is the admission plugin PodSecurity: it applies the Pod Security
// Standards that a namespace's labels name to its pods, and warns about the templates of
// workloads (Kubernetes documentation, "Pod Security Admission"; KEP-2579).
// k8s.io/pod-security-admission decides; this package connects it to the server's writes
// and caches.
package podsecurity
