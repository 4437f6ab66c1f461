package dump

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// level orders kinds: objects of a lower level are created first. Within a level, an object
// comes after the objects whose UIDs it refers to.
type level int

const (
	definitions   level = iota // CustomResourceDefinitions, which the kinds that follow need
	namespaces                 // Namespaces, which the objects in them need
	identities                 // accounts, roles and classes, which admission looks up
	configuration              // ConfigMaps and Secrets
	storage                    // claims, then the volumes that refer to them by UID
	machines                   // Nodes
	others                     // custom objects, Services and all other kinds
	workloads                  // workloads, owners first
	pods
	endpoints // endpoints refer to pods by UID
	limits    // quotas and limits, which could refuse objects older than themselves
	policies  // admission policies, for the same reason
)

func levelOf(o *unstructured.Unstructured) level {
	gvk := o.GroupVersionKind()
	switch gvk.Group {
	case "":
		return levelOfCore(gvk.Kind)
	case "apiextensions.k8s.io":
		return definitions
	case "rbac.authorization.k8s.io", "node.k8s.io":
		return identities
	case "scheduling.k8s.io":
		if gvk.Kind == "PriorityClass" {
			return identities // PodGroups need it
		}
	case "storage.k8s.io":
		return storage
	case "apps", "batch", "autoscaling", "policy":
		return workloads
	case "discovery.k8s.io":
		return endpoints
	case "admissionregistration.k8s.io":
		return policies
	case "networking.k8s.io":
		if gvk.Kind == "ServiceCIDR" {
			return identities
		}
	}
	return others
}

func levelOfCore(kind string) level {
	switch kind {
	case "Namespace":
		return namespaces
	case "ServiceAccount":
		return identities
	case "ConfigMap", "Secret":
		return configuration
	case "PersistentVolumeClaim", "PersistentVolume":
		return storage
	case "Node":
		return machines
	case "ReplicationController", "PodTemplate":
		return workloads
	case "Pod":
		return pods
	case "Endpoints":
		return endpoints
	case "LimitRange", "ResourceQuota":
		return limits
	}
	return others
}

// position is the place of an object in the order: its level, and its depth in the chain of
// dependencies within the level.
type position struct {
	level level
	depth int
}

// ordered sorts objects so that each one comes after the objects whose UIDs it needs. The
// result does not depend on their initial order.
func ordered(objects []*unstructured.Unstructured) {
	p := &positions{
		byUID: make(map[types.UID]*unstructured.Unstructured, len(objects)),
		found: make(map[*unstructured.Unstructured]position, len(objects)),
	}
	for _, o := range objects {
		if uid := o.GetUID(); uid != "" {
			p.byUID[uid] = o
		}
	}
	keys := make(map[*unstructured.Unstructured]string, len(objects))
	for _, o := range objects {
		p.of(o)
		keys[o] = strings.Join([]string{o.GetKind(), o.GetAPIVersion(), o.GetNamespace(), o.GetName()}, "\x00")
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		at, bt := p.found[a], p.found[b]
		return cmp.Or(cmp.Compare(at.level, bt.level), cmp.Compare(at.depth, bt.depth), strings.Compare(keys[a], keys[b]))
	})
}

// positions computes the positions of objects.
type positions struct {
	byUID map[types.UID]*unstructured.Unstructured
	found map[*unstructured.Unstructured]position
}

// of returns the position of an object. In a cycle of owner references, one of the objects
// comes first.
func (p *positions) of(o *unstructured.Unstructured) position {
	if at, known := p.found[o]; known {
		return at
	}
	at := position{level: levelOf(o)}
	p.found[o] = at // ends the recursion in cycles
	for _, uid := range needs(o) {
		other := p.byUID[uid]
		if other == nil || other == o {
			continue
		}
		switch before := p.of(other); {
		case before.level > at.level:
			at = position{before.level, before.depth + 1}
		case before.level == at.level:
			at.depth = max(at.depth, before.depth+1)
		}
	}
	p.found[o] = at
	return at
}

// needs returns the UIDs of the objects that must be created before an object: its owners,
// and the claim of a volume.
func needs(o *unstructured.Unstructured) []types.UID {
	var uids []types.UID
	for _, owner := range o.GetOwnerReferences() {
		uids = append(uids, owner.UID)
	}
	if isCore(o, "PersistentVolume") {
		if uid, _, _ := unstructured.NestedString(o.Object, "spec", "claimRef", "uid"); uid != "" {
			uids = append(uids, types.UID(uid))
		}
	}
	return uids
}
