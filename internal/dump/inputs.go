package dump

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// Missing is an object that others of the dump refer to, that is not in the dump, and on which depends
// where pods run. A stand-in may take its place.
type Missing struct {
	// Object is named as in "storageclass/gp3".
	Object string `json:"object"`
	// NeededBy are objects that refer to it, at most three, and More counts the others.
	NeededBy []string `json:"neededBy"`
	More     int      `json:"more,omitempty"`
}

// inputs collects the objects that others refer to and the dump does not contain.
type inputs struct {
	*missing
	// dumped are the UIDs of the dump's objects.
	dumped map[string]bool
	nodes  map[string]bool
	// limited are the namespaces that have a LimitRange.
	limited map[string]bool
	found   map[string]*Missing
	by      string
}

// inputsOf returns the missing inputs of the objects to load. dumped are all objects of the dump, and
// nodes the names of the nodes of the cluster that they are loaded into.
func inputsOf(s *missing, objects, dumped []*unstructured.Unstructured, nodes map[string]bool) []Missing {
	in := &inputs{missing: s, dumped: map[string]bool{}, nodes: nodes, limited: map[string]bool{}, found: map[string]*Missing{}}
	for _, o := range dumped {
		in.dumped[string(o.GetUID())] = true
	}
	for key := range in.there {
		if rest, ok := strings.CutPrefix(key, "LimitRange/"); ok {
			namespace, _, _ := strings.Cut(rest, "/")
			in.limited[namespace] = true
		}
	}
	for _, o := range dumped {
		if leftOut(o) == "" {
			in.placed(o)
		}
	}
	for _, o := range objects {
		in.by = nameOf(o)
		in.object(o)
	}
	return slices.SortedFunc(func(yield func(Missing) bool) {
		for _, m := range in.found {
			if !yield(*m) {
				return
			}
		}
	}, func(a, b Missing) int { return strings.Compare(a.Object, b.Object) })
}

// refers records a reference from the present object. It reports whether the object is missing.
func (in *inputs) refers(kind, namespace, name string) bool {
	if name == "" || in.there[keyOf(kind, namespace, name)] {
		return false
	}
	in.record(strings.ToLower(kind)+"/"+name, namespace)
	return true
}

func (in *inputs) record(object, namespace string) {
	if namespace != "" {
		object += " in " + namespace
	}
	m := in.found[object]
	if m == nil {
		m = &Missing{Object: object}
		in.found[object] = m
	}
	switch {
	case slices.Contains(m.NeededBy, in.by):
	case len(m.NeededBy) < maxNamed:
		m.NeededBy = append(m.NeededBy, in.by)
	default:
		m.More++
	}
}

// placed records the node of a pod, which place may have removed, and the controller of an object, which
// is removed when the object is created.
func (in *inputs) placed(o *unstructured.Unstructured) {
	in.by = nameOf(o)
	if node := bound(o); isCore(o, "Pod") && node != "" && !in.nodes[node] && !ended(o) {
		in.record("node/"+node, "")
	}
	if owner := metav1.GetControllerOf(o); owner != nil && !in.dumped[string(owner.UID)] && (isCore(o, "Pod") && !ended(o) || isKind(o, "apps", "ReplicaSet")) && owner.Kind != "Node" {
		in.record(strings.ToLower(owner.Kind)+"/"+owner.Name, o.GetNamespace())
	}
}

func (in *inputs) object(o *unstructured.Unstructured) {
	namespace := o.GetNamespace()
	switch {
	case isCore(o, "PersistentVolumeClaim"):
		in.claim(o)
	case isCore(o, "PersistentVolume"):
		driver, _, _ := unstructured.NestedString(o.Object, "spec", "csi", "driver")
		in.driver(driver)
	case isKind(o, "apps", "StatefulSet"):
		templates, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
		for _, template := range templates {
			fields, _ := template.(map[string]any)
			class, _, _ := unstructured.NestedString(fields, "spec", "storageClassName")
			in.storageClass(class)
		}
	case isKind(o, "resource.k8s.io", "ResourceClaim"):
		in.deviceClasses(o, "spec", "devices", "requests")
	case isKind(o, "resource.k8s.io", "ResourceClaimTemplate"):
		in.deviceClasses(o, "spec", "spec", "devices", "requests")
	case isKind(o, "scheduling.k8s.io", "PodGroup"):
		class, _, _ := unstructured.NestedString(o.Object, "spec", "priorityClassName")
		in.priorityClass(class)
	case isKind(o, "apps", "ReplicaSet"), isCore(o, "ReplicationController"), isKind(o, "batch", "Job"):
		in.quotas(o)
	}
	if path := podSpec(o); path != nil {
		in.podSpec(namespace, o, path)
	}
}

func (in *inputs) podSpec(namespace string, o *unstructured.Unstructured, path []string) {
	fields, _, _ := unstructured.NestedMap(o.Object, path...)
	var spec corev1.PodSpec
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec) != nil {
		return // the API server will refuse it with the reason
	}
	in.priorityClass(spec.PriorityClassName)
	in.refers("RuntimeClass", "", ptr.Deref(spec.RuntimeClassName, ""))
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if c := v.PersistentVolumeClaim; c != nil && in.refers("PersistentVolumeClaim", namespace, c.ClaimName) {
			in.standInClaim(namespace, c.ClaimName)
		}
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			in.storageClass(ptr.Deref(v.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName, ""))
		}
	}
	for i := range spec.ResourceClaims {
		in.refers("ResourceClaim", namespace, ptr.Deref(spec.ResourceClaims[i].ResourceClaimName, ""))
		in.refers("ResourceClaimTemplate", namespace, ptr.Deref(spec.ResourceClaims[i].ResourceClaimTemplateName, ""))
	}
	if isCore(o, "Pod") && o.GetAnnotations()["kubernetes.io/limit-ranger"] != "" && !in.limited[namespace] {
		in.record("the limitrange that set requests of pods", namespace)
	}
}

