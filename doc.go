// Package minikcm assembles a whole Kubernetes control loop in one process: an
// embedded etcd, a REST apiserver, the controllers of the kube-controller-manager,
// a scheduler and simulated kubelets. Start returns a cluster that is ready to be
// used, by clients in the process without a socket and by all others over HTTPS.
// Any number of clusters can run side by side; when Close returns, a cluster has
// left no goroutine and no file behind.
package minikcm
