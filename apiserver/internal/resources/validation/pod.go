package validation

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func Pod(pod *corev1.Pod) field.ErrorList {
	p := field.NewPath("spec")
	errs := (&podCheck{pod: pod.Name}).spec(p, &pod.Spec)
	for i := range pod.Spec.Containers {
		errs = append(errs, untrimmedImage(p.Child("containers").Index(i), &pod.Spec.Containers[i])...)
	}
	for i := range pod.Spec.InitContainers {
		errs = append(errs, untrimmedImage(p.Child("initContainers").Index(i), &pod.Spec.InitContainers[i])...)
	}
	errs = append(errs, tokensNeedAccount(p.Child("volumes"), &pod.Spec)...)
	if len(pod.Spec.SchedulingGates) > 0 && pod.Spec.NodeName != "" {
		errs = append(errs, field.Forbidden(p.Child("nodeName"), "cannot be set until all schedulingGates have been cleared"))
	}
	// Adding the first one creates the second generation.
	if len(pod.Spec.EphemeralContainers) > 0 && pod.Generation == 1 {
		errs = append(errs, field.Forbidden(p.Child("ephemeralContainers"), "cannot be set on create"))
	}
	return errs
}

// tokensNeedAccount requires a service account for volumes with tokens. It applies to
// pods but not to templates.
func tokensNeedAccount(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	if spec.ServiceAccountName != "" {
		return nil
	}
	var errs field.ErrorList
	for i := range spec.Volumes {
		if spec.Volumes[i].Projected == nil {
			continue
		}
		for j, source := range spec.Volumes[i].Projected.Sources {
			if source.ServiceAccountToken != nil {
				errs = append(errs, field.Forbidden(p.Index(i).Child("projected", "sources").Index(j).Child("serviceAccountToken"), "must not be specified when serviceAccountName is not set"))
			}
		}
	}
	return errs
}

// untrimmedImage applies to pods but not to templates, as upstream.
func untrimmedImage(p *field.Path, c *corev1.Container) field.ErrorList {
	if strings.TrimSpace(c.Image) != c.Image {
		return field.ErrorList{field.Invalid(p.Child("image"), c.Image, "must not have leading or trailing whitespace")}
	}
	return nil
}

