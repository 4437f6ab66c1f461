package reach

import (
	"cmp"
	"hash/fnv"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/hostaddress"
	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/faults"
	"minikcm.dev/minikcm/internal/network/policy"
	"minikcm.dev/minikcm/internal/network/routes"
	"minikcm.dev/minikcm/internal/network/services"
)

// Outcome is how a connection ends.
type Outcome string

// The outcomes.
const (
	// Connected: a program accepts it.
	Connected Outcome = "connected"
	// Refused: nothing listens, or a Service has no endpoints.
	Refused Outcome = "refused"
	// TimedOut: packets are dropped.
	TimedOut Outcome = "timed out"
	// NoRoute: no machine has the address.
	NoRoute Outcome = "no route"
	// Unreachable: the source has no route to the address.
	Unreachable Outcome = "unreachable"
	// NoSuchHost: the name does not exist, or has no address.
	NoSuchHost Outcome = "no such host"
	// NoNameServer: the name server does not answer.
	NoNameServer Outcome = "no answer of the name server"
	// ServerFailure: the name server answers with an error.
	ServerFailure Outcome = "failure of the name server"
	// Reset: the connection is established, and ends when data comes.
	Reset Outcome = "reset"
	// Unknown: it leads out of what is simulated.
	Unknown Outcome = "unknown"
)

// OutcomeNames returns the outcomes in words.
func OutcomeNames() []string {
	var names []string
	for _, o := range []Outcome{Connected, Refused, TimedOut, NoRoute, Unreachable, NoSuchHost, NoNameServer, ServerFailure, Reset, Unknown} {
		names = append(names, string(o))
	}
	return names
}

// Known reports whether there is such an outcome.
func (o Outcome) Known() bool { return slices.Contains(OutcomeNames(), string(o)) }

// Error returns the error that Linux, or the C library's resolver, reports; empty if there is none.
func (o Outcome) Error() string {
	switch o {
	case Refused:
		return "Connection refused"
	case TimedOut:
		return "Connection timed out"
	case NoRoute:
		return "No route to host"
	case Unreachable:
		return "Network is unreachable"
	case NoSuchHost:
		return "Name or service not known"
	case NoNameServer, ServerFailure:
		return "Temporary failure in name resolution"
	case Reset:
		return "Connection reset by peer"
	}
	return ""
}

// The times that Linux takes to report an error, with its defaults.
const (
	// connectTimeout is the time of seven SYNs, with tcp_syn_retries 6.
	connectTimeout = 127 * time.Second
	// neighborTimeout is the time of three requests for the hardware address.
	neighborTimeout = 3 * time.Second
	// resolveTimeout is the time of two queries of the C library's resolver to a server.
	resolveTimeout = 10 * time.Second
)

// After returns how long it takes until the error is reported, beside the round trip.
func (o Outcome) After() time.Duration {
	switch o {
	case TimedOut:
		return connectTimeout
	case NoRoute:
		return neighborTimeout
	case NoNameServer:
		return resolveTimeout
	}
	return 0
}

// Listener is a program that accepts a connection.
type Listener struct {
	// Container is the container that it runs in.
	Container string `json:"container"`
	// Why says how it is known to listen.
	Why string `json:"why"`
	// Assumed means that the pod does not say that it listens, nor that it does not.
	Assumed bool `json:"assumed,omitempty"`
	// Unknown means that nothing is known of its answers.
	Unknown bool `json:"unknown,omitempty"`
	// TLS means that it serves TLS only.
	TLS bool `json:"tls,omitempty"`
	// Speaks is how it speaks, unless it speaks HTTP: text or echo.
	Speaks string `json:"speaks,omitempty"`
	// Process is the address of the process of the machine that answers in its place; empty: it is simulated.
	Process string `json:"process,omitempty"`
}

// Query is a connection to decide.
type Query struct {
	// From is the source. Its address is filled in from the pod or node if it is not valid.
	From policy.Peer
	// Host is a name or an address, Port the port.
	Host     string
	Port     int32
	Protocol corev1.Protocol
	// Resolver is the source's configuration; nil: that of its pod.
	Resolver *dns.Config
	// Hosts returns what the source's /etc/hosts says of a name; nil: nothing.
	Hosts func(name string) []netip.Addr
	// Random chooses among the endpoints of a Service, as Affinities, which may be nil, let it at Now.
	Random     uint64
	Affinities *services.Affinities
	Now        time.Time
	// Listens returns what listens at a port of a pod; nil if nothing does. Required.
	Listens func(pod *corev1.Pod, port int32, protocol corev1.Protocol) *Listener
	// Cut returns why packets between two nodes are lost, which may be one; empty if they are not, or nil.
	Cut func(from, to string) string
	// Faults are the network's; nil: there are none. Asked means that the query is a question: faults have the effects
	// that are certain.
	Faults *faults.Set
	Asked  bool
}

