// Package devicedriver simulates the drivers of devices (KEP-4381): it publishes the ResourceSlices
// of the Nodes that the annotation minikcm.dev/devices describes devices of, and a DeviceClass for
// each driver. It guarantees that a slice is owned by its Node, and that it writes and deletes only
// slices that it has made.
package devicedriver
