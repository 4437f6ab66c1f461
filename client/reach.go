package client

import (
	"context"
	"net/http"
	"net/url"
)

// ReachOf is a connection to ask about.
type ReachOf struct {
	// From is a pod (NAME), a pod of a workload (deploy/NAME), a node (node/NAME) or an address. To is a name, an address,
	// svc/NAME or a form of From, with or without a port.
	From, To string
	// Namespace is that of From, and of To unless ToNamespace is set. Default default.
	Namespace, ToNamespace string
	// Protocol is TCP, UDP or SCTP. Default TCP.
	Protocol string
}

// Reach is whether a connection arrives, and why.
type Reach struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Reached bool   `json:"reached"`
	// Outcome is how it ends, such as "connected" and "timed out". Error is what the source sees if it does not arrive, and
	// Why the reason.
	Outcome string `json:"outcome"`
	Error   string `json:"error"`
	Why     string `json:"why"`
	// Service, Endpoint and Pod are on the way.
	Service  string `json:"service"`
	Endpoint string `json:"endpoint"`
	Pod      string `json:"pod"`
	// Steps are the way in words.
	Steps []struct {
		Step string `json:"step"`
		Text string `json:"text"`
	} `json:"steps"`
}

// Reach says whether a connection in the cluster arrives, on which way, and what decides.
func (c *Cluster) Reach(ctx context.Context, of ReachOf) (*Reach, error) {
	query := url.Values{}
	for name, value := range map[string]string{"from": of.From, "to": of.To, "namespace": of.Namespace, "toNamespace": of.ToNamespace, "protocol": of.Protocol} {
		if value != "" {
			query.Set(name, value)
		}
	}
	reach := &Reach{}
	return reach, c.ask(ctx, http.MethodGet, "/minikcm/v1/reach", query, nil, reach)
}