// chance returns the random numbers of the connection.
func (q *Query) chance() *faults.Chance { return &faults.Chance{Seed: q.Random, Never: q.Asked} }

// Path is what was decided, step by step. Parts that a connection did not come to are nil.
type Path struct {
	Outcome Outcome
	// Why is the reason of an outcome other than Connected.
	Why string
	// Resolution is how the name was resolved.
	Resolution *dns.Resolution
	// Query is the way of the query of the name to the name server, if that does not answer.
	Query *Path
	// Destination is the address that the source connects to.
	Destination netip.AddrPort
	Protocol    corev1.Protocol
	// Frontend is the Service that has the address, Choice what its rules say, and Endpoint the endpoint.
	Frontend *services.Frontend
	Choice   *services.Choice
	Endpoint *services.Endpoint
	// Source is the source as the destination sees it.
	Source policy.Peer
	// Target is the address that the packets have at last, and Pod the pod that has it.
	Target netip.AddrPort
	Pod    *corev1.Pod
	Node   string
	// Verdict is what the policies say.
	Verdict *policy.Verdict
	// Listener is the program that accepts the connection. The name server and routers are not in a pod.
	Listener *Listener
	// Router is the router that accepts the connection, if one does.
	Router *routes.Router
	// HealthCheck is the health check that kube-proxy answers; nil: none does.
	HealthCheck *HealthCheck
	// APIServer means that the API server accepts it.
	APIServer bool
	// Effect says what faults of the network do; nil if there are none. LookupEffect is the same for the query of the name.
	Effect, LookupEffect *faults.Effect
	// Lookup is how much longer the query of the name takes because of them.
	Lookup time.Duration
	// Stale says that the node whose rules apply knows an earlier state of the Service; empty if it does not.
	Stale string
	// random is the query's.
	random uint64
	// nameServer means that it leads to the name server of a cluster without pods that serve names.
	nameServer bool
	// misled is the fault that has answered the query of the name.
	misled *faults.Rule
}

// Late returns how much longer it takes to establish the connection because of faults.
func (p *Path) Late() time.Duration {
	if p.Effect == nil || p.Outcome != Connected && p.Outcome != Reset && p.Outcome != Refused {
		return p.Lookup
	}
	return p.Lookup + p.Effect.Connect
}

func (p *Path) end(o Outcome, why string) *Path {
	p.Outcome, p.Why = o, why
	return p
}

// Decide says where a connection goes.
func (c *Cluster) Decide(q *Query) *Path {
	p := &Path{Protocol: cmp.Or(q.Protocol, corev1.ProtocolTCP), random: q.Random}
	addresses, ended := c.resolve(q, p)
	if ended {
		return p
	}
	// A program tries one address after the other until one accepts, and reports the last error.
	found := *p
	for i, address := range addresses {
		from := sourceFor(c, q.From, address)
		if !from.Address.IsValid() && i < len(addresses)-1 {
			continue // the source has no address of that family
		}
		p = c.connect(q, from, netip.AddrPortFrom(address, uint16(q.Port)), &Path{Protocol: p.Protocol, random: q.Random, Resolution: found.Resolution, LookupEffect: found.LookupEffect, Lookup: found.Lookup, misled: found.misled})
		if p.Outcome == Connected || p.Outcome == Unknown || p.Outcome == Reset {
			break
		}
	}
	return p
}

// sourceFor returns the source with its address of a destination's family.
func sourceFor(c *Cluster, from policy.Peer, to netip.Addr) policy.Peer {
	var own []netip.Addr
	switch {
	case from.Pod != nil:
		own = PodAddresses(from.Pod)
	case from.Node != "" && c.nodes[from.Node] != nil:
		own = NodeAddresses(c.nodes[from.Node])
	case from.Address.IsValid():
		own = []netip.Addr{from.Address}
	}
	if i := slices.IndexFunc(own, func(a netip.Addr) bool { return a.Is4() == to.Is4() }); i >= 0 {
		from.Address = own[i]
	} else {
		from.Address = netip.Addr{}
	}
	return from
}

