package lifecycle

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/listeners"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
	"minikcm.dev/minikcm/kubeletsim/internal/script"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
)

// ProbedAddress returns the address of the process outside of the cluster that a probe reaches;
// empty if it reaches the simulated container.
func ProbedAddress(pod *corev1.Pod, ref podspec.Container, probe *corev1.Probe) string {
	if _, led := pod.Annotations[hostaddress.Annotation]; !led {
		return ""
	}
	switch {
	case probe.HTTPGet != nil:
		return hostaddress.OfProbe(pod, responses.PortNumber(ref.Container, probe.HTTPGet.Port))
	case probe.TCPSocket != nil:
		return hostaddress.OfProbe(pod, responses.PortNumber(ref.Container, probe.TCPSocket.Port))
	case probe.GRPC != nil:
		return hostaddress.OfProbe(pod, probe.GRPC.Port)
	}
	return ""
}

// needsRun reports whether a probe has to be run, because its result depends on a command's
// effects, on a file, or on a process outside of the cluster.
func (s *stepper) needsRun(ref podspec.Container, probe *corev1.Probe) bool {
	if ProbedAddress(s.Pod, ref, probe) != "" {
		return true
	}
	switch {
	case probe.Exec != nil:
		return podspec.KnownContent(s.Pod, ref.Name) || script.Runnable(ref.Container, probe.Exec.Command)
	case probe.GRPC != nil:
		at, _, refused := listeners.OfProbe(s.Pod, s.runs, ref, intstr.FromInt32(probe.GRPC.Port))
		return at != nil && at.Described != nil && at.Described.Mode == servers.GRPC || !refused && s.programsDecide(ref, at)
	case probe.TCPSocket != nil:
		at, _, refused := listeners.OfProbe(s.Pod, s.runs, ref, probe.TCPSocket.Port)
		return !refused && probe.TCPSocket.Host == "" && s.programsDecide(ref, at)
	case probe.HTTPGet != nil:
		at, port, refused := listeners.OfProbe(s.Pod, s.runs, ref, probe.HTTPGet.Port)
		if at == nil || at.HTTP == nil && at.Described == nil {
			return !refused && probe.HTTPGet.Host == "" && s.programsDecide(ref, at)
		}
		if at.Described != nil && !at.Described.SpeaksHTTP() {
			return true
		}
		if secure := probe.HTTPGet.Scheme == corev1.URISchemeHTTPS; at.Files != nil || secure && at.Described != nil {
			return secure && at.Files != nil
		}
		if at.Described != nil {
			_, constant := at.Described.Constant(servers.ProbeRequest(probe.HTTPGet))
			return !constant
		}
		return responses.HTTPTo(at.HTTP, port, responses.ProbePath(probe.HTTPGet)).Root != ""
	}
	return false
}

// programsDecide reports whether what a port does, of which no annotation says anything, follows from the programs that run in the
// container at it: the container of a probe or hook, unless at is another one's listener. Nothing is known of other programs.
func (s *stepper) programsDecide(ref podspec.Container, at *listeners.Server) bool {
	name := ref.Name
	if at != nil {
		name = at.Container
	}
	if at != nil && (!at.Unknown || at.GRPC != nil) {
		return false
	}
	return slices.ContainsFunc(s.State.Containers, func(c Container) bool { return c.Name == name && c.Phase == Running && (c.Live || c.Quiet) })
}

// runs reports whether a container runs.
func (s *stepper) runs(name string) bool {
	return slices.ContainsFunc(s.State.Containers, func(c Container) bool { return c.Name == name && c.Phase == Running })
}

// failure returns why a probe fails whose result follows from the pod, in the words of
// upstream's prober; empty if it succeeds, as it does unless an annotation declares the answers.
func (s *stepper) failure(ref podspec.Container, probe *corev1.Probe) string {
	address := "127.0.0.1"
	if s.State.Address.IsValid() {
		address = s.State.Address.String()
	}
	switch {
	case probe.GRPC != nil:
		at, _, refused := listeners.OfProbe(s.Pod, s.runs, ref, intstr.FromInt32(probe.GRPC.Port))
		answers := responses.GRPCOf(s.Pod, ref.Name, ref.Kind)
		if at != nil && at.GRPC != nil {
			answers = at.GRPC
		}
		if answers != nil {
			return responses.GRPCFailure(answers, probe, address)
		}
		if refused || at != nil && at.Described != nil { // a described server of gRPC is asked: needsRun
			return responses.GRPCUnreachable(probe, address)
		}
	case probe.TCPSocket != nil:
		if _, port, refused := listeners.OfProbe(s.Pod, s.runs, ref, probe.TCPSocket.Port); refused {
			return Refused(address, port)
		}
	case probe.HTTPGet != nil:
		at, port, refused := listeners.OfProbe(s.Pod, s.runs, ref, probe.HTTPGet.Port)
		path := responses.ProbePath(probe.HTTPGet)
		if refused {
			return fmt.Sprintf("Get %q: %s", ProbeURL(probe.HTTPGet, address, port), Refused(address, port))
		}
		secure := probe.HTTPGet.Scheme == corev1.URISchemeHTTPS
		if at != nil && at.Files != nil && !secure {
			return responses.HTTPFailure(responses.NotTLS)
		}
		if at != nil && at.Files == nil && at.Described != nil && secure {
			return fmt.Sprintf("Get \"%s\": http: server gave HTTP response to HTTPS client", ProbeURL(probe.HTTPGet, address, port))
		}
		if at != nil && at.Described != nil {
			status, _ := at.Described.Constant(servers.ProbeRequest(probe.HTTPGet))
			return responses.HTTPFailure(status)
		}
		if at != nil && at.HTTP != nil {
			return responses.HTTPFailure(responses.HTTPTo(at.HTTP, port, path).Status)
		}
	}
	return ""
}

// Refused returns the error of a connection to a port on which nothing listens.
func Refused(address string, port int32) string {
	return fmt.Sprintf("dial tcp %s: connect: connection refused", net.JoinHostPort(address, strconv.Itoa(int(port))))
}

// unresolved returns the error of a probe whose port has the name of no port of the container; empty if it has one.
func unresolved(ref podspec.Container, probe *corev1.Probe) string {
	var port intstr.IntOrString
	switch {
	case probe.HTTPGet != nil:
		port = probe.HTTPGet.Port
	case probe.TCPSocket != nil:
		port = probe.TCPSocket.Port
	}
	if port.Type == intstr.Int || responses.PortNumber(ref.Container, port) != 0 {
		return ""
	}
	return fmt.Sprintf("port %q not found", port.StrVal)
}

// ProbeURL returns the URL that an HTTP probe asks, for messages.
func ProbeURL(get *corev1.HTTPGetAction, address string, port int32) string {
	return fmt.Sprintf("%s://%s%s", strings.ToLower(cmp.Or(string(get.Scheme), "http")), net.JoinHostPort(address, strconv.Itoa(int(port))), servers.ProbeRequest(get).URI)
}

// hookFails reports whether the HTTP request of a hook is refused, or its port has the name of none. As upstream's kubelet, it does not look at the status of an
// answer.
func (s *stepper) hookFails(ref podspec.Container, hook *corev1.LifecycleHandler) bool {
	if hook == nil || hook.HTTPGet == nil || hook.HTTPGet.Host != "" {
		return false
	}
	_, port, refused := listeners.OfProbe(s.Pod, s.runs, ref, hook.HTTPGet.Port)
	return refused || port == 0
}
