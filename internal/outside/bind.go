package outside

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// privileged is the number of ports that need privileges, and shift what is added to such a port without them: 80 becomes 8080, and
// 443 becomes 8443.
const (
	privileged = 1024
	shift      = 8000
)

// socket receives connections or datagrams.
type socket interface {
	Addr() net.Addr
	Close() error
}

// datagrams is a socket of UDP.
type datagrams struct{ net.PacketConn }

// Addr implements socket.
func (d datagrams) Addr() net.Addr { return d.LocalAddr() }

// listen opens a port of an IPv4 address; 0 is a free one.
type listen func(port int32) (socket, error)

func listenAt(ctx context.Context, address string, protocol corev1.Protocol) listen {
	var config net.ListenConfig
	return func(port int32) (socket, error) {
		at := net.JoinHostPort(address, strconv.Itoa(int(port)))
		if protocol == corev1.ProtocolUDP {
			conn, err := config.ListenPacket(ctx, "udp4", at)
			if err != nil {
				return nil, err
			}
			return datagrams{conn}, nil
		}
		return config.Listen(ctx, "tcp4", at)
	}
}

// bind listens on a port or, if that is not possible and movable allows it, on another one. why says why it is not the port that was
// asked for; the listener is nil if there is none.
func bind(open listen, address string, port int32, protocol corev1.Protocol, movable bool) (listener socket, why error) {
	listener, err := open(port)
	if err == nil {
		return listener, nil
	}
	why = fmt.Errorf("it cannot be opened: %w", err)
	at := net.JoinHostPort(address, strconv.Itoa(int(port)))
	next := int32(0)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		why = fmt.Errorf("%s of this machine is taken", at)
		if who := holder(address, port, protocol); who != "" {
			why = fmt.Errorf("%s of this machine is taken by %s", at, who)
		}
	case errors.Is(err, syscall.EACCES) && port < privileged:
		why = fmt.Errorf("%s needs privileges, as all ports below %d do on this machine", at, privileged)
		next = port + shift
	}
	if !movable {
		return nil, why
	}
	if listener, err = open(next); err != nil && next != 0 {
		listener, err = open(0)
	}
	if err != nil {
		return nil, why
	}
	return listener, why
}
