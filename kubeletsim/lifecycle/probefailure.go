package lifecycle

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/kubeletsim/podspec"
	"minikcm.dev/minikcm/kubeletsim/responses"
	"minikcm.dev/minikcm/kubeletsim/script"
)

// asksOutside is whether the answer to a probe depends on more than the pod: on what a
// command finds, or on a file.
func asksOutside(pod *corev1.Pod, ref podspec.Container, probe *corev1.Probe) bool {
	switch {
	case probe.Exec != nil:
		return script.Runnable(ref.Container, probe.Exec.Command)
	case probe.HTTPGet != nil:
		a, _, ok := responses.ProbedHTTP(pod, ref, probe.HTTPGet)
		return ok && a.Root != ""
	}
	return false
}

// failure is why a probe fails whose answer follows from the pod, as upstream's prober
// says it; empty if it succeeds. Probes of what nothing is told of succeed.
func (s *stepper) failure(ref podspec.Container, probe *corev1.Probe) string {
	address := "127.0.0.1"
	if s.State.Address.IsValid() {
		address = s.State.Address.String()
	}
	switch {
	case probe.GRPC != nil:
		return responses.GRPCFailure(s.Pod, ref, probe, address)
	case probe.TCPSocket != nil:
		answers, told := responses.HTTPOf(s.Pod, ref.Name, ref.Kind)
		if port := responses.PortNumber(ref.Container, probe.TCPSocket.Port); told && !responses.Listens(answers, port) {
			return fmt.Sprintf("dial tcp %s:%d: connect: connection refused", address, port)
		}
	case probe.HTTPGet != nil:
		a, port, told := responses.ProbedHTTP(s.Pod, ref, probe.HTTPGet)
		if told && a.Port == 0 {
			return fmt.Sprintf("Get \"http://%s:%d%s\": dial tcp %s:%d: connect: connection refused", address, port, responses.ProbePath(probe.HTTPGet), address, port)
		}
		if told {
			return responses.HTTPFailure(a.Status)
		}
	}
	return ""
}
