package extender

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// defaultTimeout limits a call of an extender without httpTimeout, as in kube-scheduler.
const defaultTimeout = 5 * time.Second

// Extender is an HTTP extender. Its methods may be called concurrently.
type Extender struct {
	spec    configv1.Extender
	url     string
	managed []corev1.ResourceName
	client  *http.Client
}

// New returns the extender of a valid configuration. An error is one of the TLS files or data.
func New(spec *configv1.Extender) (*Extender, error) {
	transport := &http.Transport{}
	if spec.EnableHTTPS || spec.TLSConfig != nil {
		config := &rest.Config{}
		if t := spec.TLSConfig; t != nil {
			config.TLSClientConfig = rest.TLSClientConfig{
				Insecure: t.Insecure, ServerName: t.ServerName, CertFile: t.CertFile, KeyFile: t.KeyFile, CAFile: t.CAFile,
				CertData: t.CertData, KeyData: t.KeyData, CAData: t.CAData,
			}
		}
		// As in kube-scheduler, HTTPS without a CA verifies no certificate.
		if spec.EnableHTTPS && config.CAFile == "" && len(config.CAData) == 0 {
			config.Insecure = true
		}
		tls, err := rest.TLSConfigFor(config)
		if err != nil {
			return nil, fmt.Errorf("the TLS configuration of extender %s: %w", spec.URLPrefix, err)
		}
		transport.TLSClientConfig = tls
	}
	timeout := spec.HTTPTimeout.Duration
	if timeout == 0 {
		timeout = defaultTimeout
	}
	e := &Extender{spec: *spec, url: strings.TrimRight(spec.URLPrefix, "/"), client: &http.Client{
		Transport: utilnet.SetTransportDefaults(transport), Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for _, r := range spec.ManagedResources {
		e.managed = append(e.managed, corev1.ResourceName(r.Name))
	}
	return e, nil
}

// Name returns the URL of the extender.
func (e *Extender) Name() string { return e.spec.URLPrefix }

// Ignorable reports whether errors of the extender do not fail the attempt.
func (e *Extender) Ignorable() bool { return e.spec.Ignorable }

// Filters reports whether the extender excludes nodes.
func (e *Extender) Filters() bool { return e.spec.FilterVerb != "" }

// Prioritizes reports whether the extender scores nodes.
func (e *Extender) Prioritizes() bool { return e.spec.PrioritizeVerb != "" }

// Preempts reports whether the extender takes part in preemption.
func (e *Extender) Preempts() bool { return e.spec.PreemptVerb != "" }

// Binds reports whether the extender creates Bindings.
func (e *Extender) Binds() bool { return e.spec.BindVerb != "" }

// Interested reports whether the extender is asked about a pod: it manages no resources in
// particular, or the pod has requests or limits of one that it manages.
func (e *Extender) Interested(pod *corev1.Pod) bool {
	return len(e.managed) == 0 || e.managesAny(pod.Spec.Containers) || e.managesAny(pod.Spec.InitContainers)
}

func (e *Extender) managesAny(containers []corev1.Container) bool {
	return slices.ContainsFunc(e.managed, func(name corev1.ResourceName) bool {
		for i := range containers {
			_, requested := containers[i].Resources.Requests[name]
			_, limited := containers[i].Resources.Limits[name]
			if requested || limited {
				return true
			}
		}
		return false
	})
}

// Close closes the connections that no call uses.
func (e *Extender) Close() { e.client.CloseIdleConnections() }
