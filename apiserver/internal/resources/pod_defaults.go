package resources

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// defaultPod sets the defaults of a pod, which has more than a pod template:
// defaultPodSpec sets the defaults that both have.
func defaultPod(pod *corev1.Pod) {
	spec := &pod.Spec
	defaultPodSpec(spec)
	pointDefault(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	if *spec.TerminationGracePeriodSeconds < 0 {
		*spec.TerminationGracePeriodSeconds = 1
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			requestsFromLimits(&containers[i].Resources)
			if spec.HostNetwork {
				hostPortsFromPorts(containers[i].Ports)
			}
		}
	}
	syncPodIPs(&pod.Status)
}

// defaultPodSpec sets the defaults of a pod's or a template's spec.
func defaultPodSpec(spec *corev1.PodSpec) {
	setDefault(&spec.DNSPolicy, corev1.DNSClusterFirst)
	setDefault(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	pointDefault(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	setDefault(&spec.SchedulerName, corev1.DefaultSchedulerName)
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	// The two names are one field; the newer one takes precedence.
	setDefault(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i])
	}
	for i := range spec.InitContainers {
		defaultContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		defaultContainer(&spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		common := corev1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon)
		defaultContainer(&common)
		spec.EphemeralContainers[i].EphemeralContainerCommon = corev1.EphemeralContainerCommon(common)
	}
	roundUp(spec.Overhead)
	if spec.Resources != nil {
		roundUp(spec.Resources.Limits)
		roundUp(spec.Resources.Requests)
	}
}

func defaultContainer(c *corev1.Container) {
	setDefault(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setDefault(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	setDefault(&c.ImagePullPolicy, pullPolicy(c.Image))
	for i := range c.Ports {
		setDefault(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		defaultEnvSource(c.Env[i].ValueFrom)
	}
	roundUp(c.Resources.Limits)
	roundUp(c.Resources.Requests)
	defaultProbe(c.LivenessProbe)
	defaultProbe(c.ReadinessProbe)
	defaultProbe(c.StartupProbe)
	if c.Lifecycle != nil {
		defaultLifecycleHandler(c.Lifecycle.PostStart)
		defaultLifecycleHandler(c.Lifecycle.PreStop)
	}
}

func defaultEnvSource(source *corev1.EnvVarSource) {
	if source == nil {
		return
	}
	if source.FieldRef != nil {
		setDefault(&source.FieldRef.APIVersion, "v1")
	}
	if source.FileKeyRef != nil {
		pointDefault(&source.FileKeyRef.Optional, false)
	}
}

func defaultProbe(p *corev1.Probe) {
	if p == nil {
		return
	}
	setDefault(&p.TimeoutSeconds, 1)
	setDefault(&p.PeriodSeconds, 10)
	setDefault(&p.SuccessThreshold, 1)
	setDefault(&p.FailureThreshold, 3)
	defaultHTTPGet(p.HTTPGet)
	if p.GRPC != nil {
		pointDefault(&p.GRPC.Service, "")
	}
}

func defaultLifecycleHandler(h *corev1.LifecycleHandler) {
	if h != nil {
		defaultHTTPGet(h.HTTPGet)
	}
}

func defaultHTTPGet(get *corev1.HTTPGetAction) {
	if get == nil {
		return
	}
	setDefault(&get.Path, "/")
	setDefault(&get.Scheme, corev1.URISchemeHTTP)
}

// pullPolicy is Always for an image whose tag may be moved to another image.
func pullPolicy(image string) corev1.PullPolicy {
	if imageTag(image) == "latest" && isImageReference(image) {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// imageTag returns the tag of an image reference: "latest" if it has neither tag nor
// digest, and "" if it has only a digest.
func imageTag(image string) string {
	name, _, digested := strings.Cut(image, "@")
	// A colon before the last slash belongs to the registry's port.
	last := name[strings.LastIndexByte(name, '/')+1:]
	if _, tag, tagged := strings.Cut(last, ":"); tagged {
		return tag
	}
	if digested {
		return ""
	}
	return "latest"
}

// isImageReference reports whether a name is a valid image reference. Other names get
// the policy IfNotPresent.
func isImageReference(image string) bool {
	name, _, _ := strings.Cut(image, "@")
	const longest = 255
	last := name[strings.LastIndexByte(name, '/')+1:]
	repository, _, _ := strings.Cut(last, ":")
	return name != "" && len(name) <= longest && repository != "" && !strings.ContainsFunc(repository, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}) && repository[0] != '-' && repository[0] != '.' && repository[0] != '_'
}

// hostPortsFromPorts sets the host ports of the containers of a pod in the host's
// network to their own ports.
func hostPortsFromPorts(ports []corev1.ContainerPort) {
	for i := range ports {
		setDefault(&ports[i].HostPort, ports[i].ContainerPort)
	}
}

// syncPodIPs keeps the older single field and the newer list of a pod's IPs equal.
func syncPodIPs(status *corev1.PodStatus) {
	switch {
	case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	case status.PodIP == "" && len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	}
}
