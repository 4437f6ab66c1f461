// Package volumeprovisioner is a simulated provisioner of volumes, as an external provisioner
// of a CSI driver is one: it creates a PersistentVolume for each claim that waits for one in
// the StorageClasses of the provisioner minikcm.dev/simulated, expands it when the claim requests
// more and the class allows it, and deletes it when the claim is gone, the volume's policy is
// Delete and the volume is not attached any more. Every node can use the volumes, unless the class has
// allowed topologies or the parameter topologyKey. The parameter capacity limits a class.
//
// A StorageClass of another provisioner is simulated if it has the annotation
// minikcm.dev/simulated: "true". The annotations minikcm.dev/provision-delay,
// minikcm.dev/provision-error and minikcm.dev/delete-error, of a claim, a volume or a class,
// make the provisioner slow or fail (docs/simulation/volumes.md).
//
// Upstream has no such controller. The package acts as the service account of the binder,
// whose role contains the permissions of upstream's former provisioners.
package volumeprovisioner