// nodeOf returns the node that a peer is on.
func nodeOf(p *policy.Peer) string {
	if p.Pod != nil {
		return p.Pod.Spec.NodeName
	}
	return p.Node
}

// connect follows a connection to an address.
func (c *Cluster) connect(q *Query, from policy.Peer, to netip.AddrPort, p *Path) *Path {
	p.Destination, p.Target, p.Source = to, to, from
	if p.Protocol == ICMP {
		return c.echo(q, from, p)
	}
	if to.Addr().IsLoopback() && !c.isPublished(from, to.Addr()) && !c.isLocalNodePort(q, from, p) {
		return c.loopback(q, from, p)
	}
	if !from.Address.IsValid() {
		return p.end(Unreachable, "the source has no address of the family of "+to.Addr().String())
	}
	if to.Port() == 0 {
		return p.end(Refused, "0 is no port")
	}
	if c.toNameServer(q, from, p) || c.translate(q, from, p) {
		return p
	}
	to = p.Target
	switch pod, node := c.pods[to.Addr()], c.byAddress[to.Addr()]; {
	case pod != nil:
		p.Pod, p.Node = pod, pod.Spec.NodeName
	case c.isAPIServer(to.Addr()):
		return c.toAPIServer(q, from, p)
	case node != "":
		return c.toNode(q, from, node, p)
	default:
		return c.elsewhere(q, from, p)
	}
	return c.toPod(q, from, p)
}

// isPublished reports whether a loopback address is none of the source's own: a load balancer has it or, outside of the cluster, it
// stands for those of the nodes (minikcm up --publish).
func (c *Cluster) isPublished(from policy.Peer, to netip.Addr) bool {
	_, owned := c.Services.Owner(to)
	return owned || nodeOf(&from) == ""
}

// isLocalNodePort reports whether 127.0.0.1 leads a node, or a pod on its network, to a node port, as with kube-proxy's mode iptables.
func (c *Cluster) isLocalNodePort(q *Query, from policy.Peer, p *Path) bool {
	if !p.Target.Addr().Is4() || nodeOf(&from) == "" || from.Pod != nil && !from.Pod.Spec.HostNetwork {
		return false
	}
	return c.rules(nodeOf(&from), q.Now).FindNodePort(false, int32(p.Target.Port()), p.Protocol) != nil
}

// loopback connects a pod or node to itself.
func (c *Cluster) loopback(q *Query, from policy.Peer, p *Path) *Path {
	if from.Pod != nil && !from.Pod.Spec.HostNetwork {
		p.Pod, p.Node = from.Pod, from.Pod.Spec.NodeName
		return c.listen(q, p)
	}
	if pod := from.Pod; pod != nil { // an assumed listener of its own counts, too
		if l := q.Listens(pod, int32(p.Target.Port()), p.Protocol); l != nil {
			p.Pod, p.Node, p.Listener = pod, pod.Spec.NodeName, l
			return p.accepted()
		}
	}
	return c.onNode(q, from, nodeOf(&from), p)
}

