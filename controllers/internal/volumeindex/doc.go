// Package volumeindex finds volumes by the claims that they refer to and by their classes, claims
// by the volumes that they name and by their classes, pods by the claims that they use, and
// attachments by their volumes and nodes. The controllers of volumes and the scheduler share the
// indexes, which belong to the informers' caches, as the objects that are returned: they must not
// be changed.
package volumeindex
