package scheduling

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// cluster is a state of the API server, and the pods to decide on. The objects are as the API server
// stores them, with its defaults.
type cluster struct {
	objects []runtime.Object
	pending []*corev1.Pod
	// config is the KubeSchedulerConfiguration; nil: the default.
	config json.RawMessage
}

// generator makes one cluster from a seed.
type generator struct {
	*rand.Rand
	made int // the number of objects
	cluster

	nodes      []*corev1.Node
	namespaces []string
	images     []string
	// owners are the controllers of pods, by namespace.
	owners map[string][]owner
	claims map[string][]string
	// exclusive are the claims that one pod may use; true: no pod on a node does.
	exclusive map[string]bool
	// zones is set if most nodes have labels of zones.
	zones bool
	// volumes, devices and plain are the features of this cluster.
	volumes, devices bool
	// backed is set if a DeviceClass backs the extended resource of GPUs.
	backed bool
	// plain clusters have no rules between pods, so that more nodes are feasible.
	plain bool
	// configured is set if the profile is not the default one.
	configured bool
}

// owner is a controller that pods refer to, with the labels that it selects.
type owner struct {
	ref    metav1.OwnerReference
	labels map[string]string
}

// generate makes the cluster of a seed. It is a pure function. An error is one of the configuration's encoding.
func generate(seed uint64) (c *cluster, err error) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), owners: map[string][]owner{}, claims: map[string][]string{}, exclusive: map[string]bool{}}
	g.zones, g.volumes, g.plain = g.chance(80), g.chance(40), g.chance(25)
	g.devices, g.configured = g.chance(25), g.chance(40)
	g.addNamespaces()
	g.addNodes()
	g.addOwners()
	if g.volumes {
		g.addStorage()
	}
	if g.devices {
		g.addDevices()
	}
	for _, n := range g.nodes {
		for range g.IntN(5) {
			g.add(g.boundPod(n))
		}
	}
	for range g.IntN(3) - 1 {
		g.add(g.nominatedPod())
	}
	g.addBudgets()
	for range 4 + g.IntN(5) {
		g.pending = append(g.pending, g.pendingPod())
	}
	if g.configured {
		g.config, err = g.configuration()
	}
	return &g.cluster, err
}

// chance is true in percent of 100 cases.
func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// pick returns one of the values.
func pick[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

func (g *generator) add(o runtime.Object) { g.objects = append(g.objects, o) }

// meta returns the metadata of a new object.
func (g *generator) meta(namespace, name string) metav1.ObjectMeta {
	g.made++
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", g.made)), ResourceVersion: fmt.Sprint(g.made),
		Labels: map[string]string{}, CreationTimestamp: metav1.Unix(1_700_000_000+int64(g.made), 0),
	}
}

func (g *generator) addNamespaces() {
	for i, name := range []string{"default", "blue", "green"} {
		ns := &corev1.Namespace{ObjectMeta: g.meta("", name), Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
		ns.Labels[corev1.LabelMetadataName] = name
		if i > 0 || g.chance(50) {
			ns.Labels["team"] = pick(g, "x", "y")
		}
		g.namespaces = append(g.namespaces, name)
		g.add(ns)
	}
}

func quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

const (
	gpu       = "example.com/gpu"
	hugePages = "hugepages-2Mi"
)

func (g *generator) addNodes() {
	for i := range 5 {
		g.images = append(g.images, fmt.Sprintf("registry.example/app%d", i))
	}
	count := pick(g, 1, 2, 3, 4, 5, 6, 7, 8, 10, 14)
	for i := range count {
		node := &corev1.Node{ObjectMeta: g.meta("", fmt.Sprintf("node-%02d", i))}
		g.labelNode(node)
		node.Status.Allocatable = quantities("cpu", pick(g, "900m", "2", "4", "8", "16"), "memory", pick(g, "1Gi", "8Gi", "16411112Ki", "16Gi", "64Gi"),
			"pods", pick(g, "3", "10", "110", "110"))
		if g.chance(60) {
			node.Status.Allocatable[corev1.ResourceEphemeralStorage] = resource.MustParse(pick(g, "10Gi", "100Gi"))
		}
		if g.chance(30) {
			node.Status.Allocatable[gpu] = resource.MustParse(pick(g, "0", "1", "2", "4"))
		}
		if g.chance(15) {
			node.Status.Allocatable[hugePages] = resource.MustParse(pick(g, "64Mi", "512Mi"))
		}
		if g.chance(50) {
			node.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits"}
		}
		node.Status.Capacity = node.Status.Allocatable.DeepCopy()
		g.taintNode(node)
		for _, image := range g.images {
			if g.chance(35) {
				node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
					Names:     []string{image + "@sha256:" + fmt.Sprintf("%064x", len(image)), image + ":" + pick(g, "latest", "v1")},
					SizeBytes: int64(1+g.IntN(1500)) << 20,
				})
			}
		}
		g.nodes = append(g.nodes, node)
		g.add(node)
	}
}

