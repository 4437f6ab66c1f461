// Package identity finds or makes the keys and certificates by which clients and other servers know a
// cluster. They are given, in its data directory, or in the etcd that several processes share; a
// cluster with none of these gets new ones.
package identity