// translate replaces a Service's address by an endpoint's. done means that the path has ended.
func (c *Cluster) translate(q *Query, from policy.Peer, p *Path) (done bool) {
	at := nodeOf(&from)
	rules := c.rules(at, q.Now)
	f := rules.Find(p.Target.Addr(), int32(p.Target.Port()), p.Protocol)
	node, onLoopback := c.byAddress[p.Target.Addr()], p.Target.Addr().IsLoopback()
	if onLoopback {
		node = at // empty outside of the cluster
	}
	if f == nil && (node != "" || onLoopback) {
		if f = c.rules(node, q.Now).FindNodePort(p.Target.Addr().Is6(), int32(p.Target.Port()), p.Protocol); f != nil {
			at = node // the rules of that node apply, unless it is the source's; empty: of any
		}
	}
	if f == nil {
		if owner, ok := rules.Owner(p.Target.Addr()); ok && c.pods[p.Target.Addr()] == nil {
			p.Stale = c.stale(at, rules, owner)
			why := "the Service " + owner.String() + " has no port " + portName(p.Protocol, p.Target.Port())
			if s := c.Services.Service(owner); s != nil && services.OfOtherProxy(s) {
				why = "a label leaves the Service " + owner.String() + " to another proxy than kube-proxy"
			}
			p.end(TimedOut, why)
			return true
		}
		if owner, ok := c.Services.Owner(p.Target.Addr()); ok && c.pods[p.Target.Addr()] == nil {
			p.Stale = c.stale(at, rules, owner)
			p.end(TimedOut, "node "+at+" does not know the Service "+owner.String()+" yet")
			return true
		}
		return false
	}
	if f.By == services.ByHealthCheck {
		c.toHealthCheck(q, from, at, f, p)
		return true
	}
	p.Frontend = f
	if address := hostaddress.Of(f.Service, f.Port.Port); address != "" {
		c.lead(q, from, address, p)
		return true
	}
	if router, ok := routes.RouterOf(f.Service); ok {
		c.toRouter(q, from, router, p)
		return true
	}
	if f.Key() == apiServerKey && len(c.Services.Slices(apiServerKey)) == 0 {
		p.Target = netip.AddrPortFrom(withoutSocket(f.IPv6), apiServerPort)
		return false
	}
	if c.isAPIServer(from.Address) {
		return c.chooseForAPIServer(q, p)
	}
	if at == "" { // from outside: the load balancer has chosen a node
		at = c.entry(f, from.Address, q.Random)
	}
	rules = c.rules(at, q.Now)
	p.Stale = c.stale(at, rules, f.Key())
	choice := rules.Choose(f, c.proxy(at), from.Address, at == nodeOf(&from))
	p.Choice = &choice
	switch choice.Result {
	case services.Rejected:
		p.end(Refused, "the Service "+f.Key().String()+": "+choice.Why)
		return true
	case services.Dropped:
		p.end(TimedOut, "the Service "+f.Key().String()+": "+choice.Why)
		return true
	}
	affinities := q.Affinities
	if affinities == nil {
		affinities = &services.Affinities{}
	}
	p.Endpoint = affinities.Pick(f, &choice, from.Address, q.Now, q.Random)
	p.Target = p.Endpoint.Address
	if choice.Masquerade || p.Endpoint.Address.Addr() == from.Address {
		p.Source = sourceFor(c, policy.Peer{Node: at}, p.Target.Addr())
	}
	return false
}

// entry returns the node to which a load balancer sends a connection from outside: one with an endpoint of the Service. With session
// affinity, a client's connections come to one node.
func (c *Cluster) entry(f *services.Frontend, client netip.Addr, random uint64) string {
	nodes := c.entries(f)
	switch {
	case len(nodes) == 0:
		return ""
	case f.Service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP:
		h := fnv.New64a()
		_, _ = h.Write(client.AsSlice())
		random = h.Sum64()
	}
	return nodes[(random>>32)%uint64(len(nodes))] // other bits than those that choose the endpoint
}

