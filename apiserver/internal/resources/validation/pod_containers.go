package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (c *podCheck) checkContainers(p *field.Path, containers []corev1.Container) field.ErrorList {
	if len(containers) == 0 {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	for i := range containers {
		ctr, at := &containers[i], p.Index(i)
		errs = append(errs, c.container(at, ctr)...)
		errs = append(errs, c.lifecycle(at.Child("lifecycle"), ctr.Lifecycle)...)
		errs = append(errs, validateProbes(at, ctr)...)
		errs = append(errs, validateRestartRules(at, ctr.RestartPolicy, ctr.RestartPolicyRules)...)
	}
	return append(errs, hostPortConflicts(p, containers)...)
}

// checkInitContainers allows probes and hooks only for restartable init containers
// (sidecars).
func (c *podCheck) checkInitContainers(p *field.Path, containers []corev1.Container) field.ErrorList {
	var errs field.ErrorList
	for i := range containers {
		ctr, at := &containers[i], p.Index(i)
		errs = append(errs, c.container(at, ctr)...)
		errs = append(errs, validateRestartRules(at, ctr.RestartPolicy, ctr.RestartPolicyRules)...)
		if ctr.RestartPolicy != nil && *ctr.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			errs = append(errs, c.lifecycle(at.Child("lifecycle"), ctr.Lifecycle)...)
			errs = append(errs, validateProbes(at, ctr)...)
			continue
		}
		const onlySidecars = "may not be set for init containers without restartPolicy=Always"
		for _, part := range []struct {
			name string
			set  bool
		}{
			{"lifecycle", ctr.Lifecycle != nil},
			{"livenessProbe", ctr.LivenessProbe != nil},
			{"readinessProbe", ctr.ReadinessProbe != nil},
			{"startupProbe", ctr.StartupProbe != nil},
		} {
			if part.set {
				errs = append(errs, field.Forbidden(at.Child(part.name), onlySidecars))
			}
		}
		if len(ctr.ResizePolicy) > 0 {
			errs = append(errs, field.Invalid(at.Child("resizePolicy"), ctr.ResizePolicy, "must not be set for init containers"))
		}
	}
	return append(errs, hostPortConflicts(p, containers)...)
}

// checkEphemeralContainers allows only the fields that can be set for a running pod.
func (c *podCheck) checkEphemeralContainers(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	for i := range spec.EphemeralContainers {
		ephemeral, at := &spec.EphemeralContainers[i], p.Index(i)
		ctr := corev1.Container(ephemeral.EphemeralContainerCommon)
		errs = append(errs, c.container(at, &ctr)...)
		if target := ephemeral.TargetContainerName; target != "" && !namesContainer(spec, target) {
			errs = append(errs, field.NotFound(at.Child("targetContainerName"), target))
		}
		const forbidden = "cannot be set for an Ephemeral Container"
		for _, part := range []struct {
			name string
			set  bool
		}{
			{"ports", len(ctr.Ports) > 0},
			{"livenessProbe", ctr.LivenessProbe != nil},
			{"readinessProbe", ctr.ReadinessProbe != nil},
			{"startupProbe", ctr.StartupProbe != nil},
			{"lifecycle", ctr.Lifecycle != nil},
			{"resources", len(ctr.Resources.Limits)+len(ctr.Resources.Requests) > 0},
		} {
			if part.set {
				errs = append(errs, field.Forbidden(at.Child(part.name), forbidden))
			}
		}
	}
	return errs
}

func namesContainer(spec *corev1.PodSpec, name string) bool {
	is := func(c corev1.Container) bool { return c.Name == name }
	return slices.ContainsFunc(spec.Containers, is) || slices.ContainsFunc(spec.InitContainers, is)
}

