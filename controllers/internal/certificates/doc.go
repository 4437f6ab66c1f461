// Package certificates is shared by the controllers of certificate signing requests: it
// decides which state a request is in, and whether a request is a kubelet's. The rules follow the
// Kubernetes documentation, "Certificates and Certificate Signing Requests".
package certificates
