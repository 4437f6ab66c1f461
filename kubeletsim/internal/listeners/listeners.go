package listeners

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
	"minikcm.dev/minikcm/kubeletsim/internal/script"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
)

// Server is what listens at a port of a pod.
type Server struct {
	reach.Listener
	// HTTP and GRPC are the answers of the container that it declares for any of its ports; nil if it declares none for this one.
	HTTP []responses.HTTP
	GRPC []responses.GRPC
	// Files are the files with which it serves TLS; nil: it does not.
	Files *responses.Files
	// Described is the listener of minikcm.dev/server; nil if there is none.
	Described *servers.Listener
}

// Of returns what listens at a port of a pod; nil if nothing does. The pod has the annotations of its images' profiles, and
// running reports whether a container runs.
func Of(pod *corev1.Pod, running func(container string) bool, port int32, protocol corev1.Protocol) *Server {
	if s := ofProcess(pod, running, port, protocol); s != nil {
		return s
	}
	return simulated(pod, running, port, protocol)
}

// ofProcess returns the process of the machine that stands for a port of a pod; nil if none does.
func ofProcess(pod *corev1.Pod, running func(container string) bool, port int32, protocol corev1.Protocol) *Server {
	address := hostaddress.OfPort(pod, port)
	if address == "" || protocol != corev1.ProtocolTCP {
		return nil
	}
	var s *Server
	for _, ref := range podspec.Containers(pod) {
		if running(ref.Name) && (s == nil || declared(ref.Container, port, protocol)) {
			s = &Server{Listener: reach.Listener{Container: ref.Name, Why: "the process at " + address + " of the machine stands for the port", Process: address}}
		}
	}
	return s
}

// simulated is Of without the processes of the machine.
func simulated(pod *corev1.Pod, running func(container string) bool, port int32, protocol corev1.Protocol) *Server {
	declares, assumed := false, (*Server)(nil)
	for _, ref := range podspec.Containers(pod) {
		declares = declares || len(ref.Container.Ports) > 0
		if !running(ref.Name) {
			continue
		}
		answers, annotated := responses.HTTPOf(pod, ref.Name, ref.Kind)
		described, complete := servers.Of(pod, ref.Name, ref.Kind), servers.Incomplete
		if protocol == corev1.ProtocolTCP && responses.Listens(answers, port) {
			s := &Server{Listener: reach.Listener{Container: ref.Name, Why: declaredBy(pod, ref.Container, responses.AnnotationHTTP) + " has answers for the port"}, HTTP: answers, Files: responses.TLSOf(answers, port)}
			if s.Files != nil {
				s.TLS, s.Why = true, s.Why+", over TLS"
			}
			return s
		}
		if checks := responses.GRPCOf(pod, ref.Name, ref.Kind); protocol == corev1.ProtocolTCP && responses.Checks(checks, port) {
			return &Server{Listener: reach.Listener{Container: ref.Name, Why: declaredBy(pod, ref.Container, responses.AnnotationGRPC) + " has answers for the port", Unknown: true}, GRPC: checks}
		}
		if described != nil {
			if l := described.Listener(pod, ref.Container, port, protocol); l != nil {
				return ofDescribed(pod, ref.Container, l)
			}
			complete = described.Complete(pod, ref.Container)
			annotated = annotated || complete == servers.Complete
		}
		switch {
		case annotated && protocol == corev1.ProtocolTCP: // its answers name all its ports
		case declared(ref.Container, port, protocol):
			if mayListen(pod, ref) {
				return &Server{Listener: reach.Listener{Container: ref.Name, Why: "it declares the port", Unknown: true}}
			}
		case assumed == nil && !declares && !annotated && complete == servers.Incomplete && mayListen(pod, ref) && isUnknown(pod, ref):
			assumed = &Server{Listener: reach.Listener{Container: ref.Name, Why: "assumed: the pod declares no ports, and what its program does is unknown", Assumed: true, Unknown: true}}
		}
	}
	if declares {
		return nil
	}
	return assumed
}

// declaredBy names what declares the answers of a container: an annotation of the pod, or a profile of the container's image.
func declaredBy(pod *corev1.Pod, c *corev1.Container, annotation string) string {
	if profile := pod.Annotations[podspec.AnnotationProfile(annotation+"."+c.Name)]; profile != "" {
		return profile + ", for the image " + c.Image + ","
	}
	return annotation
}

func ofDescribed(pod *corev1.Pod, c *corev1.Container, l *servers.Listener) *Server {
	s := &Server{Listener: reach.Listener{Container: c.Name, Why: declaredBy(pod, c, servers.Annotation) + " describes the port"}, Described: l, Files: l.TLS(pod, c)}
	if s.Files != nil {
		s.TLS, s.Why = true, s.Why+", over TLS"
	}
	if l.Mode != servers.HTTP {
		s.Speaks = string(l.Mode)
	}
	return s
}

// OfProbe returns what a probe or a hook of a container reaches, and the number of its port. refused means that nothing listens
// there: the container declares answers, and none for the port. One that declares none, and whose port no other container serves,
// is assumed to have a program that answers.
func OfProbe(pod *corev1.Pod, running func(container string) bool, ref podspec.Container, port intstr.IntOrString) (s *Server, number int32, refused bool) {
	number = responses.PortNumber(ref.Container, port)
	if !declares(pod) { // most pods: spare them the look-up
		return nil, number, false
	}
	if s = simulated(pod, running, number, corev1.ProtocolTCP); s != nil {
		return s, number, false
	}
	if d := servers.Of(pod, ref.Name, ref.Kind); d != nil && d.Complete(pod, ref.Container) != servers.Incomplete {
		return nil, number, true
	}
	_, refused = responses.HTTPOf(pod, ref.Name, ref.Kind)
	return nil, number, refused
}

// declares reports whether any annotation of a pod declares answers.
func declares(pod *corev1.Pod) bool {
	for key := range pod.Annotations {
		if strings.HasPrefix(key, servers.Annotation) || strings.HasPrefix(key, responses.AnnotationHTTP) || strings.HasPrefix(key, responses.AnnotationGRPC) {
			return true
		}
	}
	return false
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
	if ref.Kind == podspec.InitContainer || podspec.Pauses(ref.Container) {
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
