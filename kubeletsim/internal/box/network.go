package box

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilclock "k8s.io/utils/clock"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/dns"
	"minikcm.dev/minikcm/internal/network/faults"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/internal/network/secure"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// Network is what programs in a container reach. Its methods decide at once; the time that a connection
// takes is the caller's to wait for.
type Network interface {
	// Decide says where a connection goes. It fills in the query's source, and what depends on the cluster.
	Decide(ctx context.Context, q *reach.Query) (*reach.Path, error)
	// Names calls ask with what the name server that a resolver's configuration leads to knows, if it answers. The random number
	// decides about faults.
	Names(ctx context.Context, c *dns.Config, random uint64, ask func(*dns.Zone)) (*reach.Served, error)
	// Certificate returns what a TLS server at the end of a path presents for a name; nil: nothing is known of it. The error is
	// secure.ErrPlain or secure.ErrNoCertificate.
	Certificate(ctx context.Context, path *reach.Path, name string) (*tls.Certificate, error)
	// Serve answers a request with what listens at the end of a path.
	Serve(path *reach.Path, w http.ResponseWriter, r *http.Request)
	// Listen opens a port of the container's pod, for the container's own process or another command. The error is EADDRINUSE if it is
	// open.
	Listen(port int32, protocol corev1.Protocol, own bool) (*Socket, error)
	// Socket returns the program of a container that listens at the end of a path; nil: what listens there is none.
	Socket(path *reach.Path) *Socket
	// Exchange returns what a listener that speaks no HTTP answers to data.
	Exchange(ctx context.Context, path *reach.Path, peer netip.AddrPort, data []byte) ([]byte, error)
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
	host string
	// late means that the program's own limit has ended it.
	late bool
	// took is the time that it took.
	took time.Duration
	// chance has the random numbers of the connection.
	chance faults.Chance
	// secured is when the handshake of TLS was over, and begun when an answer began; zero: there was none.
	secured, begun time.Time
	// verify returns why the program does not trust a server's certificate; nil: it trusts each one.
	verify func(*tls.Certificate) error
}

// established reports whether a program has accepted the connection. It may end when data comes.
func (d *dialed) established() bool {
	return !d.late && (d.Outcome == reach.Connected || d.Outcome == reach.Reset)
}

// connect makes a connection, and returns when it is established or has failed. The error is the context's, errNoNetwork, or
// that of a cluster that cannot be read.
func (p *proc) connect(ctx context.Context, d dial) (*dialed, error) {
	if p.machine.Network == nil {
		return nil, errNoNetwork
	}
	began := p.machine.Clock.Now()
	c, err := p.decide(ctx, d)
	if err != nil {
		return nil, err
	}
	wait := c.Outcome.After() + c.Late()
	if d.limit > 0 && wait > d.limit {
		c.late, wait = true, d.limit
	}
	if err := p.sleep(ctx, wait); err != nil {
		return nil, err
	}
	c.took = p.machine.Clock.Since(began)
	return c, nil
}

// decide says where a connection goes, after the time of a query or of a packet.
func (p *proc) decide(ctx context.Context, d dial) (*dialed, error) {
	if err := p.sleep(ctx, networkDelay); err != nil {
		return nil, err
	}
	resolver := p.resolver()
	random := p.draw(d.host)
	path, err := p.machine.Network.Decide(ctx, &reach.Query{
		Host: d.host, Port: d.port, Protocol: cmp.Or(d.protocol, corev1.ProtocolTCP), Random: random,
		Resolver: &resolver, Hosts: p.knownHosts,
	})
	if err != nil {
		return nil, err
	}
	return &dialed{Path: path, host: d.host, chance: faults.Chance{Seed: random}}, nil
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
	// unsure means that the answer ends with unknown text.
	unsure bool
	// begin returns the writer for an answer that comes in pieces; nil: the program shows an answer at its end. live is the writer that
	// begin has returned, and shown counts the bytes written to it.
	begin func(*answer) io.Writer
	live  io.Writer
	shown int
}

