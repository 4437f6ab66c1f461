// Package rootca is the root-ca-certificate-publisher-controller: every active
// namespace has the ConfigMap kube-root-ca.crt with the certificates by which a
// pod verifies the apiserver, and gets it back when it is changed or deleted.
package rootca
