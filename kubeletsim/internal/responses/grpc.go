package responses

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/podspec"
)

// AnnotationGRPC declares how a container answers gRPC health checks, one answer a line: a
// port, the name of a service or none, and a status (SERVING, NOT_SERVING, UNKNOWN). Without it
// every check succeeds.
const AnnotationGRPC = "minikcm.dev/grpc"

// GRPC is one line of AnnotationGRPC.
type GRPC struct {
	port            int32
	service, status string
}

func ParseGRPC(text string) ([]GRPC, error) {
	var answers []GRPC
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		number, err := strconv.ParseInt(words[0], 10, 32)
		if err != nil || number < 1 || number > maxPort {
			return nil, fmt.Errorf("%q does not begin with a port", strings.TrimSpace(line))
		}
		a := GRPC{port: int32(number), status: words[len(words)-1]}
		if len(words) > 3 || len(words) < 2 || !slices.Contains([]string{"SERVING", "NOT_SERVING", "UNKNOWN"}, a.status) {
			return nil, fmt.Errorf("%q does not end with SERVING, NOT_SERVING or UNKNOWN", strings.TrimSpace(line))
		}
		if len(words) == 3 {
			a.service = words[1]
		}
		answers = append(answers, a)
	}
	if len(answers) == 0 {
		return nil, errors.New("it declares no answer")
	}
	return answers, nil
}

// GRPCOf parses the annotation for a container; nil if there is none or it is invalid.
func GRPCOf(pod *corev1.Pod, container string, kind podspec.Kind) []GRPC {
	if len(pod.Annotations) == 0 {
		return nil
	}
	text, ok := podspec.Annotations{Pod: pod, Container: container, NamedOnly: kind == podspec.InitContainer}.Get(AnnotationGRPC)
	if !ok {
		return nil
	}
	answers, _ := ParseGRPC(text) // an event reports an error
	return answers
}

// Checks reports whether any answer is for the port.
func Checks(answers []GRPC, port int32) bool {
	return slices.ContainsFunc(answers, func(a GRPC) bool { return a.port == port })
}

// GRPCFailure returns why a health check that gets one of the answers fails, in the words of upstream's prober; empty if it
// succeeds.
func GRPCFailure(answers []GRPC, probe *corev1.Probe, address string) string {
	service := ""
	if probe.GRPC.Service != nil {
		service = *probe.GRPC.Service
	}
	for _, a := range answers {
		if a.port != probe.GRPC.Port || a.service != service {
			continue
		}
		if a.status == "SERVING" {
			return ""
		}
		return fmt.Sprintf("service unhealthy (responded with %q)", a.status)
	}
	if Checks(answers, probe.GRPC.Port) {
		return "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"
	}
	return GRPCUnreachable(probe, address)
}

// GRPCUnreachable returns why a health check fails whose port is closed, or does not speak gRPC, in the words of upstream's prober.
func GRPCUnreachable(probe *corev1.Probe, address string) string {
	timeout := time.Duration(max(probe.TimeoutSeconds, 1)) * time.Second
	return fmt.Sprintf("timeout: failed to connect service \"%s:%d\" within %s: context deadline exceeded", address, probe.GRPC.Port, timeout)
}