// Flush implements http.Flusher: the answer comes in pieces, of which each is shown at once.
func (a *answer) Flush() {
	a.WriteHeader(http.StatusOK)
	if a.begin == nil {
		return
	}
	a.live, a.begin = a.begin(a), nil
	if body := a.body; a.live != nil {
		a.body = nil
		_, _ = a.Write(body) // the answer keeps the error
	}
}

// Abort ends the connection in place of an answer or within it: with a reset, or as if it had ended there.
func (a *answer) Abort(reset bool) {
	switch {
	case reset:
		a.err = errReset
	case a.status != 0:
		a.err = errPartial
	default:
		a.err = errEmpty
	}
}

// Garbled ends the connection because the server does not speak HTTP. all is what it has sent.
func (a *answer) Garbled(all io.Reader) {
	if _, err := io.Copy(a, all); a.err == nil && err == nil { // else that counts
		a.err = errNoHTTP
	}
}

// Unsure says that more than what is written is in the answer.
func (a *answer) Unsure() { a.unsure = true }

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = cmp.Or(a.status, status) }

// bodiless reports whether an answer with the status has no body (RFC 9110, sections 15.3.5 and 15.4.5), whatever the server writes.
func bodiless(status int) bool {
	return status < http.StatusOK || status == http.StatusNoContent || status == http.StatusNotModified
}

// Write implements http.ResponseWriter. The body counts as the program's memory.
func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if bodiless(a.status) {
		return len(data), nil
	}
	if a.live != nil && a.err == nil {
		a.shown += len(data)
		_, a.err = a.live.Write(data)
	}
	if a.live != nil {
		return len(data), a.err
	}
	if err := a.p.keep(len(data)); err != nil {
		a.err = err
		return 0, err
	}
	a.body = append(a.body, data...)
	return len(data), nil
}

// The errors of a request whose connection faults of the network disturb.
var (
	errReset   = errors.New(reach.Reset.Error())
	errStalled = errors.New(reach.TimedOut.Error())
	errEmpty   = errors.New("the connection ended without an answer")
	errPartial = fmt.Errorf("%w, or with a part of it", errEmpty)
	errLate    = errors.New("the answer is late")
	errNoHTTP  = errors.New("the answer is none of HTTP")
)

// stalledTime is the time after which Linux gives up to repeat data, with tcp_retries2 15.
const stalledTime = 924*time.Second + 600*time.Millisecond

// ask sends a request over a connection. Where nothing is known of the server but that it listens, its answer ends with unknown
// text: a program that looks for something in it may find it. patience bounds the time until the answer is complete; 0: nothing
// does. The error is one of the errors above, one of handshake, the context's, or the one of the program's memory. An answer that has
// begun in pieces is returned with the error.
func (p *proc) ask(ctx context.Context, c *dialed, r *http.Request, patience time.Duration, begin func(*answer) io.Writer) (*answer, error) {
	fault := c.Effect.Request(&faults.Asked{Method: r.Method, Path: r.URL.Path, Port: int(c.Target.Port()), Header: r.Header.Get}, &c.chance)
	wait := fault.Delay
	if c.Effect != nil {
		wait += c.Effect.Exchange
		if c.Effect.Stalled {
			wait = stalledTime
		}
	}
	if patience > 0 && wait > patience {
		return nil, cmp.Or(p.sleep(ctx, patience), errLate)
	}
	if err := p.sleep(ctx, wait); err != nil {
		return nil, err
	}
	switch {
	case c.Outcome == reach.Reset:
		return nil, errReset
	case c.Effect != nil && c.Effect.Stalled:
		return nil, errStalled
	case fault.Abort:
		return nil, errEmpty
	}
	if r.URL.Scheme == "https" {
		if err := p.handshake(ctx, c); err != nil {
			return nil, err
		}
		r.TLS, c.secured = secure.State(c.host), p.machine.Clock.Now()
	}
	left := time.Duration(0)
	if patience > 0 {
		left = patience - wait
	}
	for _, change := range fault.Changes {
		changeRequest(r, change)
	}
	a, took, err := p.serve(c, r, left, begin)
	if err != nil || a.live != nil {
		return a, err
	}
	wait += took
	answered := fault.Answer(a.status, a.header.Get)
	if answered.Abort {
		return nil, errEmpty
	}
	for _, change := range answered.Changes {
		a.change(change)
	}
	c.begun = p.machine.Clock.Now().Add(answered.Delay)
	if slow := answered.Delay + c.Effect.Transfer(len(a.body)); patience > 0 && wait+slow > patience {
		return nil, cmp.Or(p.sleep(ctx, patience-wait), errLate)
	} else if err := p.sleep(ctx, slow); err != nil {
		return nil, err
	}
	return a, nil
}

