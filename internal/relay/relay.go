package relay

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"minikcm.dev/minikcm/clock"
)

// dialTimeout bounds the time to connect with a process.
const dialTimeout = 5 * time.Second

// Dial connects with a process.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return dialer.DialContext(ctx, "tcp", address)
}

// Join copies bytes in both directions until both have ended, ctx ends or, unless idle is 0, none have come for so long. It closes
// both connections.
func Join(ctx context.Context, client io.ReadWriteCloser, process net.Conn, idle time.Duration) {
	end := func() {
		_ = process.Close()
		_ = client.Close()
	}
	defer end()
	stop := context.AfterFunc(ctx, end)
	defer stop()
	alive := func() {}
	if idle > 0 {
		timer := clock.Real().AfterFunc(idle, end)
		defer timer.Stop()
		alive = func() { timer.Reset(idle) }
	}
	var copying sync.WaitGroup
	copying.Go(func() {
		_, _ = io.Copy(process, reads{client, alive})
		closeWrite(process) // the process may still answer
	})
	copying.Go(func() {
		_, _ = io.Copy(client, reads{process, alive})
		if !closeWrite(client) {
			_ = client.Close()
		}
	})
	copying.Wait()
}

// closeWrite ends one direction of a connection, if it can.
func closeWrite(conn any) bool {
	half, ok := conn.(interface{ CloseWrite() error })
	return ok && half.CloseWrite() == nil
}

// reads calls alive for what it reads.
type reads struct {
	io.Reader
	alive func()
}

// Read implements io.Reader.
func (r reads) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.alive()
	return n, err
}
