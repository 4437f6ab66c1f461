package dump

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// standIns returns objects that the objects to load need and that are missing: namespaces,
// service accounts, and classes and volumes, without which the API server refuses pods or they
// do not start; and ConfigMaps and Secrets, without which they do not start either. ConfigMaps
// or Secrets are only added if dumped, the whole dump, has none at all: then the dump was taken
// without that kind. What a pod of the dump misses by its status is not added.
func standIns(objects, dumped []*unstructured.Unstructured, nodes map[string]bool) ([]*unstructured.Unstructured, []Missing) {
	s := &missing{there: map[string]bool{}, kinds: map[string]bool{}, made: map[string]*unstructured.Unstructured{}}
	for _, o := range dumped {
		s.kinds[o.GetKind()] = true
		s.lacks(o)
	}
	for _, o := range objects {
		s.there[keyOf(o.GetKind(), o.GetNamespace(), o.GetName())] = true
	}
	inputs := inputsOf(s, objects, dumped, nodes)
	for _, o := range objects {
		if namespace := o.GetNamespace(); namespace != "" {
			s.need("v1", "Namespace", "", namespace)
		}
		if path := podSpec(o); path != nil {
			s.podSpec(o, path)
		}
		if o.GetKind() == "PodGroup" {
			s.podGroup(o)
		}
	}
	return slices.SortedFunc(maps.Values(s.made), func(a, b *unstructured.Unstructured) int {
		return cmp.Or(strings.Compare(a.GetKind(), b.GetKind()), strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	}), inputs
}

// missing collects stand-ins.
type missing struct {
	there, kinds map[string]bool
	// lacking are the ConfigMaps and Secrets that pods of the dump miss, by keyOf.
	lacking map[string]bool
	made    map[string]*unstructured.Unstructured
}

// notFound finds the ConfigMap or Secret in the message of a container that cannot be created.
var notFound = regexp.MustCompile(`^(configmap|secret) "([^"]+)" not found$`)

// lacks records the ConfigMaps and Secrets whose lack the status of a pod reports.
func (s *missing) lacks(pod *unstructured.Unstructured) {
	if !isCore(pod, "Pod") {
		return
	}
	for _, list := range []string{"containerStatuses", "initContainerStatuses"} {
		statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", list)
		for _, status := range statuses {
			fields, _ := status.(map[string]any)
			message, _, _ := unstructured.NestedString(fields, "state", "waiting", "message")
			found := notFound.FindStringSubmatch(message)
			if found == nil {
				continue
			}
			if s.lacking == nil {
				s.lacking = map[string]bool{}
			}
			kind := map[string]string{"configmap": "ConfigMap", "secret": "Secret"}[found[1]]
			s.lacking[keyOf(kind, pod.GetNamespace(), found[2])] = true
		}
	}
}

func keyOf(kind, namespace, name string) string {
	return strings.Join([]string{kind, namespace, name}, "/")
}

// need returns the stand-in for an object, or nil if the object is not missing.
func (s *missing) need(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	key := keyOf(kind, namespace, name)
	if s.there[key] {
		return nil
	}
	o := s.made[key]
	if o == nil {
		o = &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAPIVersion(apiVersion)
		o.SetKind(kind)
		o.SetNamespace(namespace)
		o.SetName(name)
		s.made[key] = o
	}
	return o
}

func (s *missing) podSpec(o *unstructured.Unstructured, path []string) {
	fields, _, _ := unstructured.NestedMap(o.Object, path...)
	var spec corev1.PodSpec
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec) != nil {
		return // the API server will refuse it with the reason
	}
	namespace := o.GetNamespace()
	if o.GetKind() == "Pod" { // a workload needs the default account later, when its pods are created
		s.need("v1", "ServiceAccount", namespace, cmp.Or(spec.ServiceAccountName, "default"))
	} else if spec.ServiceAccountName != "" && spec.ServiceAccountName != "default" {
		s.need("v1", "ServiceAccount", namespace, spec.ServiceAccountName)
	}
	s.classes(&spec)
	s.volumes(namespace, spec.Volumes)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			s.environment(namespace, &containers[i])
		}
	}
}

func (s *missing) podGroup(o *unstructured.Unstructured) {
	fields, _, _ := unstructured.NestedMap(o.Object, "spec")
	var spec schedulingv1beta1.PodGroupSpec
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec) == nil {
		s.priority(spec.PriorityClassName, spec.Priority)
	}
}

