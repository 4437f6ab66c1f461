//go:build unix

package ha

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// proxy forwards TCP connections to a target. While it is cut, nothing passes and nothing
// is refused, as in a network that loses all packets; afterwards the connections go on.
type proxy struct {
	listener net.Listener
	target   string
	// peers means that the clients are members of etcd, which name themselves in the header of
	// each request. A connection has one client, so its first request is enough.
	peers   bool
	running sync.WaitGroup

	mu      sync.Mutex
	passed  *sync.Cond
	isCut   bool
	sources map[string]bool // members whose connections are cut
	closed  bool
	open    map[net.Conn]struct{}
}

// newPeerProxy returns a proxy for the members of etcd, whose connections can be cut one by one.
func newPeerProxy(t *testing.T, target string) *proxy {
	p := newProxy(t, target)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peers = true
	return p
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target, open: map[net.Conn]struct{}{}, sources: map[string]bool{}}
	p.passed = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// cut begins or ends the cut.
func (p *proxy) cut(is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = is
	p.passed.Broadcast()
}

// cutFrom begins or ends the cut of the connections of one member.
func (p *proxy) cutFrom(source string, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sources[source] = is
	p.passed.Broadcast()
}

// wait returns when the connections of a source are not cut; false if the proxy is closed.
func (p *proxy) wait(source string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for (p.isCut || p.sources[source]) && !p.closed {
		p.passed.Wait()
	}
	return !p.closed
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.add(client) {
			p.running.Go(func() { p.forward(client) })
		}
	}
}

// add registers a connection, or closes it if the proxy is closed.
func (p *proxy) add(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = conn.Close()
		return false
	}
	p.open[conn] = struct{}{}
	return true
}

func (p *proxy) remove(conn net.Conn) {
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, conn)
}

func (p *proxy) forward(client net.Conn) {
	defer p.remove(client)
	first, source, err := p.opening(client)
	if err != nil || !p.wait(source) {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil || !p.add(server) {
		return
	}
	defer p.remove(server)
	var copying sync.WaitGroup
	pass := func(to io.Writer, from io.Reader) {
		p.copy(to, from, source)
		_ = client.Close()
		_ = server.Close()
	}
	copying.Go(func() { pass(client, server) })
	copying.Go(func() { pass(server, io.MultiReader(first, client)) })
	copying.Wait()
}

// maxOpening limits the header of the first request of a connection, in bytes.
const maxOpening = 64 << 10

// opening reads the header of the first request, and returns what it read and the ID of the
// member that sent it. Without peers, it reads nothing.
func (p *proxy) opening(client io.Reader) (read io.Reader, source string, err error) {
	p.mu.Lock()
	peers := p.peers
	p.mu.Unlock()
	if !peers {
		return new(bytes.Buffer), "", nil
	}
	var bytesRead bytes.Buffer
	request, err := http.ReadRequest(bufio.NewReader(io.TeeReader(io.LimitReader(client, maxOpening), &bytesRead)))
	if err != nil {
		return nil, "", err
	}
	return &bytesRead, request.Header.Get("X-Server-From"), nil
}

func (p *proxy) copy(to io.Writer, from io.Reader, source string) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !p.wait(source) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.passed.Broadcast()
	for conn := range p.open {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}
