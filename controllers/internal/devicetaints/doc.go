// Package devicetaints applies DeviceTaintRules to ResourceSlices (KEP-5055), for the scheduler and
// the device-taint-eviction-controller. It is pure.
//
//minikcm:pure
package devicetaints
