// Package certificates is what the controllers of certificate signing requests share:
// how far a request has come, and whether it is one of a kubelet's. The rules are those
// of the Kubernetes documentation, "Certificates and Certificate Signing Requests".
package certificates
