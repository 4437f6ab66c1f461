package scheduling

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// pod returns a pod without rules.
func (g *generator) pod(name string) *corev1.Pod {
	namespace := pick(g, "default", "default", "default", "blue", "green")
	p := &corev1.Pod{ObjectMeta: g.meta(namespace, fmt.Sprintf("%s-%03d", name, g.made+1))}
	p.Labels = g.someLabels()
	p.Generation = 1
	p.Spec.SchedulerName, p.Spec.RestartPolicy = corev1.DefaultSchedulerName, corev1.RestartPolicyAlways
	p.Spec.Priority = ptr.To(pick(g, int32(0), 0, 0, 10, 1000))
	p.Status.Phase = corev1.PodPending
	if owners := g.owners[namespace]; len(owners) > 0 && g.chance(35) {
		o := pick(g, owners...)
		p.OwnerReferences = []metav1.OwnerReference{o.ref}
		for key, value := range o.labels {
			p.Labels[key] = value
		}
	}
	for i := range pick(g, 1, 1, 1, 2) {
		p.Spec.Containers = append(p.Spec.Containers, g.container(fmt.Sprintf("c%d", i)))
	}
	if g.chance(15) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, g.container("init"))
	}
	if g.chance(10) {
		c := g.container("sidecar")
		c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	if g.chance(8) {
		p.Spec.Overhead = quantities("cpu", "50m", "memory", "64Mi")
	}
	if len(p.Spec.Containers) == 1 && g.chance(15) { // the API server compares the sums
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: quantities("cpu", "3", "memory", "3Gi")}
		if g.chance(30) {
			delete(p.Spec.Resources.Requests, pick(g, corev1.ResourceCPU, corev1.ResourceMemory))
		}
	}
	return p
}

func (g *generator) container(name string) corev1.Container {
	c := corev1.Container{Name: name, Image: pick(g, g.images...) + pick(g, "", ":latest", ":v1", ":v2"), Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}
	requests := c.Resources.Requests
	if g.chance(75) {
		requests[corev1.ResourceCPU] = resource.MustParse(pick(g, "0", "10m", "100m", "250m", "500m", "1", "1500m", "3"))
	}
	if g.chance(75) {
		requests[corev1.ResourceMemory] = resource.MustParse(pick(g, "0", "64Mi", "200M", "512Mi", "1Gi", "3Gi"))
	}
	if g.chance(10) {
		requests[corev1.ResourceEphemeralStorage] = resource.MustParse(pick(g, "1Gi", "20Gi"))
	}
	if g.chance(6) {
		requests[gpu] = resource.MustParse(pick(g, "1", "2"))
	}
	if g.chance(3) {
		requests[hugePages] = resource.MustParse("64Mi")
	}
	if g.chance(10) {
		c.Ports = append(c.Ports, corev1.ContainerPort{
			ContainerPort: 80, HostPort: pick(g, int32(8080), 8080, 9090), HostIP: pick(g, "", "", "127.0.0.1", "10.0.0.1"), Protocol: pick(g, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		})
	}
	if g.chance(10) {
		c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: 90, Protocol: corev1.ProtocolTCP})
	}
	return c
}

func (g *generator) boundPod(n *corev1.Node) *corev1.Pod {
	p := g.pod("bound")
	p.Spec.NodeName = n.Name
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, ptr.To(metav1.Unix(1_700_000_000+int64(g.IntN(4)), 0))
	if !g.plain && g.chance(25) {
		g.addPodAffinity(p)
	}
	if g.volumes && g.chance(30) {
		g.addVolumes(p)
	}
	if g.chance(10) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(p.CreationTimestamp), ptr.To(int64(30))
		p.Finalizers = []string{"example.com/hold"}
		if !g.plain || g.configured {
			// In the search for victims, upstream's PodTopologySpread counts terminating pods, as nowhere else.
			p.Spec.Priority = ptr.To(int32(2000))
		}
		if g.chance(60) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
			})
		}
	}
	if g.chance(10) {
		g.addResize(p)
	}
	return p
}