func (g *generator) labelNode(n *corev1.Node) {
	n.Labels[corev1.LabelOSStable], n.Labels[corev1.LabelArchStable] = "linux", pick(g, "amd64", "amd64", "arm64")
	if g.chance(95) {
		n.Labels[corev1.LabelHostname] = n.Name
	}
	if g.zones && g.chance(90) {
		n.Labels[corev1.LabelTopologyZone] = pick(g, "a", "b", "c")
		n.Labels[corev1.LabelTopologyRegion] = "r"
	}
	if g.chance(60) {
		n.Labels["disk"] = pick(g, "ssd", "hdd")
	}
	if g.chance(50) {
		n.Labels["size"] = pick(g, "1", "5", "10", "large")
	}
	if g.chance(30) {
		n.Labels["rack"] = pick(g, "1", "2")
	}
}

func (g *generator) taintNode(n *corev1.Node) {
	if g.chance(8) {
		n.Spec.Unschedulable = true
		if g.chance(80) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
		}
	}
	for _, key := range []string{"dedicated", "spot"} {
		if g.chance(15) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
				Key: key, Value: pick(g, "", "a", "b", "7"), Effect: pick(g, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectPreferNoSchedule),
			})
		}
	}
}

// someLabels are labels of pods. Few values let selectors match often.
func (g *generator) someLabels() map[string]string {
	set := map[string]string{}
	if g.chance(90) {
		set["app"] = pick(g, "web", "db", "cache")
	}
	if g.chance(50) {
		set["tier"] = pick(g, "front", "back")
	}
	if g.chance(30) {
		set["version"] = pick(g, "1", "2")
	}
	return set
}

// selector returns a selector that matches some of the labels of someLabels; seldom nil or empty.
func (g *generator) selector() *metav1.LabelSelector {
	switch g.IntN(12) {
	case 0:
		return pick(g, (*metav1.LabelSelector)(nil), &metav1.LabelSelector{})
	case 1, 2:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "db"}}}}
	case 3:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: pick(g, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}}}
	case 4:
		return &metav1.LabelSelector{
			MatchLabels:      map[string]string{"app": pick(g, "web", "cache")},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"back"}}},
		}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(g, "web", "db", "cache")}}
}

// withKeys does what the API server does with matchLabelKeys (KEP-3633, KEP-3243): it adds requirements on the
// pod's values of the labels to the selector.
func withKeys(s *metav1.LabelSelector, keys []string, operator metav1.LabelSelectorOperator, pod *corev1.Pod) *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	s = s.DeepCopy()
	for _, key := range keys {
		if value, ok := pod.Labels[key]; ok {
			s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
		}
	}
	return s
}

// selects reports whether the selector has the label.
func selects(s *metav1.LabelSelector, key string) bool {
	if s == nil {
		return false
	}
	_, ok := s.MatchLabels[key]
	return ok || slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == key })
}
