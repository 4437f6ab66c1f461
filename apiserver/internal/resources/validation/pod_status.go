package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

const notNegativeInteger = "must be a non-negative integer"

// PodStatus validates a status that a kubelet, or a controller, reports: it must
// fit the spec, and a container that has terminated for good must not run again.
func PodStatus(pod, old *corev1.Pod) field.ErrorList {
	p, s, was := field.NewPath("status"), &pod.Status, &old.Status
	errs := validatePodConditions(p.Child("conditions"), s.Conditions)
	if name := s.NominatedNodeName; name != "" && name != was.NominatedNodeName {
		errs = append(errs, invalidFor(p.Child("nominatedNodeName"), name, isDNSSubdomain(name))...)
	}
	if s.ObservedGeneration < 0 {
		errs = append(errs, field.Invalid(p.Child("observedGeneration"), s.ObservedGeneration, notNegativeInteger))
	}
	errs = append(errs, immutable(p.Child("qosClass"), s.QOSClass, was.QOSClass)...)
	errs = append(errs, validateClaimStatuses(p.Child("resourceClaimStatuses"), pod)...)
	errs = append(errs, validateExtendedClaim(p.Child("extendedResourceClaimStatus"), pod)...)
	errs = append(errs, validateStatusIPs(p, s, was)...)
	for _, sort := range []struct {
		name       string
		now, was   []corev1.ContainerStatus
		containers []corev1.Container
	}{
		{"containerStatuses", s.ContainerStatuses, was.ContainerStatuses, old.Spec.Containers},
		{"initContainerStatuses", s.InitContainerStatuses, was.InitContainerStatuses, old.Spec.InitContainers},
		{"ephemeralContainerStatuses", s.EphemeralContainerStatuses, was.EphemeralContainerStatuses, nil},
	} {
		at := p.Child(sort.name)
		errs = append(errs, staysTerminated(at, &old.Spec, sort.containers, sort.now, sort.was)...)
		for i := range sort.now {
			errs = append(errs, validateStatusUser(at.Index(i).Child("user", "linux"), pod.Spec.OS, sort.now[i].User)...)
			errs = append(errs, validateAllocated(at.Index(i).Child("allocatedResourcesStatus"), sort.containers, &sort.now[i], s.ExtendedResourceClaimStatus)...)
		}
	}
	return errs
}

func validatePodConditions(p *field.Path, conditions []corev1.PodCondition) field.ErrorList {
	var errs field.ErrorList
	for i := range conditions {
		if n := conditions[i].ObservedGeneration; n < 0 {
			errs = append(errs, field.Invalid(p.Index(i).Child("observedGeneration"), n, notNegativeInteger))
		}
		switch conditions[i].Type {
		case corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized:
		default:
			name := string(conditions[i].Type)
			errs = append(errs, invalidFor(p.Index(i).Child("Type"), name, isQualifiedName(name))...)
		}
	}
	return errs
}

// staysTerminated rejects that a terminated container runs again, unless its exit code
// leads to a restart.
func staysTerminated(p *field.Path, spec *corev1.PodSpec, containers []corev1.Container, now, was []corev1.ContainerStatus) field.ErrorList {
	if restartsAll(spec.Containers) || restartsAll(spec.InitContainers) {
		return nil
	}
	var errs field.ErrorList
	for i := range was {
		ended := was[i].State.Terminated
		again := slices.ContainsFunc(now, func(s corev1.ContainerStatus) bool { return s.Name == was[i].Name && s.State.Terminated == nil })
		if ended == nil || !again {
			continue
		}
		named := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == was[i].Name })
		if named < 0 || !restarts(spec, &containers[named], ended.ExitCode) {
			errs = append(errs, field.Forbidden(p.Index(i).Child("state"), "may not be transitioned to non-terminated state"))
		}
	}
	return errs
}

// restartsAll reports whether a container's exit can restart the whole pod (KEP-5532).
func restartsAll(containers []corev1.Container) bool {
	return slices.ContainsFunc(containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool {
			return r.Action == corev1.ContainerRestartRuleActionRestartAllContainers
		})
	})
}