// addResize gives the pod the status of a resize in progress: what its containers have differs from what they
// request.
func (g *generator) addResize(p *corev1.Pod) {
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		has := quantities("cpu", pick(g, "100m", "1", "2"), "memory", pick(g, "128Mi", "2Gi"))
		status := corev1.ContainerStatus{Name: c.Name, AllocatedResources: has, Resources: &corev1.ResourceRequirements{Requests: has}}
		if g.chance(30) {
			status.AllocatedResources = c.Resources.Requests.DeepCopy()
		}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
	}
	if g.chance(60) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: pick(g, corev1.PodReasonInfeasible, corev1.PodReasonDeferred),
		})
	}
}

// nominatedPod is a pod for which preemption frees a node. It is no pod to decide on.
func (g *generator) nominatedPod() *corev1.Pod {
	p := g.pod("nominated")
	p.Status.NominatedNodeName = pick(g, g.nodes...).Name
	p.Spec.Priority = ptr.To(pick(g, int32(10), 1000))
	if g.volumes && g.chance(40) {
		g.addVolumes(p)
	}
	if !g.plain && g.chance(30) {
		g.addPodAffinity(p)
	}
	return p
}

func (g *generator) pendingPod() *corev1.Pod {
	p := g.pod("pending")
	g.addTolerations(p)
	if g.chance(30) {
		p.Spec.Priority = ptr.To(int32(1000))
	}
	if g.chance(10) {
		p.Spec.PreemptionPolicy = ptr.To(pick(g, corev1.PreemptNever, corev1.PreemptLowerPriority))
	}
	if g.chance(10) {
		p.Status.NominatedNodeName = pick(g, g.nodes...).Name
	}
	if g.chance(15) {
		p.Spec.NodeSelector = map[string]string{"disk": pick(g, "ssd", "hdd")}
	}
	if g.chance(30) {
		g.addNodeAffinity(p)
	}
	if !g.plain {
		if g.chance(40) {
			g.addPodAffinity(p)
		}
		if g.chance(40) {
			g.addSpread(p)
		}
	}
	if g.chance(4) {
		addRestartRule(p)
	}
	if g.volumes && g.chance(60) {
		g.addVolumes(p)
	}
	if g.devices && g.chance(60) {
		g.addResourceClaims(p)
	}
	if g.backed && g.chance(60) {
		g.addExtended(p)
	}
	return p
}

// addRestartRule gives a pod what only nodes that declare the feature can do.
func addRestartRule(p *corev1.Pod) {
	c := &p.Spec.Containers[0]
	c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever)
	c.RestartPolicyRules = []corev1.ContainerRestartRule{{
		Action:    corev1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
	}}
}

func (g *generator) addTolerations(p *corev1.Pod) {
	for range g.IntN(3) {
		t := corev1.Toleration{Key: pick(g, "dedicated", "spot", corev1.TaintNodeUnschedulable), Operator: pick(g, corev1.TolerationOpEqual, corev1.TolerationOpExists)}
		if t.Operator == corev1.TolerationOpEqual {
			t.Value = pick(g, "", "a", "b")
		}
		t.Effect = pick(g, corev1.TaintEffect(""), "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule)
		p.Spec.Tolerations = append(p.Spec.Tolerations, t)
	}
	if g.chance(5) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
	}
}

