// Package kwokwatch makes the objects of kinds take effect whose definitions users install: kwok's, and ClusterNetworkPolicy.
// Sources watches the definition of each kind and, while the API serves the kind, its objects. When one changes, it passes on all of
// them. An invalid one has no effect but a Warning event.
//
// UsageKinds are the kinds of package kwok. Stages are read in the same way by package stagerunner.
package kwokwatch
