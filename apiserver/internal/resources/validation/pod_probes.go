package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateProbes(p *field.Path, c *corev1.Container) field.ErrorList {
	var errs field.ErrorList
	for _, probe := range []struct {
		name  string
		probe *corev1.Probe
	}{
		{"livenessProbe", c.LivenessProbe}, {"readinessProbe", c.ReadinessProbe}, {"startupProbe", c.StartupProbe},
	} {
		if probe.probe == nil {
			continue
		}
		at := p.Child(probe.name)
		errs = append(errs, validateProbe(at, probe.probe)...)
		if probe.name == "readinessProbe" {
			if s := probe.probe.TerminationGracePeriodSeconds; s != nil {
				errs = append(errs, field.Invalid(at.Child("terminationGracePeriodSeconds"), *s, "must not be set for readinessProbes"))
			}
			continue
		}
		if n := probe.probe.SuccessThreshold; n != 1 {
			errs = append(errs, field.Invalid(at.Child("successThreshold"), n, "must be 1"))
		}
		if s := probe.probe.TerminationGracePeriodSeconds; s != nil && *s <= 0 {
			errs = append(errs, field.Invalid(at.Child("terminationGracePeriodSeconds"), *s, notGreaterThan0))
		}
	}
	return errs
}

func validateProbe(p *field.Path, probe *corev1.Probe) field.ErrorList {
	errs := validateHandler(p, probe.Exec, probe.HTTPGet, probe.TCPSocket, probe.GRPC, nil)
	for _, n := range []struct {
		name  string
		value int32
	}{
		{"initialDelaySeconds", probe.InitialDelaySeconds},
		{"timeoutSeconds", probe.TimeoutSeconds},
		{"periodSeconds", probe.PeriodSeconds},
		{"successThreshold", probe.SuccessThreshold},
		{"failureThreshold", probe.FailureThreshold},
	} {
		errs = append(errs, nonNegative(p.Child(n.name), n.value)...)
	}
	return errs
}

func (c *podCheck) lifecycle(p *field.Path, l *corev1.Lifecycle) field.ErrorList {
	if l == nil {
		return nil
	}
	var errs field.ErrorList
	for _, h := range []struct {
		name string
		hook *corev1.LifecycleHandler
	}{{"postStart", l.PostStart}, {"preStop", l.PreStop}} {
		if h.hook != nil && h.hook.Sleep != nil && (h.hook.Sleep.Seconds < 0 || h.hook.Sleep.Seconds > c.grace) {
			errs = append(errs, field.Invalid(p.Child(h.name, "sleep"), h.hook.Sleep.Seconds,
				fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", c.grace)))
		}
	}
	if h := l.PostStart; h != nil {
		errs = append(errs, validateHandler(p.Child("postStart"), h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep)...)
	}
	if h := l.PreStop; h != nil {
		errs = append(errs, validateHandler(p.Child("preStop"), h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep)...)
	}
	return errs
}

// validateHandler requires exactly one action and validates it. A second one is
// forbidden and not validated.
func validateHandler(p *field.Path, exec *corev1.ExecAction, http *corev1.HTTPGetAction, tcp *corev1.TCPSocketAction, grpc *corev1.GRPCAction, sleep *corev1.SleepAction) field.ErrorList {
	var errs field.ErrorList
	actions := 0
	for _, action := range []struct {
		name  string
		set   bool
		check func(p *field.Path) field.ErrorList
	}{
		{"exec", exec != nil, func(p *field.Path) field.ErrorList { return validateExec(p, exec) }},
		{"httpGet", http != nil, func(p *field.Path) field.ErrorList { return validateHTTPGet(p, http) }},
		{"tcpSocket", tcp != nil, func(p *field.Path) field.ErrorList { return validatePortOrName(p.Child("port"), tcp.Port) }},
		{"grpc", grpc != nil, func(p *field.Path) field.ErrorList { return validatePort(p.Child("port"), grpc.Port) }},
		{"sleep", sleep != nil, func(*field.Path) field.ErrorList { return nil }},
	} {
		if !action.set {
			continue
		}
		if actions++; actions > 1 {
			errs = append(errs, field.Forbidden(p.Child(action.name), "may not specify more than 1 handler type"))
			continue
		}
		errs = append(errs, action.check(p.Child(action.name))...)
	}
	if actions == 0 {
		errs = append(errs, field.Required(p, "must specify a handler type"))
	}
	return errs
}

func validateExec(p *field.Path, exec *corev1.ExecAction) field.ErrorList {
	if len(exec.Command) == 0 {
		return field.ErrorList{field.Required(p.Child("command"), "")}
	}
	return nil
}

func validateHTTPGet(p *field.Path, get *corev1.HTTPGetAction) field.ErrorList {
	var errs field.ErrorList
	if strings.TrimSpace(get.Path) == "" {
		errs = append(errs, field.Required(p.Child("path"), ""))
	}
	errs = append(errs, validatePortOrName(p.Child("port"), get.Port)...)
	errs = append(errs, oneOf(p.Child("scheme"), get.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)...)
	for _, header := range get.HTTPHeaders {
		errs = append(errs, invalidFor(p.Child("httpHeaders"), header.Name, validation.IsHTTPHeaderName(header.Name))...)
	}
	return errs
}