// exceeded finds the quota in the message with which the API server refuses a pod.
var exceeded = regexp.MustCompile(`exceeded quota: ([a-z0-9.-]+)`)

// quotas records the quotas that have refused pods of a workload.
func (in *inputs) quotas(o *unstructured.Unstructured) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		message, _ := fields["message"].(string)
		if found := exceeded.FindStringSubmatch(message); found != nil {
			in.refers("ResourceQuota", o.GetNamespace(), found[1])
		}
	}
}

func (in *inputs) priorityClass(name string) {
	if !strings.HasPrefix(name, "system-") {
		in.refers("PriorityClass", "", name)
	}
}

// deviceClasses records the classes of the requests of a claim.
func (in *inputs) deviceClasses(o *unstructured.Unstructured, path ...string) {
	requests, _, _ := unstructured.NestedSlice(o.Object, path...)
	for _, request := range requests {
		fields, _ := request.(map[string]any)
		alternatives, _, _ := unstructured.NestedSlice(fields, "firstAvailable")
		exactly, _, _ := unstructured.NestedMap(fields, "exactly")
		for _, one := range append(alternatives, any(exactly), any(fields)) {
			fields, _ := one.(map[string]any)
			class, _, _ := unstructured.NestedString(fields, "deviceClassName")
			in.refers("DeviceClass", "", class)
		}
	}
}

// storageClass records a class, and adds a stand-in whose volumes every node can use.
func (in *inputs) storageClass(name string) {
	if !in.refers("StorageClass", "", name) {
		return
	}
	if class := in.need("storage.k8s.io/v1", "StorageClass", "", name); class != nil {
		class.Object["provisioner"] = "stand-in.minikcm.dev"
		class.Object["volumeBindingMode"] = "WaitForFirstConsumer"
		class.Object["allowVolumeExpansion"] = true
	}
}

// driver records a CSI driver other than the simulated one, and adds a stand-in whose volumes are attached, as
// most drivers' volumes are.
func (in *inputs) driver(name string) {
	if name == simulatedDriver || !in.refers("CSIDriver", "", name) {
		return
	}
	if driver := in.need("storage.k8s.io/v1", "CSIDriver", "", name); driver != nil {
		driver.Object["spec"] = map[string]any{"attachRequired": true}
	}
}

// claim records the class and the volume of a claim. The volume of a bound claim gets a stand-in.
func (in *inputs) claim(o *unstructured.Unstructured) {
	class, _, _ := unstructured.NestedString(o.Object, "spec", "storageClassName")
	in.storageClass(class)
	volume, _, _ := unstructured.NestedString(o.Object, "spec", "volumeName")
	if !in.refers("PersistentVolume", "", volume) {
		return
	}
	if pv := in.need("v1", "PersistentVolume", "", volume); pv != nil {
		modes, _, _ := unstructured.NestedSlice(o.Object, "spec", "accessModes")
		size, _, _ := unstructured.NestedString(o.Object, "spec", "resources", "requests", "storage")
		ref := map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": o.GetNamespace(), "name": o.GetName()}
		if uid := o.GetUID(); uid != "" {
			ref["uid"] = string(uid)
		}
		pv.Object["spec"] = map[string]any{
			"capacity": map[string]any{"storage": cmp.Or(size, "1Gi")}, "accessModes": modes, "storageClassName": class, "claimRef": ref,
			"persistentVolumeReclaimPolicy": "Retain", "csi": map[string]any{"driver": standInDriver, "volumeHandle": volume},
		}
		if driver := in.need("storage.k8s.io/v1", "CSIDriver", "", standInDriver); driver != nil {
			driver.Object["spec"] = map[string]any{"attachRequired": true}
		}
	}
}

// simulatedDriver is the driver of the volumes that minikcm provisions.
const simulatedDriver = "simulated.minikcm.dev"

// standInDriver is the driver of stand-ins for volumes.
const standInDriver = "stand-in.minikcm.dev"

// standInClaim adds a claim of the default class.
func (in *inputs) standInClaim(namespace, name string) {
	if claim := in.need("v1", "PersistentVolumeClaim", namespace, name); claim != nil {
		claim.Object["spec"] = map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		}
	}
}

// absentKinds returns the kinds on which an answer about capacity depends, and of which the dump has no
// objects, if the dump comes from a cluster and was not taken of all kinds: every cluster has the
// PriorityClasses of its system.
func absentKinds(dumped []*unstructured.Unstructured) []string {
	kinds, taken := map[string]bool{}, false
	for _, o := range dumped {
		kinds[o.GetKind()] = true
		taken = taken || o.GetUID() != ""
		if o.GetKind() == "PriorityClass" && strings.HasPrefix(o.GetName(), "system-") {
			return nil
		}
	}
	if !taken {
		return nil
	}
	absent := slices.Clone(decisiveKinds)
	return slices.DeleteFunc(absent, func(kind string) bool { return kinds[kind] })
}

// decisiveKinds are kinds without a reference from the objects whose fate they decide.
var decisiveKinds = []string{"LimitRange", "PodDisruptionBudget", "ResourceQuota"}