func (s *missing) priority(name string, value *int32) {
	if name == "" || strings.HasPrefix(name, "system-") {
		return
	}
	if class := s.need("scheduling.k8s.io/v1", "PriorityClass", "", name); class != nil {
		if _, known := class.Object["value"]; !known || value != nil {
			class.Object["value"] = int64(valueOr(value, 0))
		}
	}
}

func (s *missing) classes(spec *corev1.PodSpec) {
	s.priority(spec.PriorityClassName, spec.Priority)
	if name := valueOr(spec.RuntimeClassName, ""); name != "" {
		if class := s.need("node.k8s.io/v1", "RuntimeClass", "", name); class != nil {
			class.Object["handler"] = "stand-in"
			if len(spec.Overhead) > 0 {
				class.Object["overhead"] = map[string]any{"podFixed": quantities(spec.Overhead)}
			}
		}
	}
}

func quantities(list corev1.ResourceList) map[string]any {
	texts := map[string]any{}
	for name, quantity := range list {
		texts[string(name)] = quantity.String()
	}
	return texts
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func (s *missing) volumes(namespace string, volumes []corev1.Volume) {
	for i := range volumes {
		v := &volumes[i].VolumeSource
		if v.ConfigMap != nil {
			s.values("ConfigMap", namespace, v.ConfigMap.Name, v.ConfigMap.Optional, keysOf(v.ConfigMap.Items)...)
		}
		if v.Secret != nil {
			s.values("Secret", namespace, v.Secret.SecretName, v.Secret.Optional, keysOf(v.Secret.Items)...)
		}
		if v.Projected == nil {
			continue
		}
		for j := range v.Projected.Sources {
			source := &v.Projected.Sources[j]
			if source.ConfigMap != nil {
				s.values("ConfigMap", namespace, source.ConfigMap.Name, source.ConfigMap.Optional, keysOf(source.ConfigMap.Items)...)
			}
			if source.Secret != nil {
				s.values("Secret", namespace, source.Secret.Name, source.Secret.Optional, keysOf(source.Secret.Items)...)
			}
		}
	}
}

func keysOf(items []corev1.KeyToPath) []string {
	keys := make([]string, len(items))
	for i := range items {
		keys[i] = items[i].Key
	}
	return keys
}

func (s *missing) environment(namespace string, c *corev1.Container) {
	for i := range c.EnvFrom {
		if from := c.EnvFrom[i].ConfigMapRef; from != nil {
			s.values("ConfigMap", namespace, from.Name, from.Optional)
		}
		if from := c.EnvFrom[i].SecretRef; from != nil {
			s.values("Secret", namespace, from.Name, from.Optional)
		}
	}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if from == nil {
			continue
		}
		if ref := from.ConfigMapKeyRef; ref != nil {
			s.values("ConfigMap", namespace, ref.Name, ref.Optional, ref.Key)
		}
		if ref := from.SecretKeyRef; ref != nil {
			s.values("Secret", namespace, ref.Name, ref.Optional, ref.Key)
		}
	}
}

// values needs a ConfigMap or a Secret with keys, except for kube-root-ca.crt, which a
// controller creates in every namespace.
func (s *missing) values(kind, namespace, name string, optional *bool, keys ...string) {
	if s.kinds[kind] || valueOr(optional, false) || name == "" || kind == "ConfigMap" && name == "kube-root-ca.crt" || s.lacking[keyOf(kind, namespace, name)] {
		return
	}
	o := s.need("v1", kind, namespace, name)
	if o == nil {
		return
	}
	field := "data"
	if kind == "Secret" {
		field = "stringData"
	}
	values, _ := o.Object[field].(map[string]any)
	if values == nil {
		values = map[string]any{}
		o.Object[field] = values
	}
	for _, key := range keys {
		values[key] = redacted
	}
}

// inEveryCluster reports whether an object exists in every cluster.
func inEveryCluster(o *unstructured.Unstructured) bool {
	switch {
	case isCore(o, "ServiceAccount"):
		return o.GetName() == "default"
	case isCore(o, "Namespace"):
		switch o.GetName() {
		case metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease:
			return true
		}
	}
	return false
}
