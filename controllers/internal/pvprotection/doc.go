// Package pvprotection keeps PersistentVolumes that are being deleted until they are not
// bound any longer (Kubernetes documentation, "Storage Object in Use Protection").
package pvprotection
