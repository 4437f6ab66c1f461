package listeners

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
	"minikcm.dev/minikcm/kubeletsim/internal/script"
)

// Of returns what listens at a port of a pod; nil if nothing does. The pod has the annotations of its images' profiles, and
// running reports whether a container runs.
func Of(pod *corev1.Pod, running func(container string) bool, port int32, protocol corev1.Protocol) *reach.Listener {
	declares, assumed := false, (*reach.Listener)(nil)
	for _, ref := range podspec.Containers(pod) {
		declares = declares || len(ref.Container.Ports) > 0
		if !running(ref.Name) {
			continue
		}
		answers, annotated := responses.HTTPOf(pod, ref.Name, ref.Kind)
		if protocol == corev1.ProtocolTCP && annotated && responses.Listens(answers, port) {
			return &reach.Listener{Container: ref.Name, Why: "minikcm.dev/http has answers for the port"}
		}
		if annotated || !mayListen(pod, ref) {
			continue
		}
		if declared(ref.Container, port, protocol) {
			return &reach.Listener{Container: ref.Name, Why: "it declares the port", Unknown: true}
		}
		if assumed == nil && isUnknown(pod, ref) {
			assumed = &reach.Listener{Container: ref.Name, Why: "assumed: the pod declares no ports, and what its program does is unknown", Assumed: true, Unknown: true}
		}
	}
	if declares {
		return nil
	}
	return assumed
}

// declared reports whether a container declares a port.
func declared(c *corev1.Container, port int32, protocol corev1.Protocol) bool {
	for _, p := range c.Ports {
		if p.ContainerPort == port && cmp.Or(p.Protocol, corev1.ProtocolTCP) == protocol {
			return true
		}
	}
	return false
}

// mayListen reports whether the program of a container may listen: not if all that its command does is known, and for an init
// container only if it is a sidecar.
func mayListen(pod *corev1.Pod, ref podspec.Container) bool {
	if ref.Kind == podspec.InitContainer || lifecycle.Pauses(ref.Container) {
		return false
	}
	if len(ref.Container.Command)+len(ref.Container.Args) == 0 {
		return true
	}
	_, _, predictable := script.ProgramOf(pod, ref.Container).Predict()
	return !predictable
}

// isUnknown reports whether nothing is known of a container's program: it is the image's own, which no profile describes, or not
// one that is simulated.
func isUnknown(pod *corev1.Pod, ref podspec.Container) bool {
	if _, known := pod.Annotations[podspec.AnnotationKnownContent(ref.Name)]; known {
		return false
	}
	if len(ref.Container.Command)+len(ref.Container.Args) == 0 {
		return true
	}
	return !script.RunsLive(script.ProgramOf(pod, ref.Container), ref.Container)
}
