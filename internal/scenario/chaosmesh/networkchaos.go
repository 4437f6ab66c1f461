package chaosmesh

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/scenarios/fault"
)

// The actions of a NetworkChaos.
const (
	actionNetem     = "netem"
	actionDelay     = "delay"
	actionLoss      = "loss"
	actionDuplicate = "duplicate"
	actionCorrupt   = "corrupt"
	actionPartition = "partition"
	actionBandwidth = "bandwidth"
)

// whyNoDuplicates is the reason why packets are not sent twice.
const whyNoDuplicates = "duplicate has no effect in the simulated network: TCP and the resolver drop packets that come twice"

// NetworkChaosSpec is the spec of a NetworkChaos.
type NetworkChaosSpec struct {
	Common    `json:",inline"`
	Action    string `json:"action"`
	Direction string `json:"direction"`
	// Target are the pods at the other end; nil: all, or ExternalTargets.
	Target          *Selection `json:"target"`
	ExternalTargets []string   `json:"externalTargets"`
	Delay           *Delay     `json:"delay"`
	Loss            *Loss      `json:"loss"`
	Corrupt         *Corrupt   `json:"corrupt"`
	Duplicate       any        `json:"duplicate"`
	Bandwidth       *Bandwidth `json:"bandwidth"`
	Rate            *Bandwidth `json:"rate"`
}

// Delay, Loss, Corrupt and Bandwidth are what happens to packets. Correlations have no effect.
type (
	Delay struct {
		Latency string `json:"latency"`
		Jitter  string `json:"jitter"`
		Reorder any    `json:"reorder"`
	}
	Loss struct {
		Loss string `json:"loss"`
	}
	Corrupt struct {
		Corrupt string `json:"corrupt"`
	}
	Bandwidth struct {
		Rate string `json:"rate"`
	}
)

// Fault returns the fault that a NetworkChaos in a namespace asks for. It returns an error if Chaos Mesh would refuse the spec, or if
// it has no effect here.
func (s *NetworkChaosSpec) Fault(namespace string) ([]*fault.Fault, error) {
	from, lasts, err := s.read(namespace)
	if err != nil {
		return nil, err
	}
	all, err := s.networks()
	if err != nil {
		return nil, err
	}
	n := all[0]
	n.PodsFrom, n.Also = from, all[1:]
	if s.Target != nil {
		if n.PodsTo, err = s.Target.pods(namespace); err != nil {
			return nil, fmt.Errorf("spec.target: %w", err)
		}
	}
	for _, text := range s.ExternalTargets {
		if slices.Contains(apiServerNames, strings.TrimSuffix(text, ".")) {
			n.To = append(n.To, ends.APIServer)
			continue
		}
		_, isAddress := netip.ParseAddr(text)
		if _, isNetwork := netip.ParsePrefix(text); isAddress != nil && isNetwork != nil {
			return nil, fmt.Errorf("spec.externalTargets: %q is neither an address nor a network; nothing is known of the addresses of names outside", text)
		}
		n.To = append(n.To, text)
	}
	if n.Direction = s.Direction; n.Direction == "" {
		n.Direction = "to"
	}
	if !slices.Contains([]string{"to", "from", "both"}, n.Direction) {
		return nil, fmt.Errorf("spec.direction %q is none of to, from, both", n.Direction)
	}
	return []*fault.Fault{{Network: n, For: lasts}}, nil
}

