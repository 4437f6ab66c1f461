package garbagecollector

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
	config "k8s.io/kube-controller-manager/config/v1alpha1"

	"minikcm.dev/minikcm/controllers/internal/garbagecollector/graph"
)

// Kind is a resource whose objects can be collected.
type Kind struct {
	Resource   schema.GroupVersionResource
	Kind       schema.GroupVersionKind
	Namespaced bool
}

// groupResources groups the results of discovery by group and version.
func groupResources(groups []*metav1.APIGroup, lists []*metav1.APIResourceList) []*restmapper.APIGroupResources {
	byVersion := make(map[string][]metav1.APIResource, len(lists))
	for _, list := range lists {
		byVersion[list.GroupVersion] = list.APIResources
	}
	var all []*restmapper.APIGroupResources
	for _, group := range groups {
		resources := &restmapper.APIGroupResources{Group: *group, VersionedResources: map[string][]metav1.APIResource{}}
		for _, version := range group.Versions {
			if known, ok := byVersion[version.GroupVersion]; ok {
				resources.VersionedResources[version.Version] = known
			}
		}
		all = append(all, resources)
	}
	return all
}

// Kinds returns the resources that can be listed, watched and deleted, each in the
// preferred version of its group. It excludes Events, which are many and expire, and the ignored resources.
func Kinds(groups []*restmapper.APIGroupResources, ignored ...config.GroupResource) []Kind {
	found := map[schema.GroupResource]Kind{}
	for _, group := range groups {
		for _, version := range preferredFirst(group.Group) {
			gv := schema.GroupVersion{Group: group.Group.Name, Version: version}
			for _, r := range group.VersionedResources[version] {
				gvr := gv.WithResource(r.Name)
				if _, known := found[gvr.GroupResource()]; known || !collectable(gvr, r) || slices.Contains(ignored, config.GroupResource(gvr.GroupResource())) {
					continue
				}
				found[gvr.GroupResource()] = Kind{Resource: gvr, Kind: gv.WithKind(r.Kind), Namespaced: r.Namespaced}
			}
		}
	}
	kinds := make([]Kind, 0, len(found))
	for _, kind := range found {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return strings.Compare(a.Resource.String(), b.Resource.String()) })
	return kinds
}

func preferredFirst(group metav1.APIGroup) []string {
	versions := []string{group.PreferredVersion.Version}
	for _, v := range group.Versions {
		if v.Version != group.PreferredVersion.Version {
			versions = append(versions, v.Version)
		}
	}
	return versions
}

func collectable(gvr schema.GroupVersionResource, r metav1.APIResource) bool {
	if strings.Contains(r.Name, "/") {
		return false
	}
	if gvr.Resource == "events" && (gvr.Group == "" || gvr.Group == "events.k8s.io") {
		return false
	}
	for _, verb := range []string{"delete", "list", "watch"} {
		if !slices.Contains(r.Verbs, verb) {
			return false
		}
	}
	return true
}

// errNoNamespace means that a cluster-scoped object refers to a namespaced owner, whose
// namespace is unknown.
var errNoNamespace = fmt.Errorf("a cluster-scoped object cannot refer to a namespaced owner")

// place returns the resource of an object and its namespace, which is empty for
// cluster-scoped kinds even if the referring object has one.
func place(mapper meta.RESTMapper, c graph.Coordinates) (schema.GroupVersionResource, string, error) {
	gv, err := schema.ParseGroupVersion(c.APIVersion)
	if err != nil {
		return schema.GroupVersionResource{}, "", fmt.Errorf("finding the resource of %s: %w", c, err)
	}
	mapping, err := mapper.RESTMapping(gv.WithKind(c.Kind).GroupKind(), gv.Version)
	if err != nil {
		return schema.GroupVersionResource{}, "", fmt.Errorf("finding the resource of %s: %w", c, err)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return mapping.Resource, "", nil
	}
	if c.Namespace == "" {
		return schema.GroupVersionResource{}, "", errNoNamespace
	}
	return mapping.Resource, c.Namespace, nil
}