// validateTemplate validates the template of a workload whose pods are kept running.
func validateTemplate(p *field.Path, template *corev1.PodTemplateSpec) field.ErrorList {
	errs := metav1validation.ValidateLabels(template.Labels, p.Child("labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(template.Annotations, p.Child("annotations"))...)
	errs = append(errs, (&podCheck{}).spec(p.Child("spec"), &template.Spec)...)
	if len(template.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(p.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"))
	}
	return errs
}

// podCheck is the context for validating parts of a pod.
type podCheck struct {
	// pod is the name of the pod; empty for a template.
	pod         string
	hostNetwork bool
	restart     corev1.RestartPolicy
	// grace is the pod's termination grace period, in seconds.
	grace int64
	// claims are the names of the pod's resource claims.
	claims  []string
	volumes map[string]*corev1.Volume
	// containers has the names of the containers of all three sorts.
	containers nameList
}

func (c *podCheck) spec(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	c.hostNetwork, c.restart, c.grace = spec.HostNetwork, spec.RestartPolicy, deref(spec.TerminationGracePeriodSeconds)
	errs := c.checkVolumes(p.Child("volumes"), spec.Volumes)
	errs = append(errs, c.checkResourceClaims(p.Child("resourceClaims"), spec.ResourceClaims)...)
	errs = append(errs, validateOS(p, spec)...)
	errs = append(errs, validateHostProcess(p, spec)...)
	errs = append(errs, validatePodResources(p.Child("resources"), spec)...)
	errs = append(errs, c.checkContainers(p.Child("containers"), spec.Containers)...)
	errs = append(errs, c.checkInitContainers(p.Child("initContainers"), spec.InitContainers)...)
	errs = append(errs, c.checkEphemeralContainers(p.Child("ephemeralContainers"), spec)...)
	errs = append(errs, requiredOneOf(p.Child("restartPolicy"), spec.RestartPolicy,
		corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)...)
	errs = append(errs, requiredOneOf(p.Child("dnsPolicy"), spec.DNSPolicy,
		corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)...)
	errs = append(errs, validateDNSConfig(p, spec)...)
	errs = append(errs, validatePodNames(p, spec)...)
	if policy := spec.PreemptionPolicy; policy != nil {
		errs = append(errs, requiredOneOf(p.Child("preemptionPolicy"), *policy, corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	if spec.HostPID && deref(spec.ShareProcessNamespace) {
		errs = append(errs, field.Invalid(p.Child("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled"))
	}
	errs = append(errs, validatePodSecurity(p.Child("securityContext"), spec.SecurityContext)...)
	errs = append(errs, validateScheduling(p, spec)...)
	if d := spec.ActiveDeadlineSeconds; d != nil && (*d < 1 || *d > math.MaxInt32) {
		errs = append(errs, field.Invalid(p.Child("activeDeadlineSeconds"), *d, validation.InclusiveRangeError(1, math.MaxInt32)))
	}
	for i, alias := range spec.HostAliases {
		errs = append(errs, validation.IsValidIPForLegacyField(p.Child("hostAliases").Index(i).Child("ip"), alias.IP, true, nil)...)
		for j, name := range alias.Hostnames {
			errs = append(errs, invalidFor(p.Child("hostAliases").Index(i).Child("hostnames").Index(j), name, isDNSSubdomain(name))...)
		}
	}
	return append(errs, validateSchedulingGroup(p.Child("schedulingGroup"), spec.SchedulingGroup)...)
}

func validateSchedulingGroup(p *field.Path, g *corev1.PodSchedulingGroup) field.ErrorList {
	switch p = p.Child("podGroupName"); {
	case g == nil:
		return nil
	case g.PodGroupName == nil:
		return field.ErrorList{field.Invalid(p, g.PodGroupName, "must specify one of: `podGroupName`")}
	}
	return invalidFor(p, *g.PodGroupName, isDNSSubdomain(*g.PodGroupName))
}

// validatePodNames validates the fields that name other objects or the pod itself.
func validatePodNames(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	for _, name := range []struct {
		field, value string
		check        func(string) []string
	}{
		{"serviceAccountName", spec.ServiceAccountName, isDNSSubdomain},
		{"nodeName", spec.NodeName, isDNSSubdomain},
		{"hostname", spec.Hostname, isDNSLabel},
		{"subdomain", spec.Subdomain, isDNSLabel},
		{"priorityClassName", spec.PriorityClassName, isDNSSubdomain},
	} {
		errs = append(errs, optional(p.Child(name.field), name.value, name.check)...)
	}
	if spec.RuntimeClassName != nil {
		errs = append(errs, invalidFor(p.Child("runtimeClassName"), *spec.RuntimeClassName, isDNSSubdomain(*spec.RuntimeClassName))...)
	}
	return append(errs, validateHostnameOverride(p.Child("hostnameOverride"), spec)...)
}

// maxHostname is the length of a hostname in the kernel.
const maxHostname = 64

func validateHostnameOverride(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	name := spec.HostnameOverride
	if name == nil {
		return nil
	}
	var errs field.ErrorList
	if deref(spec.SetHostnameAsFQDN) {
		errs = append(errs, field.Forbidden(p, "may not be specified when setHostnameAsFQDN is true"))
	}
	if spec.HostNetwork {
		errs = append(errs, field.Forbidden(p, "may not be specified when hostNetwork is true"))
	}
	if len(*name) > maxHostname {
		errs = append(errs, field.TooLong(p, "", maxHostname))
	}
	return append(errs, invalidFor(p, *name, isDNSSubdomain(*name))...)
}

const (
	maxNameservers      = 3
	maxSearchPaths      = 32
	maxSearchPathLength = 2048
)

func validateDNSConfig(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	config, p := spec.DNSConfig, p.Child("dnsConfig")
	if spec.DNSPolicy == corev1.DNSNone {
		switch {
		case config == nil:
			return field.ErrorList{field.Required(p, "must provide `dnsConfig` when `dnsPolicy` is None")}
		case len(config.Nameservers) == 0:
			errs = append(errs, field.Required(p.Child("nameservers"), "must provide at least one DNS nameserver when `dnsPolicy` is None"))
		}
	}
	if config == nil {
		return errs
	}
	if n := len(config.Nameservers); n > maxNameservers {
		errs = append(errs, field.TooMany(p.Child("nameservers"), n, maxNameservers))
	}
	for i, ip := range config.Nameservers {
		errs = append(errs, validation.IsValidIPForLegacyField(p.Child("nameservers").Index(i), ip, true, nil)...)
	}
	if n := len(config.Searches); n > maxSearchPaths {
		errs = append(errs, field.TooMany(p.Child("searches"), n, maxSearchPaths))
	}
	if len(strings.Join(config.Searches, " ")) > maxSearchPathLength {
		errs = append(errs, field.Invalid(p.Child("searches"), config.Searches, "must not have more than 2048 characters (including spaces) in the search list"))
	}
	for i, search := range config.Searches {
		if search != "." {
			name := strings.TrimSuffix(search, ".")
			errs = append(errs, invalidFor(p.Child("searches").Index(i), name, validation.IsDNS1123SubdomainWithUnderscore(name))...)
		}
	}
	for i := range config.Options {
		if config.Options[i].Name == "" {
			errs = append(errs, field.Required(p.Child("options").Index(i), "must not be empty"))
		}
	}
	return errs
}

func validatePodSecurity(p *field.Path, sc *corev1.PodSecurityContext) field.ErrorList {
	if sc == nil {
		return nil
	}
	var errs field.ErrorList
	errs = append(errs, validateID(p.Child("runAsUser"), sc.RunAsUser, validation.IsValidUserID)...)
	errs = append(errs, validateID(p.Child("runAsGroup"), sc.RunAsGroup, validation.IsValidGroupID)...)
	errs = append(errs, validateID(p.Child("fsGroup"), sc.FSGroup, validation.IsValidGroupID)...)
	for i := range sc.SupplementalGroups {
		errs = append(errs, validateID(p.Child("supplementalGroups").Index(i), &sc.SupplementalGroups[i], validation.IsValidGroupID)...)
	}
	if policy := sc.FSGroupChangePolicy; policy != nil {
		errs = append(errs, oneOf(p.Child("fsGroupChangePolicy"), *policy, corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)...)
	}
	if policy := sc.SupplementalGroupsPolicy; policy != nil {
		errs = append(errs, oneOf(p.Child("supplementalGroupsPolicy"), *policy, corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)...)
	}
	if policy := sc.SELinuxChangePolicy; policy != nil {
		errs = append(errs, oneOf(p.Child("seLinuxChangePolicy"), *policy, corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive)...)
	}
	errs = append(errs, validateSysctls(p.Child("sysctls"), sc.Sysctls)...)
	errs = append(errs, validateSeccomp(p.Child("seccompProfile"), sc.SeccompProfile)...)
	errs = append(errs, validateAppArmor(p.Child("appArmorProfile"), sc.AppArmorProfile)...)
	return append(errs, validateWindowsOptions(p.Child("windowsOptions"), sc.WindowsOptions)...)
}

func validateID(p *field.Path, id *int64, check func(int64) []string) field.ErrorList {
	if id == nil {
		return nil
	}
	return invalidFor(p, *id, check(*id))
}

func validateSeccomp(p *field.Path, profile *corev1.SeccompProfile) field.ErrorList {
	if profile == nil {
		return nil
	}
	local := profile.LocalhostProfile
	switch profile.Type {
	case corev1.SeccompProfileTypeLocalhost:
		if local == nil {
			return field.ErrorList{field.Required(p.Child("localhostProfile"), "must be set when seccomp type is Localhost")}
		}
		return validateLocalPath(p.Child("localhostProfile"), *local)
	}
	var errs field.ErrorList
	if local != nil {
		errs = append(errs, field.Invalid(p.Child("localhostProfile"), profile, "can only be set when seccomp type is Localhost"))
	}
	if profile.Type == "" {
		return append(errs, field.Required(p.Child("type"), "type is required when seccompProfile is set"))
	}
	return append(errs, oneOf(p.Child("type"), profile.Type,
		corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)...)
}

func PodTemplate(t *corev1.PodTemplate) field.ErrorList {
	return validateTemplate(field.NewPath("template"), &t.Template)
}
