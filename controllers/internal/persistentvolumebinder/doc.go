// Package persistentvolumebinder is the persistentvolume-binder-controller: it binds
// PersistentVolumeClaims to PersistentVolumes, gives both their phases, reclaims volumes whose
// claim is gone, and gives claims without a class the default StorageClass (Kubernetes
// documentation, "Persistent Volumes").
//
// A binding is four writes: the volume's claimRef, the volume's phase, the claim's volumeName,
// the claim's status. The first decides: of two claims that want one volume, one gets a
// conflict. The others follow from it, so a reconcile that finds a binding half done completes
// it.
//
// A released host path or NFS volume with the policy Recycle gets a recycler pod, which removes
// its files; the volume is available again when the pod has succeeded.
//
// Unlike upstream's, the controller translates no in-tree plugins to CSI drivers, does not repeat
// the events of a recycler pod, and does not check all objects again every 15 seconds: a volume
// that becomes available wakes the claims that it may suit.
package persistentvolumebinder