// entries returns the nodes to which a load balancer sends connections from outside.
func (c *Cluster) entries(f *services.Frontend) []string {
	var nodes []string
	for _, ready := range []bool{true, false} {
		for _, e := range c.Services.Endpoints(f) {
			if e.Node != "" && e.Ready == ready {
				nodes = append(nodes, e.Node)
			}
		}
		if len(nodes) > 0 {
			break
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// toNode connects to an address of a node.
func (c *Cluster) toNode(q *Query, from policy.Peer, node string, p *Path) *Path {
	p.Node = node
	if c.lost(q, from, p, policy.Peer{Address: p.Target.Addr(), Node: node}) {
		return p
	}
	return c.onNode(q, from, node, p)
}

// onNode connects to what listens at an address of a node: a pod of the host network, or the host port of another one.
func (c *Cluster) onNode(q *Query, from policy.Peer, node string, p *Path) *Path {
	p.Node = node
	of := c.hosts[node]
	keys := make([]string, 0, len(of))
	pods := map[string]*corev1.Pod{}
	for key, pod := range of {
		keys = append(keys, key.String())
		pods[key.String()] = pod
	}
	slices.Sort(keys)
	for _, key := range keys {
		pod, port := pods[key], int32(p.Target.Port())
		if !pod.Spec.HostNetwork {
			at := p.Target.Addr()
			if port = hostPort(pod, at, port, p.Protocol); port == 0 {
				continue
			}
			for _, address := range PodAddresses(pod) {
				if address.Is4() == at.Is4() {
					p.Pod, p.Target = pod, netip.AddrPortFrom(address, uint16(port))
					return c.toPod(q, from, p)
				}
			}
			continue
		}
		if l := q.Listens(pod, port, p.Protocol); l != nil && !l.Assumed {
			p.Pod, p.Listener = pod, l
			return p.accepted()
		}
	}
	if p.toProxy(node) {
		return p
	}
	return p.end(Refused, "nothing listens on "+portName(p.Protocol, p.Target.Port())+" of node "+node)
}

// hostPort returns the port of a pod's container that a port of its node leads to, at one of the node's addresses; 0 if none does.
func hostPort(pod *corev1.Pod, at netip.Addr, port int32, protocol corev1.Protocol) int32 {
	for i := range pod.Spec.Containers {
		for _, given := range pod.Spec.Containers[i].Ports {
			if given.HostPort == port && cmp.Or(given.Protocol, corev1.ProtocolTCP) == protocol && isBound(given.HostIP, at) {
				return given.ContainerPort
			}
		}
	}
	return 0
}

// isBound reports whether a hostIP covers an address of the node. An empty or unspecified one covers all.
func isBound(hostIP string, at netip.Addr) bool {
	bound, err := netip.ParseAddr(hostIP)
	return err != nil || bound.IsUnspecified() || bound == at
}

// toPod connects to the pod of the path.
func (c *Cluster) toPod(q *Query, from policy.Peer, p *Path) *Path {
	if c.lost(q, from, p, policy.Peer{Address: p.Target.Addr(), Pod: p.Pod}) {
		return p
	}
	return c.listen(q, p)
}

func (c *Cluster) listen(q *Query, p *Path) *Path {
	p.Listener = q.Listens(p.Pod, int32(p.Target.Port()), p.Protocol)
	if p.Listener == nil {
		return p.end(Refused, "nothing listens on "+portName(p.Protocol, p.Target.Port())+" of pod "+p.Pod.Namespace+"/"+p.Pod.Name)
	}
	return p.accepted()
}

// accepted ends the path at a program that accepts the connection.
func (p *Path) accepted() *Path {
	if p.Effect != nil && p.Effect.Reset != nil {
		return p.end(Reset, "the fault \""+p.Effect.Reset.Title+"\" resets it")
	}
	return p.end(Connected, "")
}

// lost asks the policies and the faults whether the packets to a destination are lost.
func (c *Cluster) lost(q *Query, from policy.Peer, p *Path, to policy.Peer) bool {
	return c.forbidden(from, p, to) || c.cut(q, from, p) || c.disturbed(q, from, p, to)
}

// forbidden asks the policies. Egress is judged by the source's own address, ingress by the one that the destination sees.
func (c *Cluster) forbidden(from policy.Peer, p *Path, to policy.Peer) bool {
	if from.Pod == nil && c.isAPIServer(from.Address) {
		p.Verdict = &policy.Verdict{Exempt: policy.ControlPlane}
		return false
	}
	f := policy.Flow{From: from, To: to, Protocol: p.Protocol, Port: int32(p.Target.Port())}
	v := c.Policies.Decide(&f)
	if p.Source.Address != from.Address && v.Exempt != policy.Itself {
		f.From = p.Source
		seen := c.Policies.Decide(&f)
		v.Ingress, v.Exempt = seen.Ingress, ""
		// The destination's side is exempt, the source's is not. What a node only forwards from outside is not its own.
		if seen.Exempt != "" && nodeOf(&from) != "" {
			v.Ingress = policy.Side{}
		}
	}
	p.Verdict = &v
	if v.Allowed() {
		return false
	}
	direction, side := "egress", &v.Egress
	if side.Allowed() {
		direction, side = "ingress", &v.Ingress
	}
	by := "NetworkPolicies deny the "
	if side.Cluster != nil {
		by = "a " + policy.ClusterKind + " denies the "
	}
	p.end(TimedOut, by+direction)
	return true
}

// cut asks for nodes that are cut off.
func (c *Cluster) cut(q *Query, from policy.Peer, p *Path) bool {
	if q.Cut == nil {
		return false
	}
	why := q.Cut(nodeOf(&from), p.Node)
	if why == "" {
		return false
	}
	p.end(TimedOut, why)
	return true
}

// elsewhere connects to an address that no pod and no node has.
func (c *Cluster) elsewhere(q *Query, from policy.Peer, p *Path) *Path {
	if c.lost(q, from, p, policy.Peer{Address: p.Target.Addr()}) {
		return p
	}
	if node := c.inPodNetwork(p.Target.Addr()); node != "" {
		return p.end(NoRoute, "no pod has the address "+p.Target.Addr().String()+", which is of the network of node "+node)
	}
	if p.misled != nil {
		return p.end(TimedOut, "nothing has the address "+p.Target.Addr().String()+", which is the answer of the fault \""+p.misled.Title+"\"")
	}
	return p.end(Unknown, p.Target.String()+" is outside of the cluster")
}
