package ui

import (
	"context"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	// linkDelay is the delay of each packet on a slow link, linkRate its rate in bytes a second.
	linkDelay = 150 * time.Millisecond
	linkRate  = 50_000
)

// slowLink forwards connections to an address, as a slow link does, until the test ends. It returns
// its own address, and how many bytes have arrived at this side.
func slowLink(t *testing.T, address string) (at string, arrived *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	arrived = &atomic.Int64{}
	var running sync.WaitGroup
	forward := func(to, from net.Conn) {
		defer to.Close()
		defer from.Close()
		buffer := make([]byte, linkRate/20)
		for {
			n, err := from.Read(buffer)
			time.Sleep(time.Duration(n) * time.Second / linkRate)
			if n > 0 && ctx.Err() == nil {
				arrived.Add(int64(n))
				_, err = to.Write(buffer[:n])
			}
			if err != nil {
				return
			}
		}
	}
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			time.Sleep(linkDelay)
			far, err := net.Dial("tcp4", address)
			if err != nil {
				_ = conn.Close()
				continue
			}
			context.AfterFunc(ctx, func() { _, _ = conn.Close(), far.Close() })
			running.Go(func() { forward(conn, far) })
			running.Go(func() { forward(far, conn) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		running.Wait()
	})
	return listener.Addr().String(), arrived
}

// TestSlowLink has a page behind a link of 50 kB a second. It shows the cluster as it is, and its
// end state soon after a rollout that makes many times the bytes: states in between are left out.
func TestSlowLink(t *testing.T) {
	c := start(t, "--nodes", "5")
	c.deploy("web", 100)
	c.run("", "kubectl", "wait", "--for=condition=Available", "deploy/web")
	link := c.run("", "ui")
	at, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	slow, arrived := slowLink(t, at.Host)
	p := c.visit(1280, 720, link, chromedp.Flag("host-resolver-rules", "MAP "+at.Host+" "+slow))
	p.until(ready + ` === 100`)
	c.run("", "kubectl", "scale", "deploy/web", "--replicas=150")
	p.until(ready + ` === 150`)
	for _, image := range []string{"nginx:2", "nginx:3"} {
		c.run("", "kubectl", "set", "image", "deploy/web", "c="+image)
		c.run("", "kubectl", "rollout", "status", "deploy/web")
	}
	c.run("", "kubectl", "scale", "deploy/web", "--replicas=20")
	p.until(ready + ` === 20`)
	if n := arrived.Load(); n < linkRate {
		t.Errorf("the page got %d bytes through the link", n)
	} else {
		t.Logf("the page got %d bytes", n)
	}
}
