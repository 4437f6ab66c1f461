// Package devicetainteviction is the device-taint-eviction-controller (KEP-5055): it deletes pods that
// use devices with NoExecute taints, of ResourceSlices or DeviceTaintRules, which their claims do not
// tolerate. It guarantees that a pod is reported and deleted once for each eviction.
package devicetainteviction
