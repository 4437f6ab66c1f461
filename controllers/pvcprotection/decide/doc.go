// Package decide decides about PersistentVolumeClaims. A claim that is being deleted is
// released only if no pod in the snapshot is on a node and uses it.
package decide
