package lifecycle

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/responses"
	"minikcm.dev/minikcm/kubeletsim/internal/script"
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
func needsRun(pod *corev1.Pod, ref podspec.Container, probe *corev1.Probe) bool {
	if ProbedAddress(pod, ref, probe) != "" {
		return true
	}
	switch {
	case probe.Exec != nil:
		return podspec.KnownContent(pod, ref.Name) || script.Runnable(ref.Container, probe.Exec.Command)
	case probe.HTTPGet != nil:
		a, _, ok := responses.ProbedHTTP(pod, ref, probe.HTTPGet)
		return ok && a.Root != ""
	}
	return false
}

// failure returns why a probe fails whose result follows from the pod, in the words of
// upstream's prober; empty if it succeeds. Probes without an annotation succeed.
func (s *stepper) failure(ref podspec.Container, probe *corev1.Probe) string {
	address := "127.0.0.1"
	if s.State.Address.IsValid() {
		address = s.State.Address.String()
	}
	switch {
	case probe.GRPC != nil:
		return responses.GRPCFailure(s.Pod, ref, probe, address)
	case probe.TCPSocket != nil:
		answers, declared := responses.HTTPOf(s.Pod, ref.Name, ref.Kind)
		if port := responses.PortNumber(ref.Container, probe.TCPSocket.Port); declared && !responses.Listens(answers, port) {
			return fmt.Sprintf("dial tcp %s:%d: connect: connection refused", address, port)
		}
	case probe.HTTPGet != nil:
		a, port, declared := responses.ProbedHTTP(s.Pod, ref, probe.HTTPGet)
		if declared && a.Port == 0 {
			return fmt.Sprintf("Get \"http://%s:%d%s\": dial tcp %s:%d: connect: connection refused", address, port, responses.ProbePath(probe.HTTPGet), address, port)
		}
		if declared {
			return responses.HTTPFailure(a.Status)
		}
	}
	return ""
}
