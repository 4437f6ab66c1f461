package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// ReachOf is a connection to ask about.
type ReachOf struct {
	// From is a pod (NAME), a pod of a workload (deploy/NAME), a node (node/NAME), outside or an address. To is a name, an address,
	// svc/NAME or a form of From, with or without the number or name of a port.
	From, To string
	// Namespace is the namespace of From, "default" if it is empty. ToNamespace is the namespace of To; if it is
	// empty, To is in Namespace, too.
	Namespace, ToNamespace string
	// Protocol is TCP, UDP or SCTP. The default is the one of a port that is named, or TCP.
	Protocol string
}

// Reach is whether a connection arrives, and why.
type Reach struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Reached bool   `json:"reached"`
	// Outcome names the end of the attempt to connect, such as "connected" or "timed out". If the connection does
	// not arrive, Error is the error that the program in From gets, and Why says which rule or object causes it.
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

// ReachMatrixOf selects the connections of a ReachMatrix.
type ReachMatrixOf struct {
	// Namespaces hold the workloads; none: all namespaces do.
	Namespaces []string
	// ByNamespace asks for a row for each namespace, not for each workload.
	ByNamespace bool
	// Port is the port of each destination; 0: each one that it declares. Protocol is TCP, UDP or SCTP. Default TCP.
	Port     int
	Protocol string
}

// ReachMatrix is which workloads, or namespaces, reach which.
type ReachMatrix struct {
	// Ends are the rows and, in the same order, the columns. The last one is the outside of the cluster.
	Ends []struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"ends"`
	// Cells has a row for each source, with a cell for each destination: the ports that it reaches, and the others.
	Cells [][]struct {
		Reached []string `json:"reached"`
		Denied  []struct {
			Port     string   `json:"port"`
			Outcome  string   `json:"outcome"`
			Why      string   `json:"why"`
			Policies []string `json:"policies"`
			Reasons  []string `json:"reasons"`
		} `json:"denied"`
	} `json:"cells"`
}

// ReachMatrix says which workloads, or namespaces, reach which.
func (c *Cluster) ReachMatrix(ctx context.Context, of ReachMatrixOf) (*ReachMatrix, error) {
	query := url.Values{}
	if len(of.Namespaces) > 0 {
		query.Set("namespaces", strings.Join(of.Namespaces, ","))
	}
	if of.ByNamespace {
		query.Set("by", "namespace")
	}
	if of.Port != 0 {
		query.Set("port", strconv.Itoa(of.Port))
	}
	if of.Protocol != "" {
		query.Set("protocol", of.Protocol)
	}
	matrix := &ReachMatrix{}
	return matrix, c.ask(ctx, http.MethodGet, "/minikcm/v1/reach/matrix", query, nil, matrix)
}

// Entrances are the ways into a cluster's network from its machine.
type Entrances struct {
	// Proxy is the address of the proxy, which speaks HTTP and SOCKS5; empty: there is none.
	Proxy string `json:"proxy"`
	// Publishes reports whether Services are published, and Services are their ports.
	Publishes bool            `json:"publishes"`
	Services  []PublishedPort `json:"services"`
}

// PublishedPort is a port of a Service on the machine.
type PublishedPort struct {
	Namespace string `json:"namespace"`
	Service   string `json:"service"`
	Port      int32  `json:"port"`
	PortName  string `json:"portName"`
	// NodePort means that Address stands for the node port, otherwise for the load balancer.
	NodePort bool `json:"nodePort"`
	// Address is the address and port that listens; empty if nothing does, because of Problem.
	Address string `json:"address"`
	Problem string `json:"problem"`
}

// Entrances returns the ways into the cluster's network that "minikcm up --proxy" and "--publish" open.
func (c *Cluster) Entrances(ctx context.Context) (*Entrances, error) {
	entrances := &Entrances{}
	return entrances, c.ask(ctx, http.MethodGet, "/minikcm/v1/entrances", nil, nil, entrances)
}