// restarts reports whether a container is restarted after an exit code: by its rules, its
// own policy or the pod's.
func restarts(spec *corev1.PodSpec, c *corev1.Container, code int32) bool {
	for _, rule := range c.RestartPolicyRules {
		if rule.ExitCodes == nil || rule.Action != corev1.ContainerRestartRuleActionRestart {
			continue
		}
		if slices.Contains(rule.ExitCodes.Values, code) == (rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
			return true
		}
	}
	policy := corev1.ContainerRestartPolicy(spec.RestartPolicy)
	if c.RestartPolicy != nil {
		policy = *c.RestartPolicy
	}
	return policy == corev1.ContainerRestartPolicyAlways || policy == corev1.ContainerRestartPolicyOnFailure && code != 0
}

func validateStatusUser(p *field.Path, os *corev1.PodOS, user *corev1.ContainerUser) field.ErrorList {
	if user == nil || user.Linux == nil {
		return nil
	}
	if os != nil && os.Name == corev1.Windows {
		return field.ErrorList{field.Forbidden(p, "cannot be set for a windows pod")}
	}
	u := user.Linux
	errs := validateID(p.Child("uid"), &u.UID, validation.IsValidUserID)
	errs = append(errs, validateID(p.Child("gid"), &u.GID, validation.IsValidGroupID)...)
	for i := range u.SupplementalGroups {
		errs = append(errs, validateID(p.Child("supplementalGroups").Index(i), &u.SupplementalGroups[i], validation.IsValidGroupID)...)
	}
	return errs
}

// validateAllocated validates the health of the devices of a container.
func validateAllocated(p *field.Path, containers []corev1.Container, s *corev1.ContainerStatus, extended *corev1.PodExtendedResourceClaimStatus) field.ErrorList {
	var errs field.ErrorList
	named := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == s.Name })
	for i := range s.AllocatedResourcesStatus {
		status, at := &s.AllocatedResourcesStatus[i], p.Index(i)
		if named >= 0 {
			errs = append(errs, asksFor(at.Child("name"), &containers[named], status.Name, extended)...)
		}
		var ids nameList
		for j, r := range status.Resources {
			entry := at.Child("resources").Index(j)
			errs = append(errs, oneOf(entry.Child("health"), r.Health,
				corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusUnhealthy, corev1.ResourceHealthStatusUnknown)...)
			errs = append(errs, ids.add(entry.Child("resourceID"), string(r.ResourceID))...)
			if r.Message == nil {
				continue
			}
			switch n := len(*r.Message); {
			case n == 0:
				errs = append(errs, field.Required(entry.Child("message"), "must be non-empty if specified"))
			case n > corev1.ResourceHealthMessageMaxLength:
				errs = append(errs, field.TooLong(entry.Child("message"), "", corev1.ResourceHealthMessageMaxLength))
			}
		}
	}
	return errs
}

// asksFor requires that a container requests a resource, or a claim: "claim:name" or
// "claim:name/request". It also uses requests of the claim for extended resources.
func asksFor(p *field.Path, c *corev1.Container, name corev1.ResourceName, extended *corev1.PodExtendedResourceClaimStatus) field.ErrorList {
	claim, isClaim := strings.CutPrefix(string(name), "claim:")
	if !isClaim {
		if _, asked := c.Resources.Requests[name]; !asked {
			return field.ErrorList{field.Invalid(p, name, "must match one of the container's resource requests")}
		}
		return nil
	}
	for _, has := range c.Resources.Claims {
		if claim == has.Name && has.Request == "" || claim == has.Name+"/"+has.Request && has.Request != "" {
			return nil
		}
	}
	if extended != nil && slices.ContainsFunc(extended.RequestMappings, func(m corev1.ContainerExtendedResourceRequest) bool {
		asked := c.Resources.Requests[corev1.ResourceName(m.ResourceName)]
		return m.ContainerName == c.Name && claim == extended.ResourceClaimName+"/"+m.RequestName && !asked.IsZero()
	}) {
		return nil
	}
	return field.ErrorList{field.Invalid(p, name, "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty")}
}

