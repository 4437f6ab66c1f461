package ha

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy forwards TCP connections to a target. While it is cut, nothing passes and nothing
// is refused, as in a network that loses all packets; afterwards the connections go on.
type proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex
	passed *sync.Cond
	isCut  bool
	closed bool
	open   map[net.Conn]struct{}
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target, open: map[net.Conn]struct{}{}}
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

// wait returns when the proxy is not cut; false if it is closed.
func (p *proxy) wait() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.isCut && !p.closed {
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
	if !p.wait() {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil || !p.add(server) {
		return
	}
	defer p.remove(server)
	var copying sync.WaitGroup
	for _, direction := range [][2]net.Conn{{client, server}, {server, client}} {
		copying.Go(func() {
			p.copy(direction[0], direction[1])
			_ = client.Close()
			_ = server.Close()
		})
	}
	copying.Wait()
}

func (p *proxy) copy(to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !p.wait() {
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
