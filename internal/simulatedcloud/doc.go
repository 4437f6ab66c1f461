// Package simulatedcloud defines the form in which the simulated cloud keeps its state: instances,
// routes and quotas are ConfigMaps in the namespace minikcm-cloud, so that they survive a restart,
// are in dumps and forks, and are changed with any client. Simulated kubelets, which are the
// machines, and the controllers of the cloud agree on it here. Decision 0052 says why.
//
// Every text is read as a client may have written it: a value without a meaning is the default.
//
//minikcm:pure
package simulatedcloud