func (g *generator) nodeTerm() corev1.NodeSelectorTerm {
	in := func(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	var term corev1.NodeSelectorTerm
	for range 1 + g.IntN(2) {
		switch g.IntN(7) {
		case 0:
			term.MatchFields = append(term.MatchFields, in(metav1.ObjectNameField, pick(g, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), pick(g, g.nodes...).Name))
		case 1:
			term.MatchExpressions = append(term.MatchExpressions, in("disk", pick(g, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist)))
		case 2:
			term.MatchExpressions = append(term.MatchExpressions, in("size", pick(g, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt), "5"))
		case 3:
			term.MatchExpressions = append(term.MatchExpressions, in(corev1.LabelTopologyZone, corev1.NodeSelectorOpNotIn, pick(g, "a", "b")))
		default:
			term.MatchExpressions = append(term.MatchExpressions, in(pick(g, corev1.LabelTopologyZone, "disk"), corev1.NodeSelectorOpIn, "a", pick(g, "b", "ssd", "hdd")))
		}
	}
	return term
}

func affinityOf(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

func (g *generator) addNodeAffinity(p *corev1.Pod) {
	a := &corev1.NodeAffinity{}
	affinityOf(p).NodeAffinity = a
	if g.chance(60) {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
		for range 1 + g.IntN(2) {
			a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = append(a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, g.nodeTerm())
		}
	}
	for range g.IntN(3) {
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: int32(1 + g.IntN(100)), Preference: g.nodeTerm()})
	}
}

func (g *generator) topologyKey() string {
	return pick(g, corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyZone, "rack")
}

func (g *generator) podTerm(p *corev1.Pod) corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: g.topologyKey(), LabelSelector: g.selector()}
	if g.chance(20) {
		t.Namespaces = []string{pick(g, g.namespaces...)}
	}
	if g.chance(20) {
		t.NamespaceSelector = pick(g, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"team": pick(g, "x", "y")}})
	}
	if g.chance(15) && t.LabelSelector != nil && !selects(t.LabelSelector, "version") {
		if g.chance(50) {
			t.MatchLabelKeys = []string{"version"}
			t.LabelSelector = withKeys(t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn, p)
		} else {
			t.MismatchLabelKeys = []string{"version"}
			t.LabelSelector = withKeys(t.LabelSelector, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn, p)
		}
	}
	return t
}

func (g *generator) addPodAffinity(p *corev1.Pod) {
	a := affinityOf(p)
	weighted := func() []corev1.WeightedPodAffinityTerm {
		var all []corev1.WeightedPodAffinityTerm
		for range g.IntN(3) {
			all = append(all, corev1.WeightedPodAffinityTerm{Weight: int32(1 + g.IntN(100)), PodAffinityTerm: g.podTerm(p)})
		}
		return all
	}
	if g.chance(50) {
		a.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted()}
		for range pick(g, 0, 0, 1, 1, 2) {
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, g.podTerm(p))
		}
	}
	if g.chance(50) {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted()}
		for range pick(g, 0, 0, 1) {
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, g.podTerm(p))
		}
	}
}

func (g *generator) addSpread(p *corev1.Pod) {
	for range 1 + g.IntN(2) {
		c := corev1.TopologySpreadConstraint{
			MaxSkew: int32(1 + g.IntN(3)), TopologyKey: g.topologyKey(), LabelSelector: g.selector(),
			WhenUnsatisfiable: pick(g, corev1.DoNotSchedule, corev1.ScheduleAnyway),
		}
		if c.WhenUnsatisfiable == corev1.DoNotSchedule && g.chance(30) {
			c.MinDomains = ptr.To(int32(1 + g.IntN(4)))
		}
		if g.chance(30) {
			c.NodeAffinityPolicy = ptr.To(pick(g, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
		}
		if g.chance(30) {
			c.NodeTaintsPolicy = ptr.To(pick(g, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
		}
		if g.chance(20) && c.LabelSelector != nil && !selects(c.LabelSelector, "version") {
			c.MatchLabelKeys = []string{"version"}
			c.LabelSelector = withKeys(c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn, p)
		}
		if !slices.ContainsFunc(p.Spec.TopologySpreadConstraints, func(o corev1.TopologySpreadConstraint) bool {
			return o.TopologyKey == c.TopologyKey && o.WhenUnsatisfiable == c.WhenUnsatisfiable
		}) {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
		}
	}
}
