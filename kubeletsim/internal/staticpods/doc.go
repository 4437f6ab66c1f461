// Package staticpods decides the actions of simulated nodes' kubelets on static pods: it reads
// their manifests from ConfigMaps with LabelStaticPods, which stand for the folder that a kubelet's
// staticPodPath names, derives the mirror pod of each on a node, and says which mirror pods are to
// be created and deleted. A manifest and a node always give the same mirror pod with the same hash.
// The package knows no API server and no time.
//
//minikcm:pure
package staticpods
