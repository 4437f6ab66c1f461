// Package bootstrapsigner is the bootstrap-signer-controller: it signs the kubeconfig in the
// ConfigMap kube-public/cluster-info with every bootstrap token that allows it, so that a
// machine that only has a token can verify the cluster that it joins. As upstream, "*" does
// not select it, and the signature of an expired token stays until the token is deleted or
// something else changes.
package bootstrapsigner
