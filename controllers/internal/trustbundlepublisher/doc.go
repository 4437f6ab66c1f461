// Package trustbundlepublisher is the
// kube-apiserver-serving-clustertrustbundle-publisher-controller: it maintains the
// ClusterTrustBundle of the signer kubernetes.io/kube-apiserver-serving, with the certificates
// that the API server is verified by, and deletes all others of that signer. The bundle's name
// contains a hash of the certificates. The controller has nothing to publish, and does nothing,
// if it verifies the API server by no certificates of its own.
package trustbundlepublisher
