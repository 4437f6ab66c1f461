// Package kubeconfig makes the kubeconfigs of a cluster's users, and keeps the file with the
// administrator's. It never overwrites or removes a file that another program has written.
package kubeconfig
