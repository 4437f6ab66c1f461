// Package peers passes requests for containers and kubelets on to the API server of the process
// that simulates the node, if several processes share an etcd. To the client it looks as if the
// API server had reached the kubelet itself.
package peers
