// Package servicecidrs is the service-cidr-controller: it protects every ServiceCIDR by
// a finalizer, says that it is Ready, and lets it go when it is deleted and no Service
// needs it anymore (KEP-1880): when every address that is locked in it is in another
// ServiceCIDR too, and ten seconds have passed in which every apiserver has heard
// that it is going. What it waits for stands in the condition Ready.
//
// The addresses themselves are given out by the apiserver.
package servicecidrs
