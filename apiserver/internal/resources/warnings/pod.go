package warnings

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Pod returns the warnings about a new pod; updates get none.
func Pod(pod, old *corev1.Pod) []string {
	if old != nil {
		return nil
	}
	var all []string
	visitContainers(nil, &pod.Spec, func(c *corev1.Container, _ *field.Path) {
		all = append(all, warnAppArmor(field.NewPath("metadata", "annotations"), &pod.ObjectMeta, c)...)
	})
	all = append(all, warnHostname(pod, "this is used in the Pod's hostname")...)
	return append(all, warnPodSpec(nil, &pod.ObjectMeta, &pod.Spec)...)
}

// warnTemplate returns the warnings about a pod template.
func warnTemplate(p *field.Path, template *corev1.PodTemplateSpec) []string {
	return warnPodSpec(p, &template.ObjectMeta, &template.Spec)
}

// deprecatedPodAnnotations are annotations without effect, with their warning.
var deprecatedPodAnnotations = []struct{ key, text string }{
	{"scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`},
	{"security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	{"security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
}

// warnPodSpec returns the warnings about a pod's spec, in upstream's order. p is nil for a pod
// itself.
func warnPodSpec(p *field.Path, m *metav1.ObjectMeta, spec *corev1.PodSpec) []string {
	at, annotations := p.Child("spec"), p.Child("metadata", "annotations")
	all := warnNodeLabels(spec.NodeSelector, func(key string) *field.Path { return at.Child("nodeSelector").Key(key) })
	all = append(all, warnNodeAffinity(at.Child("affinity", "nodeAffinity"), spec.Affinity)...)
	all = append(all, warnSpread(at.Child("topologySpreadConstraints"), spec.TopologySpreadConstraints)...)
	for _, deprecated := range deprecatedPodAnnotations {
		if _, exists := m.Annotations[deprecated.key]; exists {
			all = append(all, fmt.Sprintf("%s: %s", annotations.Key(deprecated.key), deprecated.text))
		}
	}
	all = append(all, warnVolumes(at.Child("volumes"), spec.Volumes)...)
	all = append(all, warnRepeated(at, spec)...)
	all = append(all, warnFraction(at.Child("overhead"), spec.Overhead, corev1.ResourceMemory, corev1.ResourceEphemeralStorage)...)
	if _, exists := m.Annotations[corev1.SeccompPodAnnotationKey]; exists && (spec.SecurityContext == nil || spec.SecurityContext.SeccompProfile == nil) {
		all = append(all, fmt.Sprintf(`%s: non-functional in v1.27+; use the "seccompProfile" field instead`, annotations.Key(corev1.SeccompPodAnnotationKey)))
	}
	visitContainers(at, spec, func(c *corev1.Container, path *field.Path) {
		all = append(all, warnContainer(path, annotations, m, c, p != nil)...)
	})
	all = append(all, warnPorts(at, spec)...)
	if seconds := spec.TerminationGracePeriodSeconds; seconds != nil && *seconds < 0 {
		all = append(all, fmt.Sprintf("%s: must be >= 0; negative values are invalid and will be treated as 1", at.Child("terminationGracePeriodSeconds")))
	}
	all = append(all, warnPodAffinity(at.Child("affinity"), spec.Affinity)...)
	if spec.DNSConfig != nil {
		for i, address := range spec.DNSConfig.Nameservers {
			all = append(all, validation.GetWarningsForIP(at.Child("dnsConfig", "nameservers").Index(i), address)...)
		}
	}
	for i := range spec.HostAliases {
		all = append(all, validation.GetWarningsForIP(at.Child("hostAliases").Index(i).Child("ip"), spec.HostAliases[i].IP)...)
	}
	return all
}

// visitContainers calls f with every container in upstream's order: init containers first,
// ephemeral ones last.
func visitContainers(p *field.Path, spec *corev1.PodSpec, f func(c *corev1.Container, p *field.Path)) {
	for i := range spec.InitContainers {
		f(&spec.InitContainers[i], p.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		f(&spec.Containers[i], p.Child("containers").Index(i))
	}
	for i := range spec.EphemeralContainers {
		c := corev1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon)
		f(&c, p.Child("ephemeralContainers").Index(i))
	}
}

func warnNodeAffinity(p *field.Path, affinity *corev1.Affinity) []string {
	if affinity == nil || affinity.NodeAffinity == nil {
		return nil
	}
	var all []string
	if required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		for i := range required.NodeSelectorTerms {
			at := p.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Index(i)
			all = append(all, warnNodeTerm(at, &required.NodeSelectorTerms[i], false)...)
		}
	}
	for i := range affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		at := p.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("preference")
		all = append(all, warnNodeTerm(at, &affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference, true)...)
	}
	return all
}