// serve returns what the server at the end of a connection answers, and how long it takes. Its time counts for the command, too,
// which is not in flight while the server waits. patience bounds the time; 0: nothing does.
func (p *proc) serve(c *dialed, r *http.Request, patience time.Duration, begin func(*answer) io.Writer) (a *answer, took time.Duration, err error) {
	a = &answer{header: http.Header{}, p: p, begin: begin}
	r.RemoteAddr = p.sourceOf(c, r.Host).String()
	began := p.machine.Clock.Now()
	ctx, done := p.waiting(r.Context(), patience)
	defer done()
	p.machine.Network.Serve(c.Path, a, r.WithContext(ctx))
	took = p.machine.Clock.Since(began)
	if err := context.Cause(ctx); err != nil {
		return a, took, err
	}
	if a.err != nil { // else a connection without an answer would have the status of one
		return a, took, a.err
	}
	a.WriteHeader(http.StatusOK)
	if (a.unsure || c.Listener != nil && c.Listener.Unknown) && r.Method != http.MethodHead {
		_, _ = a.Write([]byte(unknown.Line)) // err is returned
	}
	return a, took, a.err
}

// waiting returns a context for a server that the program waits for: while the server waits, the command does. It ends with errLate
// after patience, unless that is 0.
func (p *proc) waiting(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	shell.TurnOf(ctx).End()
	ctx, cancel := context.WithCancelCause(ctx)
	w := &awaiting{absence: &absence{&p.attention, []<-chan struct{}{ctx.Done()}}}
	if patience > 0 {
		late := func() {
			cancel(errLate)
			p.attention.recall()
		}
		w.begin = func() utilclock.Timer { return p.machine.Clock.AfterFunc(patience, late) }
		w.busy = p.machine.Clock.AfterFunc(patience+1, late)
	}
	return inflight.WithPauser(inflight.Alone(ctx), w), func() {
		w.end()
		cancel(nil)
	}
}

// awaiting is the wait for a server. Its limit counts from the server's first pause: before, no virtual time passes, and a server that
// waits as long as the limit answers in time.
type awaiting struct {
	*absence
	// begin starts the limit; nil: there is none.
	begin func() utilclock.Timer
	timer utilclock.Timer
	// busy ends a server that computes on a clock that does not wait for it. On virtual time, timer fires before.
	busy utilclock.Timer
}

// Pause implements inflight.Pauser. One goroutine calls it: that of the server.
func (w *awaiting) Pause() {
	if w.begin != nil && w.timer == nil {
		w.timer = w.begin()
	}
	w.absence.Pause()
}

func (w *awaiting) end() {
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.busy != nil {
		w.busy.Stop()
	}
}

// sourceOf returns the address that a server sees of a connection.
func (p *proc) sourceOf(c *dialed, host string) netip.AddrPort {
	return netip.AddrPortFrom(c.Source.Address, 32768+uint16(p.draw(host)%28000))
}

// bytes returns the length of the body without what is unknown in it.
func (a *answer) bytes() int {
	return a.shown + len(strings.ReplaceAll(string(a.body), unknown.Line, ""))
}
