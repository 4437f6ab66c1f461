package dump

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"minikcm.dev/minikcm/internal/reasons"
)

// isBuiltin reports whether a group is one of Kubernetes itself: the core group, a group
// without a dot, or one in k8s.io, except for those in which Kubernetes' projects define
// custom resources.
func isBuiltin(group string) bool {
	switch group {
	case "", "apps", "batch", "autoscaling", "policy", "extensions":
		return true
	}
	name, official := strings.CutSuffix(group, ".k8s.io")
	switch name {
	case "gateway.networking", "snapshot.storage", "metrics", "custom.metrics", "external.metrics":
		return false
	}
	return official && !strings.HasSuffix(name, ".x")
}

func isCore(o *unstructured.Unstructured, kind string) bool { return isKind(o, "", kind) }

func isKind(o *unstructured.Unstructured, group, kind string) bool {
	gvk := o.GroupVersionKind()
	return gvk.Group == group && gvk.Kind == kind
}

// nameOf names an object in messages: pod/web in shop.
func nameOf(o *unstructured.Unstructured) string {
	return reasons.FullName(o.GetKind(), o.GetNamespace(), o.GetName())
}

// podSpec returns the path of the pod spec in an object, or nil if its kind has none.
func podSpec(o *unstructured.Unstructured) []string {
	gvk := o.GroupVersionKind()
	switch gvk.Group + "/" + gvk.Kind {
	case "/Pod":
		return []string{"spec"}
	case "/PodTemplate":
		return []string{"template", "spec"}
	case "/ReplicationController", "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet", "apps/DaemonSet", "batch/Job":
		return []string{"spec", "template", "spec"}
	case "batch/CronJob":
		return []string{"spec", "jobTemplate", "spec", "template", "spec"}
	}
	return nil
}

// plural formats a number of objects of a kind: 2 NetworkPolicies.
func plural(n int, kind string) string {
	switch {
	case n == 1, strings.EqualFold(kind, "endpoints"):
	case strings.HasSuffix(kind, "y"):
		kind = strings.TrimSuffix(kind, "y") + "ies"
	case strings.HasSuffix(kind, "s"):
		kind += "es"
	default:
		kind += "s"
	}
	return itoa(n) + " " + kind
}
