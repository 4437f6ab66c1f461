package reach

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/ends"
	"minikcm.dev/minikcm/internal/network/policy"
)

// MatrixAsk is a question for the connections between all workloads.
type MatrixAsk struct {
	// Namespaces hold the workloads; empty: all namespaces do.
	Namespaces []string
	// Port is the number or the name of the port of each destination; empty: each port that its pods declare, or 80 if they declare none.
	Port string
	// Protocol is the protocol of a port; empty: the one of a port with the name, or TCP.
	Protocol corev1.Protocol
	// ByNamespace asks for a row and a column for each namespace, not for each workload.
	ByNamespace bool
}

// The words for what has a row and a column of a matrix.
const (
	byWorkload  = "workload"
	byNamespace = "namespace"
)

// ParseMatrixBy reads what has a row and a column: a workload, which is the default, or a namespace.
func ParseMatrixBy(text string) (isNamespace bool, err error) {
	if text != "" && text != byWorkload && text != byNamespace {
		return false, fmt.Errorf("%q is neither %s nor %s", text, byWorkload, byNamespace)
	}
	return text == byNamespace, nil
}

// By returns the word for what has a row and a column.
func (a *MatrixAsk) By() string {
	if a.ByNamespace {
		return byNamespace
	}
	return byWorkload
}

// Matrix says which workloads, or namespaces, connect to which. A workload is asked about by its first pod; towards its own workload,
// that pod connects to the second one. Workloads without a pod that has an address are not in it.
type Matrix struct {
	// Ends are the rows and, in the same order, the columns. The last one is the outside of the cluster.
	Ends []MatrixEnd `json:"ends"`
	// Cells has a row for each source, with a cell for each destination.
	Cells [][]Cell `json:"cells"`

	pods map[MatrixEnd][]*corev1.Pod
}

// MatrixEnd is a workload, a namespace or the outside of the cluster.
type MatrixEnd struct {
	Namespace string `json:"namespace,omitempty"`
	// Name is one that minikcm reach takes, such as deploy/web, or an address; empty for a namespace.
	Name string `json:"name,omitempty"`
}

// Cell is the connections from one end to another.
type Cell struct {
	// Reached are the ports that accept them, such as 80 and 53/UDP; Denied are the others.
	Reached []string `json:"reached"`
	Denied  []Denied `json:"denied"`
}

// Denied is a port that a connection does not reach.
type Denied struct {
	Port    string  `json:"port"`
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why"`
	// Policies are the NetworkPolicies that deny it, as NAMESPACE/NAME, and the ClusterNetworkPolicies.
	Policies []string `json:"policies,omitempty"`
	// Reasons say of each of these NetworkPolicies why it does not allow the connection.
	Reasons []string `json:"reasons,omitempty"`
}

const (
	// outsideAddress stands for all that is outside of the cluster: an address for documentation (RFC 5737), which nothing has.
	outsideAddress = "203.0.113.1"
	// outsidePort is the port that is asked about there.
	outsidePort = 443
	// maxMatrix bounds the connections of a matrix: about a second of work.
	maxMatrix = 250_000
)

// Matrix answers a question for all connections. each is called with the work for one row after the other, so that the caller may
// release its lock between them; its error ends the work. complete fills in what a query needs of the cluster: Listens at least.
func (c *Cluster) Matrix(a *MatrixAsk, complete func(*Query), each func(func()) error) (*Matrix, error) {
	var m *Matrix
	var invalid error
	if err := each(func() { m, invalid = c.plan(a) }); err != nil || invalid != nil {
		return nil, cmp.Or(err, invalid)
	}
	for _, end := range m.Ends {
		if err := each(func() { m.Cells = append(m.Cells, m.row(c, a, end, complete)) }); err != nil {
			return nil, err
		}
	}
	if a.ByNamespace {
		m = m.byNamespace()
	}
	return m, nil
}