// container validates the fields that all sorts of containers share.
func (c *podCheck) container(p *field.Path, ctr *corev1.Container) field.ErrorList {
	errs := requiredOr(p.Child("name"), ctr.Name, isDNSLabel)
	if len(errs) == 0 {
		errs = append(errs, c.containers.add(p.Child("name"), ctr.Name)...)
	}
	if ctr.Image == "" {
		errs = append(errs, field.Required(p.Child("image"), ""))
	}
	errs = append(errs, requiredOneOf(p.Child("imagePullPolicy"), ctr.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	errs = append(errs, requiredOneOf(p.Child("terminationMessagePolicy"), ctr.TerminationMessagePolicy,
		corev1.TerminationMessageFallbackToLogsOnError, corev1.TerminationMessageReadFile)...)
	errs = append(errs, c.ports(p.Child("ports"), ctr.Ports)...)
	errs = append(errs, c.checkEnv(p.Child("env"), ctr.Env)...)
	errs = append(errs, checkEnvFrom(p.Child("envFrom"), ctr.EnvFrom)...)
	errs = append(errs, c.volumeMounts(p.Child("volumeMounts"), ctr)...)
	errs = append(errs, c.volumeDevices(p.Child("volumeDevices"), ctr)...)
	errs = append(errs, validateResizePolicy(p.Child("resizePolicy"), ctr.ResizePolicy, c.restart)...)
	errs = append(errs, validateResources(p.Child("resources"), &ctr.Resources)...)
	errs = append(errs, c.usedClaims(p.Child("resources", "claims"), ctr.Resources.Claims)...)
	return append(errs, validateContainerSecurity(p.Child("securityContext"), ctr.SecurityContext)...)
}

func (c *podCheck) ports(p *field.Path, ports []corev1.ContainerPort) field.ErrorList {
	var errs field.ErrorList
	var names nameList
	for i := range ports {
		port, at := &ports[i], p.Index(i)
		if port.Name != "" {
			if messages := validation.IsValidPortName(port.Name); len(messages) > 0 {
				errs = append(errs, invalidFor(at.Child("name"), port.Name, messages)...)
			} else {
				errs = append(errs, names.add(at.Child("name"), port.Name)...)
			}
		}
		if port.ContainerPort == 0 {
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		} else {
			errs = append(errs, validatePort(at.Child("containerPort"), port.ContainerPort)...)
		}
		if port.HostPort != 0 {
			errs = append(errs, validatePort(at.Child("hostPort"), port.HostPort)...)
			if c.hostNetwork && port.HostPort != port.ContainerPort {
				errs = append(errs, field.Invalid(at.Child("containerPort"), port.ContainerPort, "must match `hostPort` when `hostNetwork` is true"))
			}
		}
		errs = append(errs, validateProtocol(at.Child("protocol"), port.Protocol)...)
	}
	return errs
}

func validateProtocol(p *field.Path, protocol corev1.Protocol) field.ErrorList {
	return requiredOneOf(p, protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
}

// hostPortConflicts returns errors for host ports that two containers use.
func hostPortConflicts(p *field.Path, containers []corev1.Container) field.ErrorList {
	var errs field.ErrorList
	var taken nameList
	for i := range containers {
		for j := range containers[i].Ports {
			port := &containers[i].Ports[j]
			if port.HostPort != 0 {
				errs = append(errs, taken.add(p.Index(i).Child("ports").Index(j).Child("hostPort"),
					fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort))...)
			}
		}
	}
	return errs
}

// validateRestartRules validates a container's own restart policy (KEP-5307, KEP-5532).
func validateRestartRules(p *field.Path, policy *corev1.ContainerRestartPolicy, rules []corev1.ContainerRestartRule) field.ErrorList {
	var errs field.ErrorList
	if policy != nil {
		errs = oneOf(p.Child("restartPolicy"), *policy,
			corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)
	}
	if len(rules) == 0 {
		return errs
	}
	at := p.Child("restartPolicyRules")
	if policy == nil {
		errs = append(errs, field.Required(p.Child("restartPolicy"), "must specify restartPolicy when restart rules are used"))
	}
	const maxRules = 20
	if len(rules) > maxRules {
		errs = append(errs, field.TooMany(at, len(rules), maxRules))
	}
	for i, rule := range rules {
		errs = append(errs, oneOf(at.Index(i).Child("action"), rule.Action, corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)...)
		if codes := rule.ExitCodes; codes == nil {
			errs = append(errs, field.Required(at.Index(i).Child("exitCodes"), "must be specified"))
		} else {
			errs = append(errs, oneOf(at.Index(i).Child("exitCodes", "operator"), codes.Operator,
				corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)...)
			if n := len(codes.Values); n > maxExitCodes {
				errs = append(errs, field.TooMany(at.Index(i).Child("exitCodes", "values"), n, maxExitCodes))
			}
		}
	}
	return errs
}

func validateContainerSecurity(p *field.Path, sc *corev1.SecurityContext) field.ErrorList {
	if sc == nil {
		return nil
	}
	errs := validateID(p.Child("runAsUser"), sc.RunAsUser, validation.IsValidUserID)
	errs = append(errs, validateID(p.Child("runAsGroup"), sc.RunAsGroup, validation.IsValidGroupID)...)
	if sc.ProcMount != nil {
		errs = append(errs, oneOf(p.Child("procMount"), *sc.ProcMount, corev1.DefaultProcMount, corev1.UnmaskedProcMount)...)
	}
	errs = append(errs, validateSeccomp(p.Child("seccompProfile"), sc.SeccompProfile)...)
	errs = append(errs, validateAppArmor(p.Child("appArmorProfile"), sc.AppArmorProfile)...)
	errs = append(errs, validateWindowsOptions(p.Child("windowsOptions"), sc.WindowsOptions)...)
	if sc.AllowPrivilegeEscalation == nil || *sc.AllowPrivilegeEscalation {
		return errs
	}
	if sc.Privileged != nil && *sc.Privileged {
		errs = append(errs, field.Invalid(p, sc, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
	}
	if sc.Capabilities != nil && slices.Contains(sc.Capabilities.Add, "CAP_SYS_ADMIN") {
		errs = append(errs, field.Invalid(p, sc, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"))
	}
	return errs
}
