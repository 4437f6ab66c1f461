// Package chaosmesh runs experiments that were written for Chaos Mesh
// (chaos-mesh.org/v1alpha1): PodChaos, Schedule and Workflow. Install makes their
// definitions known to a cluster; a Controller does what objects of these kinds ask for
// and says in their status, and by events, what it did, as Chaos Mesh documents it.
package chaosmesh
