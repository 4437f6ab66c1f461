// Package encryption encrypts the values that the API server stores in etcd, as
// kube-apiserver's EncryptionConfiguration says (Kubernetes documentation, "Encrypting
// Confidential Data at Rest"). The stored values are upstream's, so that either server reads
// the other's values.
package encryption
