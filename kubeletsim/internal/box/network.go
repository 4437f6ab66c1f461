package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// Network is what programs in a container reach. Its methods decide at once; the time that a connection
// takes is the caller's to wait for.
type Network interface {
	// Decide says where a connection goes. It fills in the query's source, and what depends on the cluster.
	Decide(ctx context.Context, q *reach.Query) (*reach.Path, error)
	// Names returns what the name server that a resolver's configuration leads to knows. The outcome is reach.Connected if
	// it answers.
	Names(ctx context.Context, c *dns.Config, ask func(*dns.Zone)) (outcome reach.Outcome, why string, err error)
	// Serve answers a request with what listens at the end of a path.
	Serve(path *reach.Path, w http.ResponseWriter, r *http.Request)
}

// networkDelay is the time of a connection, or of a query for a name, on the cluster's clock. A decision that is taken when
// a timer fires sees all that was written before, and is the only one at that instant.
const networkDelay = 500 * time.Microsecond

// errNoNetwork means that the container has no network: nothing is known of what a program would reach.
var errNoNetwork = errors.New("the container has no network")

// dial is a connection that a program makes.
type dial struct {
	host     string
	port     int32
	protocol corev1.Protocol
	// limit bounds the time until an answer; 0: the kernel's time-out does.
	limit time.Duration
}

// dialed is where a connection went.
type dialed struct {
	*reach.Path
	// late means that the program's own limit has ended it.
	late bool
	// took is the time that it took.
	took time.Duration
}

// connect makes a connection, and returns when it is established or has failed. The error is the context's, errNoNetwork, or
// that of a cluster that cannot be read.
func (p *proc) connect(ctx context.Context, d dial) (*dialed, error) {
	if p.machine.Network == nil {
		return nil, errNoNetwork
	}
	began := p.machine.Clock.Now()
	if err := p.sleep(ctx, networkDelay); err != nil {
		return nil, err
	}
	resolver := p.resolver()
	path, err := p.machine.Network.Decide(ctx, &reach.Query{
		Host: d.host, Port: d.port, Protocol: cmp.Or(d.protocol, corev1.ProtocolTCP), Random: p.draw(d.host),
		Resolver: &resolver, Hosts: p.knownHosts,
	})
	if err != nil {
		return nil, err
	}
	c := &dialed{Path: path}
	wait := path.Outcome.After()
	if d.limit > 0 && wait > d.limit {
		c.late, wait = true, d.limit
	}
	if err := p.sleep(ctx, wait); err != nil {
		return nil, err
	}
	c.took = p.machine.Clock.Since(began)
	return c, nil
}

// draw returns the number that chooses an endpoint. It follows from the program's seed and the time, and so from the cluster's
// seed, if its time is virtual.
func (p *proc) draw(host string) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %d %s", p.seed, p.machine.Clock.Now().UnixNano(), host)
	return h.Sum64() >> 8 // the low bits of FNV-1a depend on few of the input's
}

// resolver returns the content of /etc/resolv.conf.
func (p *proc) resolver() dns.Config {
	data, err := p.machine.Files.ReadFile("/etc/resolv.conf")
	if err != nil {
		return dns.Config{}
	}
	return dns.ParseConfig(string(data))
}

// knownHosts returns the addresses that /etc/hosts has for a name.
func (p *proc) knownHosts(name string) []netip.Addr {
	data, err := p.machine.Files.ReadFile("/etc/hosts")
	if err != nil {
		return nil
	}
	var found []netip.Addr
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		for i := 1; i < len(words); i++ {
			if !strings.EqualFold(words[i], name) {
				continue
			}
			if address, err := netip.ParseAddr(words[0]); err == nil {
				found = append(found, address)
			}
			break
		}
	}
	return found
}

// beyond is for a program that reaches nothing that is simulated. In an image of unknown content it is assumed to succeed; in
// any other, ok is false, and the program fails as one without a route.
func (p *proc) beyond(ctx context.Context, why string) (code int, ok bool) {
	if !p.machine.Unknown {
		return 0, false
	}
	return p.assumed(ctx, unknown.Show(p.args[0])+" succeeds, although it has reached nothing: "+why), true
}

// answer is an answer over HTTP.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
	p      *proc
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = cmp.Or(a.status, status) }

// Write implements http.ResponseWriter. The body counts as the program's memory.
func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if err := a.p.keep(len(data)); err != nil {
		a.err = err
		return 0, err
	}
	a.body = append(a.body, data...)
	return len(data), nil
}

// ask sends a request over a connection. Where nothing is known of the server but that it listens, its answer ends with unknown
// text: a program that looks for something in it may find it.
func (p *proc) ask(c *dialed, r *http.Request) (*answer, error) {
	a := &answer{header: http.Header{}, p: p}
	r.RemoteAddr = netip.AddrPortFrom(c.Source.Address, 32768+uint16(p.draw(r.Host)%28000)).String()
	p.machine.Network.Serve(c.Path, a, r)
	a.WriteHeader(http.StatusOK)
	if c.Listener != nil && c.Listener.Unknown && r.Method != http.MethodHead {
		_, _ = a.Write([]byte(unknown.Line)) // err is returned
	}
	return a, a.err
}

// bytes returns the length of the body without what is unknown in it.
func (a *answer) bytes() int { return len(strings.ReplaceAll(string(a.body), unknown.Line, "")) }
