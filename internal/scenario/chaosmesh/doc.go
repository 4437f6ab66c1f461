// Package chaosmesh runs experiments that were written for Chaos Mesh
// (chaos-mesh.org/v1alpha1): PodChaos, NetworkChaos, DNSChaos, HTTPChaos, Schedule and Workflow. Install makes their
// definitions known to a cluster; a Controller runs objects of these kinds, and reports
// in their status and by events as Chaos Mesh documents it.
package chaosmesh
