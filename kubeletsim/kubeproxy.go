package kubeletsim

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/network/reach"
)

// serveProxy answers a request to kube-proxy: for the health of a Service, its own (its package healthcheck; KEP-3836 for /livez), or its
// mode, whose rules the nodes follow.
func (k *network) serveProxy(path *reach.Path, w http.ResponseWriter, r *http.Request) {
	if path.HealthCheck.Service.Name != "" {
		serveHealthCheck(w, path.HealthCheck)
		return
	}
	atLoopback := path.Target.Addr().IsLoopback()
	switch r.URL.Path {
	case "/proxyMode":
		if atLoopback {
			_, _ = io.WriteString(w, "iptables") // the client may be gone
			return
		}
	case "/healthz", "/livez":
		k.serveProxyHealth(path.Node, w, r.URL.Path == "/healthz")
		return
	}
	http.NotFound(w, r)
}

// proxyHealth is the state of kube-proxy, or of its rules for an IP family.
type proxyHealth struct {
	LastUpdated  time.Time  `json:"lastUpdated"`
	CurrentTime  *time.Time `json:"currentTime,omitempty"`
	NodeEligible *bool      `json:"nodeEligible,omitempty"`
	Healthy      bool       `json:"healthy"`

	Status map[corev1.IPFamily]proxyHealth `json:"status,omitempty"`
}

// serveProxyHealth answers for kube-proxy of a node. Its rules are always up to date. A load balancer asks whether the node is eligible.
func (k *network) serveProxyHealth(node string, w http.ResponseWriter, balanced bool) {
	now := k.opts.Clock.Now().UTC()
	health := proxyHealth{LastUpdated: now, CurrentTime: &now, Healthy: true, Status: map[corev1.IPFamily]proxyHealth{}}
	if balanced {
		health.NodeEligible = ptr.To(true)
	}
	if n, err := k.nodeLister.Get(node); err == nil {
		for _, address := range reach.NodeAddresses(n) {
			family := corev1.IPv4Protocol
			if address.Is6() {
				family = corev1.IPv6Protocol
			}
			health.Status[family] = proxyHealth{LastUpdated: now, Healthy: true}
		}
	}
	body, err := json.Marshal(health)
	answerHealth(w, http.StatusOK, body, err)
}

// answerHealth sends the state in body, unless err says that it could not be written as JSON.
func answerHealth(w http.ResponseWriter, status int, body []byte, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// serveHealthCheck answers a health check of a Service as kube-proxy does (its package healthcheck): 503 if no endpoint is on the node.
func serveHealthCheck(w http.ResponseWriter, h *reach.HealthCheck) {
	type name struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	}
	body, err := json.MarshalIndent(struct {
		Service             name `json:"service"`
		LocalEndpoints      int  `json:"localEndpoints"`
		ServiceProxyHealthy bool `json:"serviceProxyHealthy"`
	}{name{h.Service.Namespace, h.Service.Name}, h.Local, true}, "", "\t")
	status := http.StatusOK
	if h.Local == 0 {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("X-Load-Balancing-Endpoint-Weight", strconv.Itoa(h.Local))
	answerHealth(w, status, append(body, '\n'), err)
}