func warnSpread(p *field.Path, constraints []corev1.TopologySpreadConstraint) []string {
	var all []string
	for i := range constraints {
		c := &constraints[i]
		all = append(all, warnNodeLabel(p.Index(i).Child("topologyKey"), c.TopologyKey)...)
		all = append(all, warnNoSelector(p.Index(i).Child("labelSelector"), c.LabelSelector)...)
	}
	return all
}

func warnNoSelector(p *field.Path, selector *metav1.LabelSelector) []string {
	if selector != nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: a null labelSelector results in matching no pod", p)}
}

func warnPodAffinity(p *field.Path, affinity *corev1.Affinity) []string {
	if affinity == nil {
		return nil
	}
	var all []string
	warnTerms := func(at *field.Path, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			term := at.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i)
			all = append(all, warnNoSelector(term.Child("labelSelector"), required[i].LabelSelector)...)
		}
		for i := range preferred {
			term := at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm")
			all = append(all, warnNoSelector(term.Child("labelSelector"), preferred[i].PodAffinityTerm.LabelSelector)...)
		}
	}
	if a := affinity.PodAffinity; a != nil {
		warnTerms(p.Child("podAffinity"), a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := affinity.PodAntiAffinity; a != nil {
		warnTerms(p.Child("podAntiAffinity"), a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return all
}

// warnRepeated warns of duplicate entries of lists.
func warnRepeated(p *field.Path, spec *corev1.PodSpec) []string {
	var all []string
	addresses, names := map[string]bool{}, map[string]bool{}
	for i, alias := range spec.HostAliases {
		if addresses[alias.IP] {
			all = append(all, fmt.Sprintf("%s: duplicate ip %q", p.Child("hostAliases").Index(i).Child("ip"), alias.IP))
		}
		addresses[alias.IP] = true
	}
	for i, secret := range spec.ImagePullSecrets {
		if names[secret.Name] {
			all = append(all, fmt.Sprintf("%s: duplicate name %q", p.Child("imagePullSecrets").Index(i).Child("name"), secret.Name))
		}
		names[secret.Name] = true
	}
	for i, secret := range spec.ImagePullSecrets {
		if secret.Name == "" {
			all = append(all, fmt.Sprintf("%s: invalid empty name %q", p.Child("imagePullSecrets").Index(i).Child("name"), secret.Name))
		}
	}
	return all
}

func warnContainer(p, annotations *field.Path, m *metav1.ObjectMeta, c *corev1.Container, isTemplate bool) []string {
	var all []string
	if c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil {
		key := corev1.SeccompContainerAnnotationKeyPrefix + c.Name
		if _, exists := m.Annotations[key]; exists {
			all = append(all, fmt.Sprintf(`%s: non-functional in v1.27+; use the "seccompProfile" field instead`, annotations.Key(key)))
		}
	}
	if isTemplate {
		all = append(all, warnAppArmor(annotations, m, c)...)
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		all = append(all, warnFraction(p.Child("resources", "limits"), c.Resources.Limits, name)...)
		all = append(all, warnFraction(p.Child("resources", "requests"), c.Resources.Requests, name)...)
	}
	known := map[string]bool{}
	for i := range c.Env {
		env := &c.Env[i]
		// A second definition that refers to the first one, as X="$(X)1", is intended.
		reference := "$(" + env.Name + ")"
		if known[env.Name] && (env.ValueFrom != nil || env.Value == reference || !strings.Contains(env.Value, reference)) {
			all = append(all, fmt.Sprintf("%s: hides previous definition of %q, which may be dropped when using apply", p.Child("env").Index(i), env.Name))
		}
		known[env.Name] = true
	}
	return all
}

// warnAppArmor warns of a profile that is only set by an annotation.
func warnAppArmor(annotations *field.Path, m *metav1.ObjectMeta, c *corev1.Container) []string {
	key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + c.Name // the deprecated annotation
	if _, exists := m.Annotations[key]; !exists || c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
		return nil
	}
	return []string{fmt.Sprintf(`%s: deprecated since v1.30; use the "appArmorProfile" field instead`, annotations.Key(key))}
}