func validateClaimStatuses(p *field.Path, pod *corev1.Pod) field.ErrorList {
	var errs field.ErrorList
	var names nameList
	for i := range pod.Status.ResourceClaimStatuses {
		s, at := &pod.Status.ResourceClaimStatuses[i], p.Index(i)
		if !slices.ContainsFunc(pod.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.Name == s.Name }) {
			errs = append(errs, field.Invalid(at.Child("name"), s.Name, "must match the name of an entry in `spec.resourceClaims`"))
		}
		errs = append(errs, names.add(at.Child("name"), s.Name)...)
		if name := s.ResourceClaimName; name != nil {
			errs = append(errs, invalidFor(at.Child("resourceClaimName"), *name, isDNSSubdomain(*name))...)
		}
	}
	return errs
}

// validateExtendedClaim validates the claim for extended resources (KEP-5004).
func validateExtendedClaim(p *field.Path, pod *corev1.Pod) field.ErrorList {
	s := pod.Status.ExtendedResourceClaimStatus
	if s == nil {
		return nil
	}
	const containers = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
	const resources = "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests"
	mappings := p.Child("requestMappings")
	var errs field.ErrorList
	if len(s.RequestMappings) == 0 {
		errs = append(errs, field.Required(mappings, "at least one request mapping is required"))
	}
	for i, m := range s.RequestMappings {
		at := mappings.Index(i)
		c := containerNamed(&pod.Spec, m.ContainerName)
		if c == nil {
			errs = append(errs, field.Invalid(at.Child("containerName"), m.ContainerName, containers))
		} else if _, asked := c.Resources.Requests[corev1.ResourceName(m.ResourceName)]; !asked {
			errs = append(errs, field.Invalid(at.Child("resourceName"), m.ResourceName, resources))
		}
		errs = append(errs, invalidFor(p.Child("requestName"), m.RequestName, isDNSLabel(m.RequestName))...)
		if slices.Contains(s.RequestMappings[:i], m) {
			errs = append(errs, field.Duplicate(at.Child("containerName"), m.ContainerName),
				field.Duplicate(at.Child("resourceName"), m.ResourceName), field.Duplicate(at.Child("requestName"), m.RequestName))
		}
	}
	return append(errs, requiredOr(p.Child("resourceClaimName"), s.ResourceClaimName, isDNSSubdomain)...)
}

func containerNamed(spec *corev1.PodSpec, name string) *corev1.Container {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			if containers[i].Name == name {
				return &containers[i]
			}
		}
	}
	return nil
}

// validateStatusIPs allows a pod and its host one address of each family. Stored
// addresses may be in forms that are no longer allowed.
func validateStatusIPs(p *field.Path, s, was *corev1.PodStatus) field.ErrorList {
	var pod, podBefore, host, hostBefore []string
	for _, ip := range s.PodIPs {
		pod = append(pod, ip.IP)
	}
	for _, ip := range was.PodIPs {
		podBefore = append(podBefore, ip.IP)
	}
	for _, ip := range s.HostIPs {
		host = append(host, ip.IP)
	}
	for _, ip := range was.HostIPs {
		hostBefore = append(hostBefore, ip.IP)
	}
	errs := oneOfEachFamily(p.Child("podIPs"), pod, podBefore)
	if len(host) > 0 && s.HostIP != host[0] {
		errs = append(errs, field.Invalid(p.Child("hostIPs").Index(0).Child("ip"), host[0], "must be equal to `hostIP`"))
	}
	return append(errs, oneOfEachFamily(p.Child("hostIPs"), host, hostBefore)...)
}

func oneOfEachFamily(p *field.Path, ips, stored []string) field.ErrorList {
	var errs field.ErrorList
	for i, ip := range ips {
		errs = append(errs, validation.IsValidIPForLegacyField(p.Index(i), ip, true, stored)...)
	}
	if len(ips) < 2 {
		return errs
	}
	both, err := netutils.IsDualStackIPStrings(ips)
	if err != nil {
		errs = append(errs, field.InternalError(p, err))
	}
	if !both || len(ips) > 2 {
		errs = append(errs, field.Invalid(p, ips, "may specify no more than one IP for each IP family"))
	}
	return errs
}
