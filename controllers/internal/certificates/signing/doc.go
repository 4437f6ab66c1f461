// Package signing is the certificatesigningrequest-signing-controller: it issues
// certificates of the cluster's own authority for approved requests to the signers
// kube-apiserver-client, kube-apiserver-client-kubelet, kubelet-serving and legacy-unknown
// of kubernetes.io. Without an authority's key, it logs that and does nothing.
package signing
