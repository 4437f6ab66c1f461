// Package pvcprotection keeps PersistentVolumeClaims that are being deleted until no pod
// on a node uses them (Kubernetes documentation, "Storage Object in Use Protection"), and
// records in the condition Unused of bound claims whether a pod refers to them.
package pvcprotection