// apiServerNames are the names of the API server's Service.
var apiServerNames = []string{"kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}

// networks returns a fault for each part of the spec.
func (s *NetworkChaosSpec) networks() (all []*fault.Network, err error) {
	add := func(n fault.Network, problem error) {
		all = append(all, &n)
		if err == nil {
			err = problem
		}
	}
	netem := s.Action == actionNetem
	if s.Action == actionPartition {
		add(fault.Network{Action: fault.NetworkPartition}, nil)
	}
	if (netem || s.Action == actionDelay) && s.Delay != nil {
		add(s.Delay.network())
	}
	if (netem || s.Action == actionLoss) && s.Loss != nil {
		n := fault.Network{Action: fault.NetworkLoss}
		var problem error
		n.Percent, problem = percent("spec.loss.loss", s.Loss.Loss)
		add(n, problem)
	}
	if (netem || s.Action == actionCorrupt) && s.Corrupt != nil {
		n := fault.Network{Action: fault.NetworkCorrupt}
		var problem error
		n.Percent, problem = percent("spec.corrupt.corrupt", s.Corrupt.Corrupt)
		add(n, problem)
	}
	for _, b := range []*Bandwidth{s.Bandwidth, s.Rate} {
		if (netem || s.Action == actionBandwidth) && b != nil {
			_, problem := fault.ParseRate(b.Rate)
			add(fault.Network{Action: fault.NetworkBandwidth, Rate: b.Rate}, problem)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case s.Action == actionDuplicate, netem && s.Duplicate != nil:
		return nil, fmt.Errorf("spec.action: %s", whyNoDuplicates)
	case len(all) > 0:
		return all, nil
	case slices.Contains([]string{actionNetem, actionDelay, actionLoss, actionCorrupt, actionBandwidth}, s.Action):
		return nil, fmt.Errorf("spec.%s is missing: say what happens to packets", s.Action)
	}
	return nil, fmt.Errorf("spec.action %q is none of netem, delay, loss, corrupt, partition, bandwidth", s.Action)
}

// network returns the fault of a delay, whose jitter goes both ways.
func (d *Delay) network() (fault.Network, error) {
	n := fault.Network{Action: fault.NetworkDelay}
	latency, err := duration(d.Latency)
	if err != nil {
		return n, fmt.Errorf("spec.delay.latency: %w", err)
	}
	jitter, err := duration(d.Jitter)
	if err != nil {
		return n, fmt.Errorf("spec.delay.jitter: %w", err)
	}
	least := max(latency-jitter, 0)
	n.Delay, n.Spread = fault.Duration(least), fault.Duration(latency+jitter-least)
	if jitter == 0 {
		n.Spread = 0
	}
	if latency == 0 {
		return n, fmt.Errorf("spec.delay.latency is missing: say how long, such as 100ms")
	}
	return n, nil
}

// percent reads a percentage, rounded up.
func percent(field, text string) (int, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || n > 100 {
		return 0, fmt.Errorf("%s %q is no percentage from 0 to 100", field, text)
	}
	return int(math.Ceil(n)), nil
}

// DNSChaosSpec is the spec of a DNSChaos.
type DNSChaosSpec struct {
	Common   `json:",inline"`
	Action   string   `json:"action"`
	Patterns []string `json:"patterns"`
}

// Fault returns the fault that a DNSChaos in a namespace asks for.
func (s *DNSChaosSpec) Fault(namespace string) ([]*fault.Fault, error) {
	from, lasts, err := s.read(namespace)
	if err != nil {
		return nil, err
	}
	d := &fault.DNS{PodsFrom: from, Action: map[string]string{"error": fault.DNSServFail, "": fault.DNSServFail, "random": fault.DNSWrong}[s.Action], Hosts: s.Patterns}
	if d.Action == "" {
		return nil, fmt.Errorf("spec.action %q is none of error, random", s.Action)
	}
	return []*fault.Fault{{DNS: d, For: lasts}}, nil
}

// experimentSpec is the spec of a kind that breaks something.
type experimentSpec interface {
	// Fault returns the faults that an object in a namespace asks for.
	Fault(namespace string) ([]*fault.Fault, error)
	duration() string
}

// experimentOf returns an empty spec of a kind that breaks something; nil for other kinds.
func experimentOf(kind string) experimentSpec {
	switch kind {
	case KindPodChaos:
		return &PodChaosSpec{}
	case KindNetworkChaos:
		return &NetworkChaosSpec{}
	case KindDNSChaos:
		return &DNSChaosSpec{}
	case KindHTTPChaos:
		return &HTTPChaosSpec{}
	}
	return nil
}

// experimentFields are the fields of a Schedule or a template that hold the specs of experiments, by kind.
var experimentFields = map[string]string{KindPodChaos: "podChaos", KindNetworkChaos: "networkChaos", KindDNSChaos: "dnsChaos", KindHTTPChaos: "httpChaos"}

// lasting reports whether an experiment has to be taken back.
func lasting(spec experimentSpec) bool {
	pods, ok := spec.(*PodChaosSpec)
	return !ok || pods.Action == actionPodFailure
}