// plan returns a matrix with its ends, and without cells.
func (c *Cluster) plan(a *MatrixAsk) (*Matrix, error) {
	pods, empty := map[MatrixEnd][]*corev1.Pod{}, map[string]bool{}
	for _, namespace := range a.Namespaces {
		empty[namespace] = true
	}
	for of, pod := range c.known {
		if _, wanted := empty[of.Namespace]; attached(pod) && len(PodAddresses(pod)) > 0 && (wanted || len(a.Namespaces) == 0) {
			if wanted {
				empty[of.Namespace] = false
			}
			end := MatrixEnd{Namespace: of.Namespace, Name: ends.Owner(pod)}
			pods[end] = append(pods[end], pod)
		}
	}
	if n := len(pods) + 1; n*n > maxMatrix {
		return nil, &InvalidError{fmt.Sprintf("%d workloads have %d connections, of which a matrix has at most %d: name fewer namespaces", len(pods), n*n, maxMatrix)}
	}
	for _, namespace := range a.Namespaces {
		if empty[namespace] {
			return nil, &NotFoundError{What: "a pod with an address in namespace " + namespace}
		}
	}
	if err := a.checkPort(pods); err != nil {
		return nil, err
	}
	m := &Matrix{pods: pods}
	for end, of := range pods {
		slices.SortFunc(of, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
		m.Ends = append(m.Ends, end)
	}
	slices.SortFunc(m.Ends, func(a, b MatrixEnd) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	m.Ends = append(m.Ends, MatrixEnd{Name: outsideAddress})
	return m, nil
}

// row returns the cells of a source.
func (m *Matrix) row(c *Cluster, a *MatrixAsk, source MatrixEnd, complete func(*Query)) []Cell {
	from := policy.Peer{Address: netip.MustParseAddr(outsideAddress)}
	if pods := m.pods[source]; len(pods) > 0 {
		from = policy.Peer{Pod: pods[0]}
	}
	row := make([]Cell, len(m.Ends))
	for i, end := range m.Ends {
		row[i] = Cell{Reached: []string{}, Denied: []Denied{}}
		pods := m.pods[end]
		if len(pods) == 0 && from.Pod == nil {
			continue // what is outside does not come in
		}
		host, ports := outsideAddress, a.portsOf([]knownPort{{number: outsidePort, protocol: corev1.ProtocolTCP}})
		if len(pods) > 0 {
			pod := pods[0]
			if pod == from.Pod && len(pods) > 1 {
				pod = pods[1]
			}
			if host, ports = PodAddresses(pod)[0].String(), a.portsOf(podPorts(pod)); len(ports) == 0 {
				row[i].Denied = append(row[i].Denied, Denied{Port: a.Port, Outcome: Refused, Why: podName(pod) + " declares no port with this name"})
			}
		}
		for _, port := range ports {
			q := &Query{From: from, Host: host, Port: port.number, Protocol: port.protocol}
			complete(q)
			q.Asked = true
			row[i].add(portText(port.number, port.protocol), c.Decide(q))
		}
	}
	return row
}

// add adds what was decided about a port. What leads out of the cluster has passed the policies.
func (cell *Cell) add(port string, p *Path) {
	if p.Outcome == Connected || p.Outcome == Unknown {
		cell.Reached = append(cell.Reached, port)
		return
	}
	denied := Denied{Port: port, Outcome: p.Outcome, Why: p.Why}
	if v := p.Verdict; v != nil {
		for _, side := range []*policy.Side{&v.Egress, &v.Ingress} {
			if side.Cluster != nil && !side.Allowed() {
				denied.Policies = append(denied.Policies, side.Cluster.Policy)
			}
			for _, d := range side.Denials {
				denied.Policies = append(denied.Policies, d.Policy.String())
				denied.Reasons = append(denied.Reasons, d.Policy.String()+": "+d.Why)
			}
		}
	}
	cell.Denied = append(cell.Denied, denied)
}

// portsOf returns the ports of a destination that the matrix asks about: those that it has or the usual one, the one with the number, or
// those with the name.
func (a *MatrixAsk) portsOf(has []knownPort) []knownPort {
	number, _ := ParsePort(a.Port) // it has been checked
	switch {
	case number != 0:
		return []knownPort{{number: number, protocol: cmp.Or(a.Protocol, corev1.ProtocolTCP)}}
	case a.Port == "" && len(has) == 0:
		return []knownPort{{number: defaultPort, protocol: corev1.ProtocolTCP}}
	}
	var ports []knownPort
	for _, p := range has {
		same := func(other knownPort) bool { return other.number == p.number && other.protocol == p.protocol }
		if (a.Port == "" || p.name == a.Port && cmp.Or(a.Protocol, p.protocol) == p.protocol) && !slices.ContainsFunc(ports, same) {
			ports = append(ports, p)
		}
	}
	return ports
}

// checkPort returns an error if the port is neither a number nor a name that one of the pods has.
func (a *MatrixAsk) checkPort(of map[MatrixEnd][]*corev1.Pod) error {
	number, err := ParsePort(a.Port)
	if err != nil {
		return &InvalidError{err.Error()}
	}
	if number != 0 || a.Port == "" {
		return nil
	}
	var has []knownPort
	for _, pods := range of {
		if has = append(has, podPorts(pods[0])...); len(a.portsOf(podPorts(pods[0]))) > 0 {
			return nil
		}
	}
	slices.SortFunc(has, func(a, b knownPort) int { return cmp.Compare(a.String(), b.String()) })
	return &NotFoundError{What: fmt.Sprintf("a port %q of the workloads", a.Port), Has: namesOf(has)}
}

// byNamespace joins the ends of each namespace. A port of a joined cell has the name of its end before it.
func (m *Matrix) byNamespace() *Matrix {
	joined := &Matrix{}
	at := make([]int, len(m.Ends))
	for i, end := range m.Ends {
		if end.Namespace != "" {
			end.Name = ""
		}
		if n := len(joined.Ends); n == 0 || joined.Ends[n-1] != end {
			joined.Ends = append(joined.Ends, end)
		}
		at[i] = len(joined.Ends) - 1
	}
	joined.Cells = make([][]Cell, len(joined.Ends))
	for i := range joined.Cells {
		joined.Cells[i] = make([]Cell, len(joined.Ends))
		for k := range joined.Cells[i] {
			joined.Cells[i][k] = Cell{Reached: []string{}, Denied: []Denied{}}
		}
	}
	for i, row := range m.Cells {
		for k := range row {
			into, way := &joined.Cells[at[i]][at[k]], m.Ends[i].Name+" to "+m.Ends[k].Name+":"
			for _, port := range row[k].Reached {
				into.Reached = append(into.Reached, way+port)
			}
			for _, denied := range row[k].Denied {
				denied.Port = way + denied.Port
				into.Denied = append(into.Denied, denied)
			}
		}
	}
	return joined
}
