package crd

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// servedVersions lists the versions as kubectl get crd shows them.
func servedVersions(d *apiextensionsv1.CustomResourceDefinition) string {
	var names []string
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		switch {
		case !v.Served:
		case v.Storage:
			names = append(names, v.Name+"(storage)")
		default:
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return joined(names)
}

func joined(names []string) string { return strings.Join(names, ",") }
