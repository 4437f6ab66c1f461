// Package volumeattacher is a simulated attacher of volumes, as the external attacher of a CSI
// driver is one: it marks the VolumeAttachments of simulated volumes as attached, holds them with a
// finalizer, and lets them go when they are deleted. Simulated are the volumes of the simulated
// provisioner's driver, of a StorageClass that is simulated, and of a driver whose CSIDriver has
// the annotation minikcm.dev/simulated: "true". It leaves all others alone: their driver is a
// client of the cluster.
//
// The annotations minikcm.dev/attach-delay, minikcm.dev/attach-error, minikcm.dev/detach-delay and
// minikcm.dev/detach-error, of a claim, a volume or a class, make it slow or fail
// (docs/simulation/volumes.md).
//
// Upstream has no such controller, and no role of upstream's allows an attacher's writes: a driver
// brings its own. Within a cluster the package's account is privileged.
package volumeattacher
