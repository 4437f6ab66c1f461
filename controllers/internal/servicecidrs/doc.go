// Package servicecidrs is the service-cidr-controller: it protects every ServiceCIDR with a
// finalizer, sets its condition Ready, and removes the finalizer when the ServiceCIDR is
// deleted and no Service needs it any more (KEP-1880): every address allocated in it also
// lies in another ServiceCIDR, and ten seconds have passed, after which every apiserver
// knows of the deletion. The condition Ready reports what the deletion waits for.
//
// The apiserver allocates the addresses.
package servicecidrs
