// Package signing is the certificatesigningrequest-signing-controller: it gives approved
// requests to the signers kube-apiserver-client, kube-apiserver-client-kubelet,
// kubelet-serving and legacy-unknown of kubernetes.io a certificate of the cluster's own
// authority. Without an authority's key, it says so and does nothing.
package signing
