// Package rootca is the root-ca-certificate-publisher-controller: it maintains in every
// active namespace the ConfigMap kube-root-ca.crt with the certificates with which a pod
// verifies the apiserver, and restores it after a change or a deletion.
package rootca
